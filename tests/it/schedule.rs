//! Swarms by a virtual clock: what is read when, and that equal speeds are lock-step.

use crate::program::{fails, sapo};
use crate::swarm::{config, run, watched};
use sapo::swarm::{Returns, RoundRecord, SwarmConfig, VirtualClock};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const CLOCK: VirtualClock = VirtualClock {
    ticks: 4,
    slowest: 1.0,
    session: 0.0,
    away: 0.0,
    returns: Returns::Checkpoint,
    delay: 0,
    loss: 0.0,
    staleness: 4,
};

fn clocked(clock: VirtualClock) -> SwarmConfig {
    SwarmConfig {
        clock: Some(clock),
        ..config(4, 4)
    }
}

#[test]
fn equal_speeds_without_delay_are_lock_step_row_for_row() {
    let skills = [0.2, 0.5, 0.5, 0.8];
    let (lock_step, learned) = run(&skills, config(4, 4), 6, 2);
    let (by_clock, learned_too) = run(&skills, clocked(CLOCK), 6, 2);
    let without = |record: &RoundRecord| RoundRecord {
        tick: None,
        participations: 0,
        ..record.clone()
    };
    for (a, b) in lock_step.iter().zip(&by_clock) {
        assert_eq!(without(a), without(b));
        assert_eq!(b.tick, Some(u64::from(b.round) * 4));
        assert_eq!(b.participations, u64::from(b.round));
    }
    assert_eq!(learned, learned_too);
}

/// The rounds of what each agent drew, with the round in which it did.
fn ages(clock: VirtualClock, rounds: u32) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    watched(&[0.5; 6], clocked(clock), rounds, |swarm, round| {
        for agent in swarm
            .agents()
            .iter()
            .filter(|a| a.own().first().is_some_and(|r| r.rollout.id.round == round))
        {
            all.extend(agent.drawn().iter().map(|id| (id.round, round)));
        }
    });
    all
}

#[test]
fn what_is_delayed_is_read_later_and_what_is_lost_never() {
    let delayed = ages(VirtualClock { delay: 8, ..CLOCK }, 6);
    assert!(
        !delayed.is_empty() && delayed.iter().all(|(then, now)| now - then == 2),
        "{delayed:?}"
    );
    let lost = ages(VirtualClock { loss: 1.0, ..CLOCK }, 4);
    assert_eq!(lost, []);
    let (half, _) = run(
        &[0.5; 6],
        clocked(VirtualClock { loss: 0.5, ..CLOCK }),
        20,
        2,
    );
    let pool: usize = half.iter().map(|r| r.pool_groups).sum();
    let share = pool as f64 / (20 * 6 * 5 * 4) as f64;
    assert!((0.35..0.65).contains(&share), "{share}");
}

#[test]
fn agents_of_unequal_speed_read_once_what_is_not_too_old() {
    let clock = VirtualClock {
        slowest: 3.0,
        staleness: 8,
        ..CLOCK
    };
    let (records, logs) = run(&[0.5; 8], clocked(clock), 30, 2);
    let mut idle = 0;
    for record in &records {
        idle += usize::from(record.tick.is_none());
        assert_eq!(record.tick.is_none(), record.completions == 0);
        assert_eq!(record.tick.is_none(), record.own_reward.is_none());
    }
    assert!(idle > 20, "slow agents end their part more rarely: {idle}");
    for log in logs {
        let mut seen = BTreeSet::new();
        for set in log {
            let newest = set.iter().map(|(id, _)| id.round).max().unwrap();
            for (id, _) in set {
                assert!(seen.insert(id), "{id:?} twice");
                assert!(newest - id.round <= 5, "{id:?} in {newest}");
            }
        }
    }
}

const KEYS: &str = "swarm.clock={ticks=4,slowest=2.5,session=4.0,away=2.0,returns=\"base\",delay=3,loss=0.2,staleness=12}";

fn command(out: &Path, clock: &str, more: &[&str]) -> Vec<String> {
    let set = [
        "rounds=12",
        "swarm.agents=4",
        "mixes=[{local=2,external=2}]",
        "eval.questions=8",
        "eval.every=4",
        "checkpoint.every=1",
        clock,
    ];
    let mut args = vec![
        "run",
        "experiments/smoke.toml",
        "--out",
        out.to_str().unwrap(),
    ];
    args.extend(set.iter().flat_map(|set| ["--set", set]));
    args.extend(more);
    args.into_iter().map(str::to_owned).collect()
}

fn rounds(out: &Path, clock: &str, more: &[&str]) -> String {
    let args = command(out, clock, more);
    sapo(&args.iter().map(String::as_str).collect::<Vec<_>>())
        .assert()
        .success();
    fs::read_to_string(out.join("runs/2-2/seed-1/rounds.csv")).unwrap()
}

