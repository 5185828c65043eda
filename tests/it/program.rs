//! The program as people run it: results that repeat, learning, and errors that help.

use crate::folders::{broken, rewrite};
use assert_cmd::Command;
use std::fs;
use std::path::Path;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn sapo(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("sapo").unwrap();
    command.current_dir(root()).args(args);
    command
}

/// Runs a small version of the smoke experiment and returns its `rounds.csv` files, one text.
fn rounds(dir: &Path, extra: &[&str]) -> String {
    let dir = dir.to_str().unwrap();
    let mut args = vec![
        "run",
        "experiments/smoke.toml",
        "--out",
        dir,
        "--set",
        "rounds=2",
        "--set",
        "swarm.agents=3",
    ];
    args.extend([
        "--set",
        "mixes=[{local=3,external=0},{local=2,external=2}]",
        "--set",
        "eval.questions=8",
    ]);
    args.extend(extra);
    sapo(&args).assert().success();
    let file = |mix: &str, seed: u64| {
        fs::read_to_string(format!("{dir}/runs/{mix}/seed-{seed}/rounds.csv")).unwrap_or_default()
    };
    file("3-0", 1) + &file("2-2", 1) + &file("3-0", 2) + &file("2-2", 2)
}

#[test]
fn the_same_toml_gives_the_same_bytes_with_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let one = rounds(&dir.path().join("a"), &["--threads", "1"]);
    assert!(one.lines().count() > 12 && one.contains("0."), "{one}");
    assert_eq!(one, rounds(&dir.path().join("b"), &["--threads", "2"]));
    assert_ne!(one, rounds(&dir.path().join("c"), &["--set", "seeds=[2]"]));
    for setting in [
        "train.step_without_signal=false",
        "train.optim=\"sgd\"",
        "swarm.replay_rounds=1",
    ] {
        let run = |threads: &str| {
            let out = dir.path().join(format!("{setting}{threads}"));
            rounds(
                &out,
                &["--threads", threads, "--set", setting, "--set", "rounds=4"],
            )
        };
        assert_eq!(run("1"), run("2"), "{setting}");
    }
    for file in [
        "table.md",
        "table.csv",
        "cumulative.png",
        "smoothed.png",
        "raw.png",
        "tasks.png",
        "experiment.toml",
    ] {
        assert!(dir.path().join("a").join(file).exists(), "{file}");
    }
    // the report needs nothing but the CSV files, and repeats to the byte
    let table = fs::read(dir.path().join("a/table.md")).unwrap();
    fs::remove_file(dir.path().join("a/table.md")).unwrap();
    fs::remove_file(dir.path().join("a/experiment.toml")).unwrap();
    sapo(&["report", dir.path().join("a").to_str().unwrap()])
        .assert()
        .success();
    assert_eq!(table, fs::read(dir.path().join("a/table.md")).unwrap());
}

#[test]
fn shadow_draws_leave_every_other_column_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let shadow = "shadow={mixes=[{local=1,external=2}],selections=[\"uniform\",\"first\"]}";
    let plain = rounds(&dir.path().join("plain"), &[]);
    let shadowed = rounds(&dir.path().join("shadowed"), &["--set", shadow]);
    let without = |text: &str| -> Vec<Vec<String>> {
        // the files of several runs stand one after the other, each with its header
        let header = text.lines().next().unwrap().to_owned();
        let kept = header.split(',').map(|name| !name.starts_with("shadow_"));
        let kept: Vec<bool> = kept.collect();
        let cells = |line: &str| {
            let cells = line.split(',').zip(&kept);
            let kept = cells.filter(|(_, kept)| **kept);
            kept.map(|(cell, _)| cell.to_owned()).collect()
        };
        text.lines().map(cells).collect()
    };
    assert_eq!(without(&plain), without(&shadowed));
    let names = ["uniform", "uniform_groups", "first", "first_groups"];
    for name in names {
        assert!(shadowed.contains(&format!("shadow_1-2_{name},")), "{name}");
    }
}

