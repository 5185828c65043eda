//! `sapo tasks`, and questions that come from a file.

use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn sapo(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("sapo").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    String::from_utf8(sapo(args).assert().success().get_output().stdout.clone()).unwrap()
}

fn stderr(args: &[&str]) -> String {
    String::from_utf8(sapo(args).assert().failure().get_output().stderr.clone()).unwrap()
}

#[test]
fn the_catalog_is_listed_and_shown() {
    let list = stdout(&["tasks", "list"]);
    for word in [
        "basic_arithmetic",
        "arc_1d",
        "calendar_arithmetic",
        "max_terms",
        "1 to 100",
        "p_zero",
        "0.25",
    ] {
        assert!(list.contains(word), "no {word:?} in {list}");
    }
    let shown = stdout(&[
        "tasks",
        "show",
        "basic_arithmetic",
        "--seed",
        "3",
        "--set",
        "max_terms=2",
    ]);
    for word in ["--- question", "--- answer", "\"num_terms\": 2"] {
        assert!(shown.contains(word), "no {word:?} in {shown}");
    }
    assert_eq!(
        shown,
        stdout(&[
            "tasks",
            "show",
            "basic_arithmetic",
            "--seed",
            "3",
            "--set",
            "max_terms=2"
        ])
    );
    assert!(stderr(&["tasks", "show", "chess"]).contains("unknown task \"chess\""));
    assert!(
        stderr(&["tasks", "show", "bf", "--set", "difficulty=7"])
            .contains("difficulty = 7: expected 1 to 3")
    );
    assert!(stderr(&["tasks", "show", "bf", "--set", "depth=1"]).contains("unknown field `depth`"));
    assert!(
        stderr(&["tasks", "export", "bf", "arc_1d", "--set", "difficulty=1"])
            .contains("task.field=value")
    );
}

#[test]
fn what_is_exported_can_be_scored() {
    let exported = stdout(&[
        "tasks",
        "export",
        "bf",
        "binary_matrix",
        "--count",
        "5",
        "--seed",
        "9",
    ]);
    let mut lines = Vec::new();
    for (i, line) in exported.lines().enumerate() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(entry["metadata"]["source_index"], i % 5);
        let task = entry["metadata"]["source_dataset"].as_str().unwrap();
        lines.push(serde_json::json!({
            "task": task, "config": {"seed": 3}, "answer": entry["answer"], "metadata": entry["metadata"],
            "candidate": entry["answer"],
        }));
        let mut short = entry.clone();
        short["candidate"] = entry["answer"].clone();
        lines.push(short); // an exported line with a candidate is enough
    }
    let input = lines
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    let output = sapo(&["tasks", "score"])
        .write_stdin(input)
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    assert_eq!(
        String::from_utf8(output).unwrap(),
        "{\"score\":1.0}\n".repeat(20)
    );
}

#[test]
fn a_bad_line_is_reported_and_does_not_stop_the_rest() {
    let good = r#"{"task":"bf","config":{},"answer":"a","metadata":{},"candidate":"a"}"#;
    let null = r#"{"task":"fraction_simplification","config":{},"answer":"1/2","metadata":{},"candidate":null}"#;
    let input = format!(
        "{good}\nnonsense\n{null}\n{}\n{good}",
        good.replace("bf", "chess")
    );
    let output = sapo(&["tasks", "score"])
        .write_stdin(input)
        .assert()
        .code(1)
        .get_output()
        .clone();
    let scores: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let scores: Vec<Option<f64>> = scores.iter().map(|line| line["score"].as_f64()).collect();
    assert_eq!(scores, [Some(1.0), None, Some(0.01), None, Some(1.0)]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("line 2: ") && errors.contains("line 4: unknown task \"chess\""),
        "{errors}"
    );
}

fn check(dir: &Path, lines: &str) -> Result<String, String> {
    let file = dir.join("questions.jsonl");
    fs::write(&file, lines).unwrap();
    let source = format!("tasks.source={:?}", file.to_str().unwrap());
    let names = "tasks.names=[\"basic_arithmetic\"]";
    let output = sapo(&[
        "check",
        "experiments/smoke.toml",
        "--set",
        &source,
        "--set",
        names,
    ])
    .assert()
    .get_output()
    .clone();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

#[test]
fn questions_come_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let export = [
        "tasks",
        "export",
        "basic_arithmetic",
        "--count",
        "80",
        "--set",
        "max_digits=1",
    ];
    let questions = stdout(&export);
    check(dir.path(), &questions).unwrap();
    let bad = |line: &str| check(dir.path(), &format!("{questions}{line}\n")).unwrap_err();
    assert!(bad("{").contains("questions.jsonl: line 81: "));
    assert!(
        bad(r#"{"question":"?","answer":"1","metadata":{}}"#)
            .contains("line 81: metadata.source_dataset: missing")
    );
    let chess = r#"{"question":"?","answer":"1","metadata":{"source_dataset":"chess"}}"#;
    assert!(bad(chess).contains("line 81: unknown task \"chess\""));
    let one = questions.lines().next().unwrap();
    assert!(
        check(dir.path(), one)
            .unwrap_err()
            .contains("held-out questions of basic_arithmetic, expected at least one")
    );
    fs::remove_file(dir.path().join("questions.jsonl")).unwrap();
    let gone = [
        "check",
        "experiments/smoke.toml",
        "--set",
        "tasks.source=gone.jsonl",
    ];
    assert!(stderr(&gone).contains("tasks.source: gone.jsonl: cannot be read"));
}

#[test]
fn tasks_have_weights_and_agents_their_own() {
    let check = |set: &str| {
        let output = sapo(&["check", "experiments/smoke.toml", "--set", set])
            .assert()
            .get_output()
            .clone();
        if output.status.success() {
            String::new()
        } else {
            String::from_utf8(output.stderr).unwrap()
        }
    };
    assert_eq!(check("tasks.proportions=[1, 0, 2.5, 1, 1, 1, 1, 1, 1]"), "");
    assert!(
        check("tasks.proportions=[1]")
            .contains("tasks.proportions: found 1 proportions, expected one for each of 9 tasks")
    );
    assert!(check("tasks.proportions=[0, 0, 0, 0, 0, 0, 0, 0, 0]").contains("not all 0"));
    assert_eq!(
        check("swarm.agent=[{agents=[0, 1], tasks=[\"binary_matrix\"]}]"),
        ""
    );
    assert!(
        check("swarm.agent=[{agents=[9], tasks=[\"binary_matrix\"]}]")
            .contains("found 9, expected 0 to 3")
    );
    assert!(
        check("swarm.agent=[{agents=[0, 0], tasks=[\"binary_matrix\"]}]")
            .contains("found 0 a second time")
    );
    assert!(
        check("swarm.agent=[{agents=[0], tasks=[\"chess\"]}]")
            .contains("expected one of tasks.names")
    );
}