#[test]
fn churn_gives_the_same_bytes_with_any_number_of_threads_and_after_kills() {
    let dir = tempfile::tempdir().unwrap();
    let one = rounds(&dir.path().join("one"), KEYS, &["--threads", "1"]);
    assert!(one.starts_with("round,agent,tick,participations,"), "{one}");
    assert_eq!(
        one,
        rounds(&dir.path().join("two"), KEYS, &["--threads", "2"])
    );
    let killed = dir.path().join("killed");
    for wait in [350, 500, 650, 800, 950] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("sapo"));
        child
            .current_dir(crate::program::root())
            .args(command(&killed, KEYS, &[]));
        child.stdout(std::process::Stdio::null());
        let mut child = child.stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(one, rounds(&killed, KEYS, &[]));
}

#[test]
fn models_by_an_even_clock_learn_what_they_learn_in_lock_step() {
    let dir = tempfile::tempdir().unwrap();
    let lock_step = rounds(&dir.path().join("a"), "seeds=[1]", &[]);
    let by_clock = rounds(
        &dir.path().join("b"),
        "swarm.clock={ticks=3,staleness=3}",
        &[],
    );
    let without = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        cells.drain(2..4);
        cells.join(",")
    };
    let by_clock: Vec<String> = by_clock.lines().map(without).collect();
    assert_eq!(lock_step.lines().collect::<Vec<_>>(), by_clock);
}

#[test]
fn clocks_that_cannot_be_are_named() {
    let check = |clock: &str, words: &[&str]| {
        fails(&["check", "experiments/smoke.toml", "--set", clock], words);
    };
    check("swarm.clock={ticks=4}", &["staleness"]);
    check(
        "swarm.clock={ticks=0,staleness=1}",
        &["swarm.clock.ticks: found 0"],
    );
    check(
        "swarm.clock={ticks=1,staleness=1,speed=2}",
        &["speed", "slowest"],
    );
    check(
        "swarm.clock={ticks=1,staleness=1,returns=\"never\"}",
        &["never", "checkpoint"],
    );
}

#[test]
fn a_judge_asks_all_agents_that_have_a_turn_the_same() {
    let judged = SwarmConfig {
        judge: true,
        ..clocked(VirtualClock {
            slowest: 3.0,
            ..CLOCK
        })
    };
    let (records, _) = run(&[1.0, 0.0, 1.0, 0.0], judged, 12, 2);
    for record in records {
        let expected = record.tick.map(|_| f64::from(1 - record.agent % 2));
        assert_eq!(record.judge_reward, expected);
    }
}

/// A run of agents that the judge gave these rewards, a row a round; blank where an agent was away.
fn add_judged(dir: &Path, arm: &str, rounds: &[&[Option<f64>]]) {
    let mut text =
        "round,agent,own_reward,train_reward,eval_reward,judge_reward,completions\n".to_owned();
    for (round, agents) in (1..).zip(rounds) {
        for (agent, reward) in agents.iter().enumerate() {
            let cell = reward.map_or(String::new(), |reward| reward.to_string());
            text += &format!("{round},{agent},0.1,0.1,,{cell},8\n");
        }
    }
    let run = dir.join(format!("runs/{arm}/seed-1"));
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("rounds.csv"), text).unwrap();
}

#[test]
fn cumulative_rewards_are_of_survivors_of_all_and_of_a_cohort() {
    let dir = tempfile::tempdir().unwrap();
    let (one, nothing, away) = (Some(1.0), Some(0.0), None);
    add_judged(
        dir.path(),
        "alone",
        &[&[nothing, one], &[nothing, nothing], &[nothing, nothing]],
    );
    // the third comes once, the second skips a round: it has come to two normalized rounds
    add_judged(
        dir.path(),
        "swarm",
        &[&[one, one, nothing], &[one, away, away], &[one, one, away]],
    );
    let arms =
        "arm,local,external,baseline,sweep_key,sweep_value\nalone,4,0,,,\nswarm,2,2,alone,,\n";
    fs::write(dir.path().join("arms.csv"), arms).unwrap();
    sapo::report::write(dir.path()).unwrap();
    let text = fs::read_to_string(dir.path().join("open-swarm.md")).unwrap();
    assert!(text.contains("up to 3 normalized rounds"), "{text}");
    assert!(
        text.contains("| alone | 2 | 2 | 0.50 | 0.50 | 0.50 |"),
        "{text}"
    );
    // survivors and cohort: the first alone; all: 3, 2 and 0
    assert!(
        text.contains("| swarm | 3 | 1 | 3.00 | 1.67 | 3.00 |"),
        "{text}"
    );
    assert!(
        text.contains("| swarm | alone | never | never | never | never |"),
        "{text}"
    );
    assert!(dir.path().join("open-swarm.png").exists());
}