#[test]
fn a_small_swarm_learns() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let args = [
        "run",
        "experiments/smoke.toml",
        "--out",
        out,
        "--set",
        "rounds=80",
        "--set",
        "swarm.agents=3",
    ];
    let easy = [
        "--set",
        "mixes=[{local=4,external=4}]",
        "--set",
        "tasks.names=[\"basic_arithmetic\"]",
    ];
    sapo(&[&args[..], &easy[..], &["--set", "train.learning_rate=1e-3"]].concat())
        .assert()
        .success();
    let mut reader = csv::Reader::from_path(dir.path().join("runs/4-4/seed-1/rounds.csv")).unwrap();
    let column = reader
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == "own_reward")
        .unwrap();
    let rewards: Vec<f64> = reader
        .records()
        .map(|row| row.unwrap()[column].parse().unwrap())
        .collect();
    let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len() as f64;
    let (start, end) = (mean(&rewards[..30]), mean(&rewards[rewards.len() - 30..]));
    assert!(
        end > start + 0.05 && end > 2.0 * start,
        "own reward went from {start} to {end}"
    );
}

/// One clear line with these words, and an exit code that is not 0.
pub(crate) fn fails(args: &[&str], words: &[&str]) {
    let output = sapo(args).assert().failure().get_output().clone();
    let message = String::from_utf8(output.stderr).unwrap();
    for word in words {
        assert!(
            message.contains(word),
            "{args:?}: no {word:?} in: {message}"
        );
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn bad_experiments_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("never");
    let check = |set: &str, words: &[&str]| {
        fails(&["check", "experiments/smoke.toml", "--set", set], words);
        fails(
            &[
                "run",
                "experiments/smoke.toml",
                "--out",
                out.to_str().unwrap(),
                "--set",
                set,
            ],
            words,
        );
        assert!(
            !out.exists(),
            "nothing is written before the experiment is known to be good"
        );
    };
    check(
        "swarm.selektion=uniform",
        &["selektion", "expected", "selection"],
    );
    check("swarm.selection=best", &["best", "nonzero-advantage"]);
    check("rounds=many", &["rounds", "many"]);
    check("rounds=0", &["rounds: found 0, expected at least 1"]);
    check("rounds=-3", &["rounds", "-3"]);
    check(
        "mixes=[{local=0,external=0}]",
        &["mixes[0]", "0 local and 0 external", "expected"],
    );
    check("mixes=[]", &["mixes: found an empty list"]);
    check(
        "checkpoint.keep_last=0",
        &["checkpoint.keep_last: found 0, expected 1 to 1024"],
    );
    check(
        "device.memory_gib=-3.0",
        &["device.memory_gib: found -3, expected more than 0"],
    );
    check(
        "log.rollouts_mib=9999999",
        &["log.rollouts_mib: found 9999999"],
    );
    check(
        "checkpoint.evry=3",
        &["unknown field `evry`, expected `every` or `keep_last`"],
    );
    check("seeds=[1,1]", &["seeds: found 1 twice"]);
    check(
        "baseline=\"x\"",
        &["baseline: found \"x\"", "8-0, 6-2, 4-4, 2-6"],
    );
    check(
        "sweep={key=\"rounds\",values=[]}",
        &["sweep.values", "empty"],
    );
    check(
        "sweep={key=\"round\",values=[1]}",
        &["arm 8-0,round=1", "unknown field `round`"],
    );
    check(
        "sweep={key=\"rounds\",values=[0,1]}",
        &["arm 8-0,rounds=0: rounds: found 0, expected at least 1"],
    );
    check(
        "arm=[{name=\"a/b\",mix={local=1,external=0}}]",
        &["arm[0].name: found \"a/b\""],
    );
    check(
        "arm=[{name=\"a\",mix={local=1,external=0},seeds=[1]}]",
        &["arm[0].seeds: found in an arm"],
    );
    check(
        "arm=[{name=\"a\",rounds=1}]",
        &["arm a: mix: missing, expected"],
    );
    check(
        "arm=[{name=\"a\",mix={local=1,external=0}},{name=\"a\",rounds=1}]",
        &["arm names: found \"a\" twice"],
    );
    check(
        "tasks.names=[\"chess\"]",
        &["unknown task \"chess\"", "basic_arithmetic"],
    );
    check(
        "tasks.difficulty.binary_matrix.min_n=9",
        &["binary_matrix", "min_n"],
    );
    check("train.epsilon=1.5", &["train.epsilon: found 1.5"]);
    check("train.loss_type=sapo", &["sapo", "bnpo"]);
    check("generate.top_p=2", &["generate.top_p: found 2"]);
    check(
        "generate.max_completion_length=1000",
        &["smoke.toml", "max_completion_length", "positions"],
    );
    check(
        "generate.num_generations=9223372036854775807",
        &["num_generations: found 9223372036854775807"],
    );
    check(
        "eval.questions=4294967295",
        &["eval.questions: found 4294967295"],
    );
    check(
        "train.learning_rate=1e30",
        &["learning_rate: found 1000", "to 1"],
    );
    check("generate.temperature=1e-320", &["generate.temperature"]);
    check(
        "model.path=models/none",
        &["models/none: no such folder", "--features hub"],
    );
    check("device.kind=cuda", &["device.kind", "cuda"]);
    check("nonsense", &["--set nonsense", "expected key=value"]);
    check("model.x.y=1", &["x"]);
    fails(
        &["run", "experiments/none.toml"],
        &["experiments/none.toml", "cannot be read"],
    );
}

#[test]
fn mistakes_in_the_file_carry_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.toml");
    let text = fs::read_to_string(root().join("experiments/smoke.toml")).unwrap();
    fs::write(&file, text.replace("learning_rate ", "learning_rat ")).unwrap();
    fails(
        &["check", file.to_str().unwrap()],
        &[
            "x.toml",
            "line",
            "unknown field `learning_rat`",
            "learning_rate",
        ],
    );
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let below = file.join("results");
    fails(
        &[
            "run",
            "experiments/smoke.toml",
            "--out",
            below.to_str().unwrap(),
        ],
        &["file/results", "cannot be made"],
    );
    fails(&["report", dir.path().to_str().unwrap()], &["runs"]);
    // the results of another experiment are not mixed with, nor lost
    let out = dir.path().join("out");
    let text = rounds(&out, &[]);
    let args = [
        "run",
        "experiments/smoke.toml",
        "--out",
        out.to_str().unwrap(),
        "--set",
        "rounds=1",
    ];
    fails(
        &args,
        &["another experiment", "rounds = 2", "rounds = 1", "--fresh"],
    );
    assert_eq!(rounds(&out, &[]), text);
}

