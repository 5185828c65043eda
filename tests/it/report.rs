//! Tables and pictures from made-up `rounds.csv` files: what they say, and what is said of bad files.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use sapo::record::RoundRecord;
use tempfile::TempDir;

const HEADER: &str = "round,agent,own_reward,train_reward,eval_reward,completions,reward_bf,reward_arc_1d\n";

/// Writes one run as the swarm does. `rounds` holds the own reward of the two agents in each round; the
/// training set pays 0.1 more with external rollouts, and evaluations (first and last round) pay as the own ones.
fn add_run(dir: &Path, (local, external): (usize, usize), seed: u64, rounds: &[[f64; 2]]) {
    let tasks = ["bf", "arc_1d"].map(str::to_owned);
    let mut lines = Vec::new();
    for (at, agents) in rounds.iter().enumerate() {
        for (agent, own) in agents.iter().enumerate() {
            let record = RoundRecord {
                round: at as u32 + 1,
                agent: agent as u16,
                own_reward: Some(*own),
                train_reward: Some(if external > 0 { own + 0.1 } else { *own }),
                eval_reward: (at == 0 || at + 1 == rounds.len()).then_some(*own),
                completions: 8 * local,
                task_rewards: vec![Some(*own), None],
                ..Default::default()
            };
            let (names, cells): (Vec<_>, Vec<_>) = record.cells(&tasks).into_iter().unzip();
            if lines.is_empty() {
                lines.push(names.join(","));
            }
            lines.push(cells.join(","));
        }
    }
    add_file(dir, &format!("{local}-{external}/seed-{seed}"), &(lines.join("\n") + "\n"));
}

fn add_file(dir: &Path, run: &str, text: &str) {
    let dir = dir.join("runs").join(run);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("rounds.csv"), text).unwrap();
}

/// Two mixes, two seeds, two agents, three rounds.
fn small() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    add_run(dir.path(), (8, 0), 1, &[[0.0, 0.2], [0.2, 0.2], [0.2, 0.4]]);
    add_run(dir.path(), (8, 0), 2, &[[0.0, 0.2], [0.2, 0.2], [0.2, 0.6]]);
    add_run(dir.path(), (4, 4), 1, &[[0.0, 0.2], [0.4, 0.4], [0.4, 0.6]]);
    add_run(dir.path(), (4, 4), 2, &[[0.0, 0.2], [0.4, 0.4], [0.6, 0.6]]);
    dir
}

