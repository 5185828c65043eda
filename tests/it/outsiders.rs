//! Agents that are no models: programs, recordings, frozen models, and rewards of one's own.

use crate::program::{fails, root, sapo};
use std::fs;
use std::path::Path;

/// A small experiment with these tables of agents.
pub(crate) fn experiment(dir: &Path, agents: &str) -> String {
    let file = dir.join("experiment.toml");
    let smoke = root().join("experiments/smoke.toml");
    let text = format!(
        "extends = {smoke:?}\nrounds = 3\nmixes = [{{ local = 2, external = 2 }}]\n\
         [eval]\nevery = 2\nquestions = 8\n[log]\nrollouts_every = 1\nwhole = true\n\
         [swarm]\nagents = 6\n{agents}"
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Runs it; what was said on the way, and the rows of `rounds.csv`.
pub(crate) fn run(dir: &Path, name: &str, agents: &str) -> (String, Vec<Vec<String>>) {
    let file = experiment(dir, agents);
    let out = dir.join(name);
    let args = ["run", &file, "--out", out.to_str().unwrap()];
    let output = sapo(&args).assert().success().get_output().clone();
    (String::from_utf8(output.stderr).unwrap(), rows(&out))
}

/// The rows of the `rounds.csv` of a results folder with this run.
pub(crate) fn rows(out: &Path) -> Vec<Vec<String>> {
    let rounds = fs::read(out.join("runs/2-2/seed-1/rounds.csv")).unwrap();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(&rounds[..]);
    let rows = reader
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect());
    rows.collect()
}

/// The cells of a column, of each row.
pub(crate) fn column<'a>(rows: &'a [Vec<String>], name: &str) -> Vec<&'a str> {
    let at = rows[0].iter().position(|column| column == name);
    let at = at.unwrap_or_else(|| panic!("no column {name}"));
    rows[1..].iter().map(|row| &row[at][..]).collect()
}

/// A frozen model, a program in each of two languages, and a taste of its own.
const MIXED: &str = r#"
[[swarm.agent]]
agents = [1]
kind   = "frozen"
model  = "models/strong"
[[swarm.agent]]
agents  = [2]
kind    = "command"
command = ["python3", "experiments/members/answer.py"]
[[swarm.agent]]
agents   = [3]
kind     = "command"
command  = ["sh", "experiments/members/answer.sh"]
examined = true
[[swarm.agent]]
agents = [4]
reward = { command = ["python3", "experiments/members/score.py"] }
"#;

#[test]
fn a_mixed_swarm_runs_and_is_repeated_from_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let (said, rows) = run(dir.path(), "mixed", MIXED);
    assert!(!said.contains("no answer"), "{said}");
    let (agents, steps) = (column(&rows, "agent"), column(&rows, "steps"));
    for (agent, steps) in agents.iter().zip(&steps) {
        assert_eq!(
            *steps == "0",
            ["1", "2", "3"].contains(agent),
            "{agent} {steps}"
        );
    }
    assert!(column(&rows, "unanswered").iter().all(|cell| *cell == "0"));
    let examined = agents.iter().zip(column(&rows, "eval_reward"));
    let mut examined = examined.filter(|(agent, _)| **agent == "2" || **agent == "3");
    assert!(examined.all(|(agent, cell)| *agent == "3" || cell.is_empty()));
    // the same without anybody there: who answered by programs plays what is recorded
    let records = dir.path().join("mixed/runs/2-2/seed-1");
    let recorded = format!("kind = \"file\"\nfile = {records:?}\n");
    let command = |script: &str, program: &str| {
        format!(
            "kind    = \"command\"\ncommand = [\"{program}\", \"experiments/members/{script}\"]\n"
        )
    };
    let played = MIXED
        .replace(&command("answer.py", "python3"), &recorded)
        .replace("agents   = [3]\nkind     = \"command\"\ncommand  = [\"sh\", \"experiments/members/answer.sh\"]\nexamined = true\n", &format!("agents = [3]\n{recorded}"));
    assert_eq!(played.matches("\"file\"").count(), 2);
    let (_, again) = run(dir.path(), "played", &played);
    for (row, other) in rows.iter().zip(&again).skip(1) {
        if !["2", "3"].contains(&&row[1][..]) {
            assert_eq!(row, other);
        }
    }
}

