//! A key that is tuned for each arm before the runs, and runs that are kept in short.

use crate::program::{fails, sapo};
use std::fs;
use std::path::Path;

/// An experiment of two arms that are tuned and one that is not.
fn experiment(dir: &Path, values: &str) -> String {
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/experiments/smoke.toml");
    let text = format!(
        "extends = {base:?}\nrounds = 3\nseeds = [1, 2]\n\
         [swarm]\nagents = 2\n[eval]\nevery = 1\nquestions = 8\n\
         [log]\nmeans = true\n\
         [tune]\nkey = \"train.learning_rate\"\nvalues = {values}\nseeds = [101, 102]\nrounds = 2\n\
         criterion = \"held-out-at-equal-rounds\"\n\
         [[arm]]\nname = \"alone\"\nmix = {{ local = 2, external = 0 }}\n\
         [[arm]]\nname = \"shares\"\nmix = {{ local = 1, external = 1 }}\n\
         [[arm]]\nname = \"fixed\"\nmix = {{ local = 1, external = 1 }}\ntrain.learning_rate = 0.125\n"
    );
    let file = dir.join("tuned.toml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The rows of a CSV file without their header.
fn rows(file: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let row = |row: csv::StringRecord| row.iter().map(str::to_owned).collect();
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

#[test]
fn every_arm_runs_with_the_value_that_was_best_on_other_seeds() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path(), "[1e-3, 3e-3]");
    let out = dir.path().join("out");
    let args = ["run", &file, "--out", out.to_str().unwrap()];
    let output = sapo(&args).assert().success().get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("is best on the seeds of the tuning; it is the"),
        "{said}"
    );

    let tuning = rows(&out.join("tuning.csv"));
    assert_eq!(tuning.len(), 2 * 2 * 2, "arms, values and seeds");
    let arms = rows(&out.join("arms.csv"));
    for arm in ["alone", "shares"] {
        let mean = |value: &str| {
            let of_value = tuning.iter().filter(|row| row[0] == arm && row[2] == value);
            of_value
                .map(|row| row[6].parse::<f64>().unwrap())
                .sum::<f64>()
        };
        let best = if mean("3e-3") > mean("1e-3") {
            "3e-3"
        } else {
            "1e-3"
        };
        let found = arms.iter().find(|row| row[0] == arm).unwrap();
        assert_eq!(found[6], best, "{arm}");
    }
    assert_eq!(
        arms.iter().find(|row| row[0] == "fixed").unwrap()[6],
        "0.125"
    );
    assert!(!out.join("tuning/runs/fixed,learning_rate=1e-3").exists());

    // what was found is kept, and the runs do not begin again
    let before = fs::metadata(out.join("tuning.csv"))
        .unwrap()
        .modified()
        .unwrap();
    fs::remove_dir_all(out.join("tuning")).unwrap();
    sapo(&args).assert().success();
    assert!(!out.join("tuning").exists());
    assert_eq!(
        before,
        fs::metadata(out.join("tuning.csv"))
            .unwrap()
            .modified()
            .unwrap()
    );

    // another range is another experiment
    experiment(dir.path(), "[1e-3, 1e-2]");
    fails(&args, &["holds the results of another experiment"]);
}

#[test]
fn only_runs_that_are_missing_are_made() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path(), "[1e-3]");
    let out = dir.path().join("out");
    let args = [
        "run",
        &file,
        "--out",
        out.to_str().unwrap(),
        "--only-missing",
    ];
    sapo(&args).assert().success();
    let run = |arm: &str, seed: u64| out.join(format!("runs/{arm}/seed-{seed}"));
    let means = fs::read(run("alone", 1).join("means.csv")).unwrap();
    // as a clone has it: no checkpoints, no rows of agents
    for arm in ["alone", "shares", "fixed"] {
        for seed in [1, 2] {
            fs::remove_dir_all(run(arm, seed).join("checkpoint")).unwrap();
            fs::remove_file(run(arm, seed).join("rounds.csv")).unwrap();
        }
    }
    fs::remove_dir_all(run("shares", 2)).unwrap();
    fs::write(run("fixed", 1).join("means.csv"), &means[..means.len() / 2]).unwrap();
    sapo(&args).assert().success();
    assert!(!run("alone", 1).join("rounds.csv").exists());
    assert!(run("shares", 2).join("rounds.csv").exists());
    assert!(run("fixed", 1).join("rounds.csv").exists());
}

#[test]
fn a_value_that_diverges_is_the_worst_and_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path(), "[1e-3, 1.0]");
    let out = dir.path().join("out");
    let run = ["run", &file, "--out", out.to_str().unwrap()];
    let unclipped = ["--set", "train.max_grad_norm=0.0"];
    sapo(&[&run[..], &unclipped].concat()).assert().success();
    let tuning = rows(&out.join("tuning.csv"));
    assert_eq!(tuning.len(), 8);
    let arms = rows(&out.join("arms.csv"));
    assert!(
        arms.iter().all(|row| row[0] == "fixed" || row[6] == "1e-3"),
        "{arms:?}"
    );
}

#[test]
fn bad_tunings_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path(), "[1e-3]");
    let check = |set: &str, words: &[&str]| fails(&["check", &file, "--set", set], words);
    check("tune.values=[]", &["tune.values: found an empty list"]);
    check(
        "tune.seeds=[1]",
        &["tune.seeds: found 1, expected seeds that are not those"],
    );
    check("tune.key=train.learning_rat", &["tune", "learning_rat"]);
    check("tune.values=[3e-3, 1e-3]", &["tune.values", "ascending"]);
    check("train.learning_rate=1e-3", &["is tuned, and cannot be set"]);
    check("tune.values=[-1.0]", &["train.learning_rate: found -1"]);
    check("tune.criterion=\"luck\"", &["held-out-at-equal-rounds"]);
    check("eval.every=0", &["eval.every: found 0", "held-out"]);
    check(
        "sweep={key=\"swarm.agents\",values=[2]}",
        &["tune", "sweep"],
    );
    check(
        "shadow={mixes=[],selections=[\"first\"]}",
        &["shadow.mixes"],
    );
    check(
        "swarm.draw_from=\"self\"",
        &["swarm.replay_rounds: found 0"],
    );
}

#[test]
fn bad_balances_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path(), "[1e-3]");
    let check = |sets: &[&str], words: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        fails(
            &[&["check", &file], &sets.collect::<Vec<_>>()[..]].concat(),
            words,
        );
    };
    check(&["swarm.balance=\"fil\""], &["fil", "adaptive"]);
    check(
        &["swarm.balance=\"schedule\""],
        &["swarm.schedule: found no entry"],
    );
    let schedule = |first: &str| {
        format!(
            "swarm.schedule=[{{from_round={first},local=1,external=2}},{{from_round=3,local=2,external=0}}]"
        )
    };
    check(
        &[&schedule("1")],
        &["swarm.schedule: found entries, expected none"],
    );
    let scheduled = "swarm.balance=\"schedule\"";
    check(
        &[scheduled, &schedule("0")],
        &["swarm.schedule", "ascending"],
    );
    check(
        &[scheduled, &schedule("3")],
        &["swarm.schedule", "ascending"],
    );
    check(
        &["swarm.balance=\"fill\"", "swarm.signal_limit=\"own\""],
        &["swarm.signal_limit: found \"own\""],
    );
    check(
        &["swarm.draw_from=\"others-and-memory\""],
        &["swarm.replay_rounds: found 0"],
    );
}