#[test]
fn one_program_at_a_time_writes_to_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".lock"), "4242\n").unwrap();
    let lock = fs::File::open(dir.path().join(".lock")).unwrap();
    lock.lock().unwrap();
    let words = ["another sapo is writing to this folder (process 4242)"];
    fails(
        &[
            "run",
            "experiments/smoke.toml",
            "--out",
            dir.path().to_str().unwrap(),
        ],
        &words,
    );
}

#[test]
fn a_model_that_has_run_away_ends_the_run() {
    let (_model, set) = broken(|dir| {
        rewrite(dir, |_, shape, data| {
            Some((
                shape,
                data.chunks(4).flat_map(|_| 3e38f32.to_le_bytes()).collect(),
            ))
        });
    });
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("out");
    let args = [
        "run",
        "experiments/smoke.toml",
        "--out",
        out.to_str().unwrap(),
        "--set",
        &set,
        "--set",
        "rounds=1",
    ];
    fails(&args, &["round 1, agent 0", "not finite"]);
}

#[test]
fn the_recipe_is_that_of_the_embedded_model() {
    // its training is too long for a test; what comes before it is not
    let dir = tempfile::tempdir().unwrap();
    let out = format!("out={:?}", dir.path().to_str().unwrap());
    let short = [
        "--set",
        &out,
        "--set",
        "train.steps=1",
        "--set",
        "train.eval_questions=1",
    ];
    sapo(&[&["pretrain", "experiments/base/tiny.toml"], &short[..]].concat())
        .assert()
        .success();
    for file in ["tokenizer.json", "tokenizer_config.json", "config.json"] {
        let bytes = |dir: &Path| fs::read(dir.join(file)).unwrap();
        assert!(
            bytes(dir.path()) == bytes(&root().join("models/tiny")),
            "{file}"
        );
    }
}

