//! Shell scripts as programs, good and bad.

use super::*;
use serde_json::json;
use std::time::Duration;

/// A shell script as a program.
fn program(script: &str) -> LineProcess {
    let command = ["sh", "-c", script].map(str::to_owned).into();
    LineProcess::start(Program {
        command,
        time_limit: Duration::from_millis(1500),
        longest_line: 100,
    })
    .unwrap()
}

fn ask(process: &mut LineProcess, count: usize) -> (Vec<bool>, String) {
    let requests: Vec<Value> = (0..count).map(|i| json!({"question": i})).collect();
    let fits = |_: usize, answer: &Value| match answer.get("bad") {
        None => Ok(()),
        Some(_) => Err("bad".to_owned()),
    };
    let answers = process.ask::<Value>(&requests, fits);
    let notes = process.take_notes().join("\n");
    (answers.iter().map(Option::is_some).collect(), notes)
}

/// Answers each line with its own number.
const ECHO: &str = "while read -r line; do echo \"$line\"; done";

#[test]
fn answers_come_in_the_order_of_the_requests() {
    let mut process = program(ECHO);
    for _ in 0..3 {
        assert_eq!(ask(&mut process, 4), (vec![true; 4], String::new()));
    }
    let mut backwards =
        program("while true; do read -r a; read -r b; echo \"$b\"; echo \"$a\"; done");
    assert_eq!(ask(&mut backwards, 2), (vec![true; 2], String::new()));
}

#[test]
fn what_is_no_answer_is_counted_and_stops_nothing() {
    let check = |script: &str, expected: &[bool], words: &str| {
        let (found, notes) = ask(&mut program(script), expected.len());
        assert_eq!(found, expected, "{script}: {notes}");
        assert!(notes.contains(words), "{script}: {notes}");
    };
    let then_echo = |before: &str| format!("{before}; {ECHO}");
    check(
        &then_echo("echo nonsense"),
        &[true],
        "1 of its lines are no answers",
    );
    check(&then_echo("printf '\\377\\n'"), &[true], "not UTF-8");
    check(
        &then_echo("head -c 5000 /dev/zero; echo"),
        &[true],
        "too long",
    );
    check(
        &then_echo("echo '{\"id\":7}'"),
        &[true],
        "id 7 was not asked",
    );
    check(
        "read -r a; echo \"$a\"; echo \"$a\"; read -r b; sleep 9",
        &[true, false],
        "answered twice",
    );
    check(
        "read -r a; echo '{\"id\":0,\"bad\":1}'; read -r b",
        &[false],
        "(bad)",
    );
    check(
        "sleep 9",
        &[false, false],
        "took longer than 1.5 s and was killed; 2 of 2",
    );
    check("exit 3", &[false], "has ended (exit status: 3)");
    check("exec >&-; sleep 9", &[false], "closed its output");
    check(
        "yes nonsense",
        &[false],
        "went on writing what is no answer",
    );
    check("read -r a; printf '{\"id\":0'", &[false], "has ended");
}

#[test]
fn who_has_died_is_started_again() {
    let mut process = program("read -r a; echo \"$a\"; read -r b; exit 1");
    assert_eq!(ask(&mut process, 1).0, [true]);
    let (found, notes) = ask(&mut process, 1);
    assert!(!found[0] && notes.contains("has ended"), "{notes}");
    assert_eq!(ask(&mut process, 1).0, [true]);
    let gone = LineProcess::start(Program {
        command: vec!["/no/such/program".to_owned()],
        time_limit: Duration::ZERO,
        longest_line: 1,
    });
    assert!(gone.is_err());
}
