//! The floors of the design: a file imports only lower floors or the neighbours of its folder; the
//! things that must not be are not.

use std::fs;
use std::path::{Path, PathBuf};

/// Floor of each module of `src/`; `report` and `cli` stand on top beside `experiment`.
const FLOORS: &[(&str, u32)] = &[
    ("seed", 0),
    ("rollout", 0),
    ("record", 0),
    ("tokenizer", 1),
    ("task", 1),
    ("kernels", 1),
    ("model", 2),
    ("learn", 3),
    ("policy", 4),
    ("swarm", 5),
    ("experiment", 6),
    ("report", 6),
    ("cli", 6),
];

fn floor(module: &str) -> u32 {
    FLOORS
        .iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("no floor for `{module}`"))
        .1
}

/// Every source file with its module and its code, tests left out.
fn sources() -> Vec<(PathBuf, String, String)> {
    fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files)
            } else {
                files.push(path)
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    walk(&root, &mut files);
    let is_test = |f: &PathBuf| {
        f.components().any(|c| {
            ["tests", "tests.rs"]
                .iter()
                .any(|name| c.as_os_str() == *name)
        })
    };
    files.retain(|f| f.extension().is_some_and(|e| e == "rs") && !is_test(f));
    let read = |path: PathBuf| {
        let relative = path.strip_prefix(&root).unwrap().to_owned();
        let module = relative
            .iter()
            .next()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs")
            .to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap()
            .to_owned();
        (relative, module, code)
    };
    files
        .into_iter()
        .map(read)
        .filter(|(_, module, _)| module != "lib" && module != "main")
        .collect()
}

#[test]
fn files_import_only_lower_floors() {
    let mut seen = 0;
    for (file, module, code) in sources() {
        for path in code.split("crate::").skip(1) {
            let used: String = path
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if used == module || used.is_empty() {
                continue;
            }
            seen += 1;
            // the floor above all others holds three folders that may use each other downwards
            let tops = ["report", "experiment", "cli"];
            let rank = |m: &str| tops.iter().position(|t| *t == m);
            let below = floor(&used) < floor(&module)
                || (rank(&used) < rank(&module) && rank(&used).is_some());
            assert!(below, "{}: {module} uses {used}", file.display());
        }
    }
    assert!(seen > 50, "the test looks at something: {seen}");
}

#[test]
fn burn_stays_where_tensors_are() {
    for (file, module, code) in sources() {
        let allowed = ["kernels", "model", "learn"].contains(&module.as_str())
            || ["policy/qwen.rs", "experiment/device.rs"]
                .iter()
                .any(|f| file == Path::new(f));
        assert!(
            allowed || !code.contains("burn::"),
            "{} uses burn",
            file.display()
        );
    }
}

#[test]
fn files_clocks_and_prints_stay_on_the_top_floor() {
    let reads_paths = [
        "model/config.rs",
        "model/weights.rs",
        "model/weight_error.rs",
        "model/weight_files.rs",
        "model/optimizer_state.rs",
        "tokenizer.rs",
    ];
    for (file, module, code) in sources() {
        if floor(&module) == 6 {
            continue;
        }
        let mut banned = vec![
            "std::env",
            "std::time",
            "println!",
            "eprintln!",
            "std::io",
            "thread_rng",
            "Tensor::random",
        ];
        if !reads_paths.iter().any(|f| file == Path::new(f)) {
            banned.push("std::fs");
        } else {
            banned.retain(|word| *word != "std::io");
        }
        for word in banned {
            assert!(!code.contains(word), "{} uses {word}", file.display());
        }
    }
}

#[test]
fn tasks_know_no_model_and_models_no_task() {
    for (file, module, code) in sources() {
        match module.as_str() {
            "task" => {
                assert!(
                    !code.contains("crate::tokenizer") && !code.contains("crate::model"),
                    "{}",
                    file.display()
                );
            }
            "model" | "learn" => assert!(!code.contains("crate::task"), "{}", file.display()),
            "report" => assert!(!code.contains("crate::experiment"), "{}", file.display()),
            _ => {}
        }
    }
}

#[test]
fn files_are_short_and_say_what_they_do() {
    for (file, _, code) in sources() {
        assert!(
            code.starts_with("//! "),
            "{} does not open with //!",
            file.display()
        );
        let lines = code.lines().count();
        assert!(lines <= 400, "{} has {lines} lines", file.display());
    }
}