#[test]
fn recipes_that_cannot_be_made_leave_the_folder_as_it_was() {
    let (dir, _) = broken(|_| ());
    let out = format!("out={:?}", dir.path().to_str().unwrap());
    let short = [
        "train.steps=1",
        "train.questions=2",
        "tokenizer_texts=50",
        "train.eval_questions=2",
    ];
    let bytes = || fs::read(dir.path().join("tokenizer.json")).unwrap();
    let before = bytes();
    let cook = |set: &str, words: &[&str]| {
        let mut args = vec![
            "pretrain",
            "experiments/base/tiny.toml",
            "--set",
            &out,
            "--set",
            set,
        ];
        short
            .iter()
            .filter(|s| !set.starts_with(s.split('=').next().unwrap()))
            .for_each(|s| args.extend(["--set", s]));
        fails(&args, words);
        assert_eq!(bytes(), before, "{set}");
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            5,
            "{set}: nothing is left over"
        );
    };
    cook("model.hidden_size=97", &["hidden_size", "97"]);
    cook(
        "train.questions=0",
        &["train.questions: found 0, expected 1"],
    );
    cook(
        "train.learning_rate=-1.0",
        &["train.learning_rate: found -1"],
    );
    cook(
        "train.max_completion_length=1000",
        &["train.max_completion_length: found 1000"],
    );
    cook("vocab_size=10", &["vocab_size: found 10, expected 257"]);
    cook("chat_template={{ x", &["chat template cannot be rendered"]);
    cook("forms=[]", &["forms: found none"]);
    cook("tasks.names=[]", &["tasks.names: found none"]);
    fails(
        &["pretrain", "experiments/base/tiny.toml", "--set", "out="],
        &["out: found an empty path"],
    );
}

#[test]
fn asking_prints_completions_and_scores() {
    let experiment = [
        "--experiment",
        "experiments/smoke.toml",
        "--model",
        "models/tiny",
    ];
    let ask = |args: &[&str]| {
        let output = sapo(&[&["ask"], &experiment[..], args].concat())
            .assert()
            .success()
            .get_output()
            .clone();
        String::from_utf8(output.stdout).unwrap()
    };
    let task = [
        "--task",
        "basic_arithmetic",
        "--seed",
        "3",
        "-n",
        "3",
        "--max-completion-length",
        "12",
    ];
    let text = ask(&task);
    assert!(
        text.contains("--- prompt\nQuestion: ")
            && text.contains("--- completion 3: ")
            && text.contains("score")
    );
    assert_eq!(text, ask(&task), "the same seed gives the same answers");
    let json = ask(&[&task[..], &["--json", "--greedy"]].concat());
    let objects: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), 3);
    assert!(
        objects.windows(2).all(|pair| pair[0] == pair[1]),
        "greedy answers are all the same"
    );
    for key in ["text", "tokens", "finish_reason", "score"] {
        assert!(objects[0].get(key).is_some_and(|v| !v.is_null()), "{key}");
    }
    let chat = ask(&["--chat", "What is 1 + 1?", "--max-completion-length", "3"]);
    assert!(chat.contains("Question: What is 1 + 1?\nAnswer: "));
    let prompt = ask(&[
        "--prompt",
        "Question",
        "--max-completion-length",
        "3",
        "--json",
    ]);
    assert!(prompt.contains("\"score\":null"));
    fails(
        &["ask", "--model", "models/tiny"],
        &["--task", "--chat", "--prompt"],
    );
    fails(
        &["ask", "--model", "models/tiny", "--prompt", ""],
        &["the prompt: found no token"],
    );
    fails(
        &["ask", "--model", "models/tiny", "--chat", "x", "-n", "0"],
        &["-n: found 0"],
    );
}

#[test]
fn the_plan_of_an_experiment_is_printed() {
    let output = sapo(&["check", "experiments/ablation.toml"])
        .assert()
        .success()
        .get_output()
        .clone();
    let text = String::from_utf8(output.stdout).unwrap();
    for word in [
        "8 agents",
        "arm 8-0      150 rounds of 512 completions",
        "optimizer",
        "memory",
        "cpu",
    ] {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

/// What a run notes of the commit of the checkout that it is started in, which has this manifest.
fn commit_note(manifest: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        command.current_dir(dir.path()).args(who).args(arguments);
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "Cargo.toml"]);
    git(&["commit", "-q", "-m", "x"]);
    let experiment = root().join("experiments/smoke.toml");
    let model = format!(
        "model.path={:?}",
        root().join("models/tiny").to_str().unwrap()
    );
    let args = [
        "run",
        experiment.to_str().unwrap(),
        "--out",
        "out",
        "--set",
        &model,
    ];
    let small = ["rounds=1", "swarm.agents=2", "mixes=[{local=1,external=0}]"];
    let mut command = Command::cargo_bin("sapo").unwrap();
    command.current_dir(dir.path()).args(args);
    for set in small {
        command.args(["--set", set]);
    }
    command.assert().success();
    fs::read_to_string(dir.path().join("out/runs/1-0/seed-1/commit")).ok()
}

