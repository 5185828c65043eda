//! The league of rules from made-up CSV files, against numbers by hand; and what the keys of rules may not hold.

use crate::program::fails;
use std::fs;
use std::path::Path;

const HEADER: &str =
    "round,agent,own_reward,train_reward,eval_reward,completions,steps,steps_without_signal\n";

/// A run of one agent: own and held-out reward of each round, and completions in each.
fn add(dir: &Path, arm: &str, seed: u64, completions: u32, rounds: &[(f64, f64)]) {
    let row = |(at, (own, held_out)): (usize, &(f64, f64))| {
        format!("{},0,{own},{own},{held_out},{completions},1,0\n", at + 1)
    };
    let rows: String = rounds.iter().enumerate().map(row).collect();
    let run = dir.join(format!("runs/{arm}/seed-{seed}"));
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("rounds.csv"), format!("{HEADER}{rows}")).unwrap();
}

/// Two seeds of a mix, of self-replay, of two rules and of a bound; the second seed pays a tenth more.
fn made_up(dir: &Path) {
    for (seed, more) in [(1, 0.0), (2, 0.1)] {
        let add = |arm: &str, completions, rounds: &[(f64, f64)]| {
            let paid: Vec<_> = rounds.iter().map(|(a, b)| (a + more, b + more)).collect();
            add(dir, arm, seed, completions, &paid);
        };
        add("2-6", 10, &[(0.1, 0.1), (0.2, 0.1), (0.3, 0.3), (0.4, 0.5)]);
        add("8-0", 40, &[(0.2, 0.1)]);
        add("replay", 20, &[(0.1, 0.1), (0.1, 0.1)]);
        add("fast", 20, &[(0.3, 0.2), (0.5, 0.6)]);
        // of its last round a half is paid for
        add("dear", 16, &[(0.2, 0.1), (0.3, 0.1), (0.4, 0.4)]);
        add("one", 40, &[(0.6, 0.6)]);
    }
    let line = |arm: &str, league: &str| format!("{arm},2,6,,,,6e-4,,others,0,m,4,{league}\n");
    let arms = [
        ("2-6", "mix"),
        ("8-0", "mix"),
        ("replay", "self-replay"),
        ("fast", "rule"),
        ("dear", "rule"),
        ("one", "bound"),
    ];
    let lines: String = arms.iter().map(|(arm, league)| line(arm, league)).collect();
    let header = "arm,local,external,baseline,sweep_key,sweep_value,learning_rate,tuned,draw_from,replay_rounds,model,\
                  rounds,league\n";
    fs::write(dir.join("arms.csv"), format!("{header}{lines}")).unwrap();
}

#[test]
fn rules_are_ranked_at_equal_completions_and_compared_with_the_best_of_each_kind() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path());
    sapo::report::write(dir.path()).unwrap();
    let league = fs::read_to_string(dir.path().join("league.md")).unwrap();
    assert!(league.contains("**40 completions**"), "{league}");
    assert!(
        league.contains("(best mix: 2 / 6, self-replay: replay)"),
        "{league}"
    );
    let rows: Vec<&str> = league
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    // the mean of two seeds a tenth apart: half of it more than the first
    let starts = [
        "| – | one | 2 | 6e-4 | 0.6500 ",
        "| 1 | fast | 2 | 6e-4 | 0.4500 ",
        "| 2 | dear | 2 | 6e-4 | 0.3300 ",
        "| 3 | 2 / 6 | 2 | 6e-4 | 0.3000 ",
        "| 4 | 8 / 0 | 2 | 6e-4 | 0.2500 ",
        "| 5 | replay | 2 | 6e-4 | 0.1500 ",
    ];
    for (row, start) in rows[1..].iter().zip(starts) {
        assert!(row.starts_with(start), "{row}: {start}");
    }
    let cells: Vec<&str> = rows[2].split(" | ").collect();
    assert!(
        cells[5].starts_with("0.4500 ") && cells[6].starts_with("0.6500 "),
        "{cells:?}"
    );
    assert_eq!(&cells[7..], ["2", "2 |"], "rounds and steps");
    // 0.4 over 0.25 and 0.5 over 0.35
    let fast = rows.iter().find(|row| row.starts_with("| fast |")).unwrap();
    assert!(fast.contains("| +51.4 % ["), "{fast}");
    assert!(
        rows.iter().any(|row| row.starts_with("| dear | +")),
        "{league}"
    );
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("League of sharing rules"));
    // without a league there is none
    let arms = fs::read_to_string(dir.path().join("arms.csv")).unwrap();
    let plain: String = arms
        .lines()
        .map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n")
        .collect();
    fs::write(dir.path().join("arms.csv"), plain).unwrap();
    sapo::report::write(dir.path()).unwrap();
    assert!(!dir.path().join("league.md").exists());
}

#[test]
fn p_is_corrected_for_all_comparisons() {
    let dir = tempfile::tempdir().unwrap();
    made_up(dir.path());
    for seed in 3..=6 {
        let more = f64::from(seed as u32) * 0.01;
        add(dir.path(), "2-6", seed, 10, &[(0.2 + more, 0.2); 4]);
        add(dir.path(), "fast", seed, 20, &[(0.4 - more, 0.2); 2]);
    }
    sapo::report::write(dir.path()).unwrap();
    let league = fs::read_to_string(dir.path().join("league.md")).unwrap();
    let fast = league
        .lines()
        .find(|line| line.starts_with("| fast |"))
        .unwrap();
    assert!(fast.contains(", p 0.") || fast.contains(", p < "), "{fast}");
}

#[test]
fn keys_of_rules_that_do_not_fit_are_named() {
    let check = |sets: &[&str], words: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args = [
            &["check", "experiments/smoke.toml"],
            &sets.collect::<Vec<_>>()[..],
        ]
        .concat();
        fails(&args, words);
    };
    check(&["swarm.ask=\"fresher\""], &["fresher", "shared-questions"]);
    check(&["swarm.share_logprobs=\"all\""], &["all", "sequence"]);
    check(
        &["train.importance_sampling=\"token_truncate\""],
        &[
            "swarm.share_logprobs: found \"none\"",
            "train.importance_sampling",
        ],
    );
    check(
        &["train.foreign_max_kl=5.0"],
        &["swarm.share_logprobs: found \"none\""],
    );
    let of_wholes = "swarm.share_logprobs=\"sequence\"";
    check(
        &[of_wholes, "train.importance_sampling=\"token_truncate\""],
        &["swarm.share_logprobs: found \"sequence\", expected \"token\""],
    );
    check(
        &[of_wholes, "train.importance_sampling_cap=0.0"],
        &["train.importance_sampling_cap: found 0, expected more than 0"],
    );
    check(
        &[of_wholes, "train.foreign_max_kl=-1.0"],
        &["train.foreign_max_kl: found -1"],
    );
    check(
        &["train.foreign_lean=nan"],
        &["train.foreign_lean: found NaN"],
    );
    check(
        &["swarm.generations_at_a_time=99"],
        &["swarm.generations_at_a_time: found 99, expected 0 to"],
    );
    check(
        &["swarm.max_completions=9"],
        &["swarm.max_completions: found 9, expected 0"],
    );
    let shadow = "shadow={mixes=[{local=2,external=2}],selections=[\"uniform\"]}";
    check(
        &["swarm.generations_at_a_time=2", shadow],
        &["swarm.generations_at_a_time", "shadow"],
    );
    check(&["league=\"best\""], &["best", "self-replay"]);
}
