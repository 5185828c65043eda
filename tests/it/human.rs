//! A person at the terminal as an agent: the test types into a pseudo-terminal.

use crate::outsiders::{column, experiment, rows, run};
use crate::program::{fails, root};
use nix::pty::openpty;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

/// All kinds at once: two models that learn, one that does not, a program, a recording and a person.
fn every_kind(recorded: &Path) -> String {
    format!(
        "[tasks]\nnames = [\"basic_arithmetic\", \"bf\"]\n\
         [[swarm.agent]]\nagents = [2]\nkind = \"frozen\"\n\
         [[swarm.agent]]\nagents = [3]\nkind = \"command\"\ncommand = [\"python3\", \"experiments/members/answer.py\"]\n\
         [[swarm.agent]]\nagents = [4]\nkind = \"file\"\nfile = {recorded:?}\nrecorded_agent = 1\ncycle = true\n\
         [[swarm.agent]]\nagents = [5]\n{PERSON}"
    )
}

const PERSON: &str = "kind = \"human\"\ntime_limit_s = 30.0\n";

/// A recording of one rollout, written by hand.
const RECORDED: &str = r#"{"round":1,"agent":1,"index":0,"task":"basic_arithmetic","question":"What is 1 + 1?","answer":"2","completions":["<answer>2</answer>","<answer>3</answer>"],"rewards":[],"drawn_by":[]}
"#;

/// Starts `sapo run` at a terminal of its own; the other end of it.
fn at_a_terminal(file: &str, out: &Path) -> (Child, File) {
    let pty = openpty(None, None).unwrap();
    let child = Command::new(assert_cmd::cargo::cargo_bin!("sapo"))
        .current_dir(root())
        .args(["run", file, "--out", out.to_str().unwrap()])
        .stdin(pty.slave.try_clone().unwrap())
        .stderr(pty.slave)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, File::from(pty.master))
}

/// Types an answer to each question that appears, in turn, and Ctrl-D when there are no more answers; all that was to
/// be seen.
fn sit_there(mut terminal: File, answers: &[&str]) -> String {
    let mut answers = answers.iter();
    let (mut seen, mut questions) = (String::new(), 0);
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        seen += &String::from_utf8_lossy(&bytes[..count]);
        let shown = seen.matches("\n[basic_arithmetic] ").count() + seen.matches("\n[bf] ").count();
        while questions < shown {
            questions += 1;
            let typed = answers.next().unwrap_or(&"\u{4}");
            terminal.write_all(typed.as_bytes()).unwrap();
        }
    }
    seen
}

#[test]
fn every_kind_of_member_in_one_swarm_is_repeated_from_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let recorded = dir.path().join("recorded.jsonl");
    fs::write(&recorded, RECORDED).unwrap();
    let agents = every_kind(&recorded);
    let file = experiment(dir.path(), &agents);
    let out = dir.path().join("lived");
    let (mut child, terminal) = at_a_terminal(&file, &out);
    // two questions a round: answered right or wrong, skipped, with reasoning; then the person leaves
    let answers = ["7\n8\n\n", "\n", "half of it\\n<answer>12</answer>\n\n"];
    let person = thread::spawn(move || sit_there(terminal, &answers));
    assert!(child.wait().unwrap().success());
    let seen = person.join().unwrap();
    assert!(seen.contains("You are one of the agents"), "{seen}");
    assert!(seen.contains("agent 5: the person has left"), "{seen}");
    let lived = rows(&out);
    let unanswered = |rows: &[Vec<String>]| -> Vec<String> {
        let all = column(rows, "agent")
            .into_iter()
            .zip(column(rows, "unanswered"));
        all.filter(|(agent, _)| *agent == "5")
            .map(|(_, cell)| cell.to_owned())
            .collect()
    };
    assert_eq!(unanswered(&lived), ["1", "1", "0"]);
    let kept = sapo::kept_rollouts::of_run(&out.join("runs/2-2/seed-1")).unwrap();
    let written = kept
        .iter()
        .filter(|kept| kept.agent == 5)
        .map(|kept| kept.completions.clone());
    let written: Vec<Vec<String>> = written.collect();
    assert_eq!(
        written,
        [
            vec!["<answer>7</answer>", "<answer>8</answer>"],
            vec!["half of it\n<answer>12</answer>"]
        ]
    );
    // the same without the person and the program
    let records = out.join("runs/2-2/seed-1");
    let played = format!("kind = \"file\"\nfile = {records:?}\n");
    let program =
        "kind = \"command\"\ncommand = [\"python3\", \"experiments/members/answer.py\"]\n";
    let agents = agents.replace(PERSON, &played).replace(program, &played);
    assert_eq!(agents.matches("\"file\"").count(), 3);
    let (_, again) = run(dir.path(), "played", &agents);
    for (row, other) in lived.iter().zip(&again).skip(1) {
        if !["3", "5"].contains(&&row[1][..]) {
            assert_eq!(row, other);
        }
    }
}

#[test]
fn the_others_do_not_wait_for_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(
        dir.path(),
        "[[swarm.agent]]\nagents = [1]\nkind = \"human\"\n",
    );
    let out = dir.path().join("out");
    let (mut child, terminal) = at_a_terminal(&file, &out);
    // the first question is never answered
    let person = thread::spawn(move || sit_there(terminal, &["7\n"]));
    assert!(child.wait().unwrap().success());
    person.join().unwrap();
    assert_eq!(rows(&out).len(), 1 + 18);
}

#[test]
fn a_person_needs_a_terminal_and_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let human = "[[swarm.agent]]\nagents = [1]\nkind = \"human\"\n";
    let file = experiment(dir.path(), human);
    let out = dir.path().join("out");
    let run = ["run", &file, "--out", out.to_str().unwrap()];
    fails(&run, &["agent 1: found no terminal at standard input"]);
    let check = |set: &str, words: &[&str]| fails(&["check", &file, "--set", set], words);
    check(
        "log.whole=false",
        &["log.whole: found false, expected true"],
    );
    check(
        "log.rollouts_every=5",
        &["log.rollouts_every: found 5, expected 1"],
    );
    let two = experiment(dir.path(), &human.replace("[1]", "[1, 2]"));
    fails(
        &["check", &two],
        &["swarm.agent: found 2 agents of kind \"human\", expected at most 1"],
    );
}