#[test]
fn the_commit_of_a_run_is_noted_wherever_its_files_lie() {
    let note = commit_note("[package]\nname = \"sapo\"\n").unwrap();
    let [hash, end] = note.split_at(40).into();
    assert!(
        hash.bytes().all(|b| b.is_ascii_hexdigit()) && end == "\n",
        "{note}"
    );
    assert_eq!(commit_note("[package]\nname = \"other\"\n"), None);
}

#[test]
fn arms_differ_in_any_key_and_a_sweep_multiplies_them() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("arms.toml"), dir.path().join("out"));
    let smoke = root().join("experiments/smoke.toml");
    let text = format!(
        "extends = {:?}\nrounds = 1\nbaseline = \"alone\"\n\
         [[arm]]\nname = \"shares\"\nmix = {{ local = 1, external = 1 }}\n\
         [[arm]]\nname = \"alone\"\nmix = {{ local = 2, external = 0 }}\nswarm.agents = 2\n\
         [sweep]\nkey = \"train.learning_rate\"\nvalues = [0.001, 0.00003]\n\
         [eval]\nquestions = 8\n",
        smoke.to_str().unwrap()
    );
    fs::write(&file, text).unwrap();
    let args = [
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    sapo(&args).assert().success();
    let arms = fs::read_to_string(out.join("arms.csv")).unwrap();
    let expected = "arm,local,external,baseline,sweep_key,sweep_value,learning_rate,tuned,draw_from,replay_rounds,model,rounds\n\
        \"shares,learning_rate=1e-3\",1,1,\"alone,learning_rate=1e-3\",train.learning_rate,1e-3,1e-3,,others,0,models/tiny,1\n\
        \"alone,learning_rate=1e-3\",2,0,,train.learning_rate,1e-3,1e-3,,others,0,models/tiny,1\n\
        \"shares,learning_rate=3e-5\",1,1,\"alone,learning_rate=3e-5\",train.learning_rate,3e-5,3e-5,,others,0,models/tiny,1\n\
        \"alone,learning_rate=3e-5\",2,0,,train.learning_rate,3e-5,3e-5,,others,0,models/tiny,1\n";
    assert_eq!(arms, expected);
    let rows = |arm: &str| {
        let file = out.join("runs").join(arm).join("seed-1/rounds.csv");
        fs::read_to_string(file).unwrap().lines().count() - 1
    };
    assert_eq!(
        (
            rows("alone,learning_rate=1e-3"),
            rows("shares,learning_rate=3e-5")
        ),
        (2, 4)
    );
    // what lies there is the same experiment, so nothing is left to do
    let stderr = sapo(&args).assert().success().get_output().stderr.clone();
    assert_eq!(String::from_utf8(stderr).unwrap(), "");
    let status = sapo(&["status", out.to_str().unwrap()])
        .assert()
        .success()
        .get_output()
        .clone();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("4 of 4 runs finished"), "{status}");
}

#[test]
fn committed_results_say_what_their_experiments_are() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("results")).unwrap() {
        let dir = entry.unwrap().path();
        let name = dir.file_name().unwrap().to_str().unwrap();
        let folders = ["experiments", "experiments/league"];
        let files = folders.map(|folder| root().join(folder).join(format!("{name}.toml")));
        let file = files.into_iter().find(|file| file.exists());
        let Some(file) = file.filter(|_| dir.join("arms.csv").exists()) else {
            continue;
        };
        let experiment = sapo::experiment::Experiment::load(&file, &[]).unwrap();
        let text = experiment.to_toml().unwrap();
        let tuned = experiment.tuned_in(&dir).unwrap();
        let arms = tuned.unwrap_or(experiment).arms_csv().unwrap();
        assert_eq!(fs::read(dir.join("arms.csv")).unwrap(), arms, "{name}");
        assert_eq!(
            fs::read_to_string(dir.join("experiment.toml")).unwrap(),
            text,
            "{name}"
        );
        seen += 1;
    }
    assert!(seen >= 2, "the test looks at something: {seen}");
}