#[test]
fn table_of_two_mixes_and_two_seeds() {
    let dir = small();
    sapo::report::write(dir.path()).unwrap();
    insta::assert_snapshot!(fs::read_to_string(dir.path().join("table.md")).unwrap(), @r"
    # Results

    2 mixes (local / external rollouts), 2 seeds, 2 agents, 3 rounds.

    **Cumulative reward** (all agents, all rounds)

    | mix | own reward | training set | held-out | paper |
    |---|--:|--:|--:|--:|
    | 8 / 0 | 1.30 ± 1.27 | 1.30 ± 1.27 | 1.35 ± 1.91 | 561.79 |
    | 4 / 4 | 2.10 ± 1.27 | 2.70 ± 1.27 | 1.95 ± 1.91 | 1093.31 |

    **Gain over 8 / 0**

    | mix | own reward | training set | held-out | paper |
    |---|--:|--:|--:|--:|
    | 8 / 0 | – | – | – | – |
    | 4 / 4 | +61.9 ± 60.5 % | +108.3 ± 105.9 % | +45.0 ± 63.5 % | +94.6 % |

    **Mean reward per agent-round**

    | mix | own reward | training set | held-out | paper |
    |---|--:|--:|--:|--:|
    | 8 / 0 | 0.2167 ± 0.2118 | 0.2167 ± 0.2118 | 0.2250 ± 0.3177 | 0.0351 |
    | 4 / 4 | 0.3500 ± 0.2118 | 0.4500 ± 0.2118 | 0.3250 ± 0.3177 | 0.0683 |

    **Details**

    | mix | seeds | own reward, start | own reward, final | completions a run |
    |---|--:|--:|--:|--:|
    | 8 / 0 | 2 | 0.1000 ± 0.0000 | 0.3500 ± 0.6353 | 384 |
    | 4 / 4 | 2 | 0.1000 ± 0.0000 | 0.5500 ± 0.6353 | 192 |

    - ± is the 95 % interval over seeds (Student t).
    - *Own reward*: of the completions that an agent generated. *Training set*: of the own and external rollouts it trained on. *Held-out*: on questions never trained on; between evaluations it is taken to go in a straight line.
    - *Paper*: 8 agents and 2000 rounds, so compare gains and means rather than sums. It does not say which reward it sums; its public code logs that of the training set, which rises with the external share by selection alone, before anything is learned. Read it beside *training set*; what was learned shows in the other two.
    - *Start* and *final*: mean over the first tenth (ten rounds at most) and the last tenth of the rounds.
    - *Gain*: over the 8 / 0 run of the same seed, in the rounds that both have, then the mean over seeds.
    ");
    insta::assert_snapshot!(fs::read_to_string(dir.path().join("table.csv")).unwrap(), @r"
    local,external,seeds,agents,rounds,unfinished,own_cumulative,own_cumulative_interval,train_cumulative,train_cumulative_interval,eval_cumulative,eval_cumulative_interval,own_gain_percent,own_gain_percent_interval,train_gain_percent,train_gain_percent_interval,eval_gain_percent,eval_gain_percent_interval,own_mean,own_mean_interval,train_mean,train_mean_interval,eval_mean,eval_mean_interval,start_own_reward,start_own_reward_interval,final_own_reward,final_own_reward_interval,completions,paper_cumulative,paper_gain_percent,paper_mean
    8,0,2,2,3,false,1.3,1.27062,1.3,1.27062,1.35,1.905931,,,,,,,0.216667,0.21177,0.216667,0.21177,0.225,0.317655,0.1,0,0.35,0.63531,384,561.79,,0.035112
    4,4,2,2,3,false,2.1,1.270621,2.7,1.27062,1.95,1.905931,61.904762,60.505738,108.333333,105.885042,45,63.531025,0.35,0.21177,0.45,0.21177,0.325,0.317655,0.1,0,0.55,0.63531,192,1093.31,94.611866,0.068332
    ");
}

#[test]
fn table_at_the_console() {
    insta::assert_snapshot!(sapo::report::write(small().path()).unwrap().console(), @r"
    2 mixes (local / external rollouts), 2 seeds, 2 agents, 3 rounds.
    ┌───────┬───────┬────────────────┬──────────────────┬────────────────┬─────────┐
    │ mix   ┆ seeds ┆ own reward     ┆ training set     ┆ held-out       ┆ paper   │
    ╞═══════╪═══════╪════════════════╪══════════════════╪════════════════╪═════════╡
    │ 8 / 0 ┆     2 ┆    1.30 ± 1.27 ┆      1.30 ± 1.27 ┆    1.35 ± 1.91 ┆  561.79 │
    │       ┆       ┆              – ┆                – ┆              – ┆       – │
    │ 4 / 4 ┆     2 ┆    2.10 ± 1.27 ┆      2.70 ± 1.27 ┆    1.95 ± 1.91 ┆ 1093.31 │
    │       ┆       ┆ +61.9 ± 60.5 % ┆ +108.3 ± 105.9 % ┆ +45.0 ± 63.5 % ┆ +94.6 % │
    └───────┴───────┴────────────────┴──────────────────┴────────────────┴─────────┘
    Cumulative reward and, below it, the gain over 8 / 0. ± is the 95 % interval over seeds (Student t).
    ");
}

#[test]
fn unfinished_runs_are_marked() {
    let dir = small();
    add_run(dir.path(), (2, 6), 2, &[[0.2, 0.2], [0.3, 0.3]]);
    let console = sapo::report::write(dir.path()).unwrap().console();
    assert!(console.contains("2 / 6: unfinished (2 of 3 rounds, 1 of 2 seeds)"), "{console}");
    let table = fs::read_to_string(dir.path().join("table.md")).unwrap();
    assert!(
        table.contains("| 2 / 6, unfinished (2 of 3 rounds, 1 of 2 seeds) | 1.00 | 1.40 | 1.00 | 945.87 |"),
        "{table}"
    );
    assert!(table.contains("A single seed has no error bar."), "{table}");
}

/// Width and height as the header of a PNG gives them.
fn png_size(path: &Path) -> (u32, u32) {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{}", path.display());
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn pictures_are_wide_enough_and_repeat_to_the_byte() {
    let dir = small();
    let pictures = ["cumulative.png", "smoothed.png", "raw.png", "tasks.png"].map(|name| dir.path().join(name));
    sapo::report::write(dir.path()).unwrap();
    for path in &pictures {
        let (width, height) = png_size(path);
        assert!(width >= 1200 && height >= 600, "{}: {width} x {height}", path.display());
    }
    let before = pictures.each_ref().map(|path| fs::read(path).unwrap());
    sapo::report::write(dir.path()).unwrap();
    assert!(before == pictures.each_ref().map(|path| fs::read(path).unwrap()));
    let entries = fs::read_dir(dir.path()).unwrap();
    assert_eq!(entries.count(), 7, "the folder of runs, two tables, four pictures, and nothing left over");
}

#[test]
fn the_least_there_can_be_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let text = "round,agent,own_reward,train_reward,eval_reward,completions\n1,0,,,,0\n";
    add_file(dir.path(), "0-3/seed-7", text);
    let console = sapo::report::write(dir.path()).unwrap().console();
    assert!(console.starts_with("1 mix (local / external rollouts), 1 seed, 1 agent, 1 round."), "{console}");
}

#[test]
fn every_number_of_mixes_has_its_panels() {
    for mixes in [3, 5, 8] {
        let dir = tempfile::tempdir().unwrap();
        for external in 0..mixes {
            add_run(dir.path(), (8 - external, external), 1, &[[0.1, 0.2], [0.3, -0.4]]);
        }
        sapo::report::write(dir.path()).unwrap();
        assert!(png_size(&dir.path().join("raw.png")).1 >= 600);
    }
}

fn check_error(dir: &Path, expected: &str) {
    let error = format!("{:#}", sapo::report::write(dir).unwrap_err());
    let error = error.replace(&dir.display().to_string(), "DIR");
    assert!(error.starts_with(expected), "{error}");
    assert!(!dir.join("table.md").exists());
}

#[test]
fn errors_say_where_and_what() {
    let dir = tempfile::tempdir().unwrap();
    check_error(dir.path(), "no runs: expected DIR/runs/<local>-<external>/seed-<s>/rounds.csv");
    add_file(dir.path(), "8-0/seed-1", HEADER);
    check_error(dir.path(), "no runs: found no round in any DIR/runs/<local>-<external>/seed-<s>/rounds.csv");
    add_file(dir.path(), "8-0/seed-1", &format!("{HEADER}1,0,0.1,0.1,,64,0.1,\n1,1,0.1,0.1,x,64,0.1,\n"));
    check_error(
        dir.path(),
        "in DIR/runs/8-0/seed-1/rounds.csv: line 3, column `eval_reward`: expected a number or a blank, found `x`",
    );
    add_file(dir.path(), "8-0/seed-1", "round,agent,own_reward,train_reward,completions\n1,0,0.1,0.1,64\n");
    check_error(
        dir.path(),
        "in DIR/runs/8-0/seed-1/rounds.csv: line 1: expected a column `eval_reward`, found round, agent, own_reward",
    );
    add_file(dir.path(), "8-0/seed-1", &format!("{HEADER}1,0,0.1\n"));
    check_error(dir.path(), "in DIR/runs/8-0/seed-1/rounds.csv: line 2: expected 8 cells, found 3");
}