#[test]
fn a_program_that_fails_in_any_way_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (name, script, words) in [
        ("hangs", "sleep 60", "took longer than 0.3 s and was killed"),
        ("dies", "exit 3", "has ended (exit status: 3)"),
        ("floods", "yes", "what is no answer and was killed"),
        (
            "bytes",
            "while read -r a; do printf '\\377\\n'; done",
            "not UTF-8",
        ),
        ("half", "read -r a; printf '{\"id\": 0'", "has ended"),
        (
            "others",
            "while read -r a; do echo '{\"id\": 99, \"completions\": [\"a\"]}'; done",
            "id 99 was not asked",
        ),
        (
            "none",
            "i=0; while read -r a; do echo '{\"id\": '$i', \"completions\": []}'; i=$((i + 1)); done",
            "completions: found none",
        ),
    ] {
        let script = script.replace('\\', "\\\\").replace('"', "\\\"");
        let agents = format!(
            "[[swarm.agent]]\nagents = [1]\nkind = \"command\"\ntime_limit_s = 0.3\ncommand = [\"sh\", \"-c\", \"{script}\"]\n"
        );
        let (said, rows) = run(dir.path(), name, &agents);
        assert!(
            said.contains("agent 1") && said.contains(words),
            "{name}: {said}"
        );
        let rows_of: Vec<(&str, &str)> = column(&rows, "agent")
            .into_iter()
            .zip(column(&rows, "unanswered"))
            .collect();
        assert_eq!(rows_of.len(), 18, "{name}: all rounds of all agents");
        for (agent, unanswered) in rows_of {
            assert_eq!(unanswered, if agent == "1" { "2" } else { "0" }, "{name}");
        }
    }
}

#[test]
fn a_reward_that_fails_leaves_out_what_it_cannot_judge() {
    let dir = tempfile::tempdir().unwrap();
    let agents = "[[swarm.agent]]\nagents = [0]\nreward = { time_limit_s = 0.3, command = [\"sleep\", \"60\"] }\n";
    let (said, rows) = run(dir.path(), "judge", agents);
    assert!(
        said.contains("agent 0") && said.contains("sleep 60"),
        "{said}"
    );
    for (agent, own) in column(&rows, "agent")
        .into_iter()
        .zip(column(&rows, "own_reward"))
    {
        assert_eq!(own.is_empty(), agent == "0");
    }
}

#[test]
fn tables_of_agents_that_do_not_fit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let check = |keys: &str, words: &[&str]| {
        let file = experiment(
            dir.path(),
            &format!("[[swarm.agent]]\nagents = [1]\n{keys}\n"),
        );
        fails(&["check", &file], words);
    };
    check("kind = \"robot\"", &["robot", "command"]);
    check(
        "kind = \"command\"",
        &["swarm.agent[0].command: found none, expected one"],
    );
    check(
        "kind = \"file\"",
        &["swarm.agent[0].file: found none, expected one"],
    );
    check(
        "command = [\"sh\"]",
        &["swarm.agent[0].command: found one, expected none"],
    );
    check(
        "kind = \"frozen\"\nexamined = true",
        &["swarm.agent[0].examined: found one"],
    );
    check("kind = \"frozen\"\ncycle = true", &["swarm.agent[0].cycle"]);
    check(
        "kind = \"command\"\ncommand = [\"sh\"]\nmodel = \"models/tiny\"",
        &["swarm.agent[0].model"],
    );
    let hasty = "kind = \"command\"\ncommand = [\"sh\"]\ntime_limit_s = 0";
    check(
        hasty,
        &["swarm.agent[0].time_limit_s: found 0, expected 0.001 to 86400"],
    );
    check(
        "",
        &["swarm.agent[0]: found neither tasks nor model, kind or reward"],
    );
    check(
        "reward = { form = inf }",
        &["swarm.agent[0].reward.form: found inf"],
    );
    check("reward = { forms = 1.0 }", &["forms", "form"]);
    let both = "reward = { scoring = \"exact\", command = [\"sh\"] }";
    check(both, &["swarm.agent[0].reward: found both"]);
    check(
        "reward = { time_limit_s = 1.0 }",
        &["swarm.agent[0].reward.time_limit_s"],
    );
}

#[test]
fn what_cannot_be_started_or_read_is_named_before_the_first_round() {
    let dir = tempfile::tempdir().unwrap();
    let check = |keys: &str, words: &[&str]| {
        let file = experiment(
            dir.path(),
            &format!("[[swarm.agent]]\nagents = [1]\n{keys}\n"),
        );
        let out = dir.path().join("out");
        fails(
            &["run", &file, "--out", out.to_str().unwrap(), "--fresh"],
            words,
        );
    };
    check(
        "kind = \"command\"\ncommand = [\"/no/such\"]",
        &["agent 1", "/no/such: cannot be started"],
    );
    check(
        "reward = { command = [\"/no/such\"] }",
        &["the reward of agent 1", "/no/such"],
    );
    check(
        "kind = \"file\"\nfile = \"/no/such.jsonl\"",
        &["/no/such.jsonl", "cannot be read"],
    );
    let bad = dir.path().join("bad.jsonl");
    let kept = r#"{"round":1,"agent":1,"index":0,"task":"bf","question":"q","answer":null,"completions":["a"],"rewards":[0],"drawn_by":[]}"#;
    let file = format!("kind = \"file\"\nfile = {bad:?}");
    fs::write(&bad, format!("{kept}\nnonsense\n")).unwrap();
    check(&file, &["bad.jsonl:2", "no recorded rollout"]);
    fs::write(&bad, kept.replace("\"agent\":1", "\"agent\":3")).unwrap();
    check(&file, &["bad.jsonl: found no rollout of agent 1"]);
}
