//! Tables and pictures from made-up `rounds.csv` files: what they say, and what is said of bad files.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use sapo::swarm::{Columns, RoundRecord};
use tempfile::TempDir;

const HEADER: &str =
    "round,agent,own_reward,train_reward,eval_reward,completions,reward_bf,reward_arc_1d\n";

/// Writes one run as the swarm does. `rounds` holds the own reward of the two agents in each round; the
/// training set pays 0.1 more with external rollouts, and evaluations (first and last round) pay as the own ones.
fn add_run(dir: &Path, (local, external): (usize, usize), seed: u64, rounds: &[[f64; 2]]) {
    let columns = Columns::new(
        ["bf", "arc_1d"].map(str::to_owned).into(),
        &crate::swarm::config(local, external),
    );
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
            let (names, cells): (Vec<_>, Vec<_>) = record.cells(&columns).into_iter().unzip();
            if lines.is_empty() {
                lines.push(names.join(","));
            }
            lines.push(cells.join(","));
        }
    }
    add_file(
        dir,
        &format!("{local}-{external}/seed-{seed}"),
        &(lines.join("\n") + "\n"),
    );
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

    2 arms (local / external rollouts), 2 seeds, 2 agents, 3 rounds.

    **Cumulative reward** (all agents, all rounds)

    | arm | own reward | training set | held-out | paper |
    |---|--:|--:|--:|--:|
    | 8 / 0 | 1.30 [0.03, 2.57] | 1.30 [0.03, 2.57] | 1.35 [-0.56, 3.26] | 561.79 |
    | 4 / 4 | 2.10 [0.83, 3.37] | 2.70 [1.43, 3.97] | 1.95 [0.04, 3.86] | 1093.31 |

    **Gain over 8 / 0**

    | arm | own reward | training set | held-out | paper |
    |---|--:|--:|--:|--:|
    | 8 / 0 | – | – | – | – |
    | 4 / 4 | +61.9 % [+1.4, +122.4] | +108.3 % [+2.4, +214.2] | +45.0 % [-18.5, +108.5] | +94.6 % |

    **Mean reward per agent-round**

    | arm | own reward | training set | held-out | paper |
    |---|--:|--:|--:|--:|
    | 8 / 0 | 0.2167 [0.0049, 0.4284] | 0.2167 [0.0049, 0.4284] | 0.2250 [-0.0927, 0.5427] | 0.0351 |
    | 4 / 4 | 0.3500 [0.1382, 0.5618] | 0.4500 [0.2382, 0.6618] | 0.3250 [0.0073, 0.6427] | 0.0683 |

    **Last evaluation, and each arm against its baseline**

    | arm | held-out, last | p: own reward | p: training set | p: held-out | p: held-out, last |
    |---|--:|--:|--:|--:|--:|
    | 8 / 0 | 0.3500 [-0.2853, 0.9853] | – | – | – | – |
    | 4 / 4 | 0.5500 [-0.0853, 1.1853] | – | – | – | – |

    **Swings**

    | arm | own reward: oscillation | own reward: largest drop | own reward: peak | training set: oscillation | training set: largest drop | training set: peak |
    |---|--:|--:|--:|--:|--:|--:|
    | 8 / 0 | – | 0.000 [0.000, 0.000] | 0.500 [-0.771, 1.771] | – | 0.000 [0.000, 0.000] | 0.500 [-0.771, 1.771] |
    | 4 / 4 | – | 0.000 [0.000, 0.000] | 0.600 [0.600, 0.600] | – | 0.000 [0.000, 0.000] | 0.700 [0.700, 0.700] |

    **Details**

    | arm | seeds | own reward, start | own reward, final | completions per run | steps of an agent | steps with a signal | in tags, final | right of those, final |
    |---|--:|--:|--:|--:|--:|--:|--:|--:|
    | 8 / 0 | 2 | 0.1000 [0.1000, 0.1000] | 0.3500 [-0.2853, 0.9853] | 384 | 0.0 | 0.0 | – | – |
    | 4 / 4 | 2 | 0.1000 [0.1000, 0.1000] | 0.5500 [-0.0853, 1.1853] | 192 | 0.0 | 0.0 | – | – |

    - In brackets: the 95 % interval of Student's t over seeds.
    - *Own reward*: of the completions that an agent generated. *Training set*: of the own and external rollouts it trained on. *Held-out*: on questions never trained on; between evaluations it is taken to go in a straight line.
    - *Paper*: 8 agents and 2000 rounds, so compare gains and means rather than sums. It does not say which reward it sums; its public code logs that of the training set, which rises with the external share by selection alone, before anything is learned. Read it beside *training set*. What was learned shows in own reward, and what of it carries over to new questions in held-out.
    - *Start* and *final*: mean over the first tenth (ten rounds at most) and the last tenth of the rounds. *Held-out, last*: the last evaluation.
    - *Steps with a signal*: those in which some completion had an advantage; in the others momentum alone moved the weights, where the experiment lets it. *In tags*: share of own completions with an answer in tags, the form without which nothing is right.
    - *p*: two-sided paired t test over seeds against the arm's baseline, Holm's correction over the arms with that baseline.
    - *Oscillation*: standard deviation of the mean over agents, smoothed as in the pictures, around its trend, a parabola over five times that window, after the first quarter of the rounds. *Largest drop*: of the same curve from a peak to a later trough, all rounds. *Peak*: highest reward of one agent in one round.
    - *Gain*: over the 8 / 0 run of the same seed, in the rounds that both have, then the mean over seeds.
    ");
    insta::assert_snapshot!(fs::read_to_string(dir.path().join("table.csv")).unwrap(), @r"
    arm,local,external,seeds,agents,rounds,unfinished,own_cumulative,own_cumulative_low,own_cumulative_high,train_cumulative,train_cumulative_low,train_cumulative_high,eval_cumulative,eval_cumulative_low,eval_cumulative_high,own_gain_percent,own_gain_percent_low,own_gain_percent_high,train_gain_percent,train_gain_percent_low,train_gain_percent_high,eval_gain_percent,eval_gain_percent_low,eval_gain_percent_high,own_mean,own_mean_low,own_mean_high,train_mean,train_mean_low,train_mean_high,eval_mean,eval_mean_low,eval_mean_high,start_own_reward,start_own_reward_low,start_own_reward_high,final_own_reward,final_own_reward_low,final_own_reward_high,final_held_out,final_held_out_low,final_held_out_high,own_oscillation,own_oscillation_low,own_oscillation_high,own_largest_drop,own_largest_drop_low,own_largest_drop_high,own_peak,own_peak_low,own_peak_high,train_oscillation,train_oscillation_low,train_oscillation_high,train_largest_drop,train_largest_drop_low,train_largest_drop_high,train_peak,train_peak_low,train_peak_high,steps,steps_low,steps_high,steps_with_signal,steps_with_signal_low,steps_with_signal_high,final_tagged,final_tagged_low,final_tagged_high,final_right_in_tags,final_right_in_tags_low,final_right_in_tags_high,own_p,train_p,eval_p,final_held_out_p,completions,paper_cumulative,paper_gain_percent,paper_mean,baseline
    8-0,8,0,2,2,3,false,1.3,0.02938,2.57062,1.3,0.02938,2.57062,1.35,-0.555931,3.255931,,,,,,,,,,0.216667,0.004897,0.428437,0.216667,0.004897,0.428437,0.225,-0.092655,0.542655,0.1,0.1,0.1,0.35,-0.28531,0.98531,0.35,-0.28531,0.98531,,,,0,0,0,0.5,-0.77062,1.77062,,,,0,0,0,0.5,-0.77062,1.77062,0,0,0,0,0,0,,,,,,,,,,,384,561.79,,0.035112,
    4-4,4,4,2,2,3,false,2.1,0.82938,3.37062,2.7,1.42938,3.97062,1.95,0.044069,3.855931,61.904762,1.399025,122.410499,108.333333,2.448294,214.218373,45,-18.531024,108.531024,0.35,0.13823,0.56177,0.45,0.23823,0.66177,0.325,0.007345,0.642655,0.1,0.1,0.1,0.55,-0.08531,1.18531,0.55,-0.08531,1.18531,,,,0,0,0,0.6,0.6,0.6,,,,0,0,0,0.7,0.7,0.7,0,0,0,0,0,0,,,,,,,,,,,192,1093.31,94.611866,0.068332,8-0
    ");
}

#[test]
fn table_at_the_console() {
    insta::assert_snapshot!(sapo::report::write(small().path()).unwrap().console(), @r"
    2 arms (local / external rollouts), 2 seeds, 2 agents, 3 rounds.
    ┌───────┬───────┬────────────────────────┬─────────────────────────┬─────────────────────────┬─────────┐
    │ arm   ┆ seeds ┆ own reward             ┆ training set            ┆ held-out                ┆ paper   │
    ╞═══════╪═══════╪════════════════════════╪═════════════════════════╪═════════════════════════╪═════════╡
    │ 8 / 0 ┆     2 ┆      1.30 [0.03, 2.57] ┆       1.30 [0.03, 2.57] ┆      1.35 [-0.56, 3.26] ┆  561.79 │
    │       ┆       ┆                      – ┆                       – ┆                       – ┆       – │
    │ 4 / 4 ┆     2 ┆      2.10 [0.83, 3.37] ┆       2.70 [1.43, 3.97] ┆       1.95 [0.04, 3.86] ┆ 1093.31 │
    │       ┆       ┆ +61.9 % [+1.4, +122.4] ┆ +108.3 % [+2.4, +214.2] ┆ +45.0 % [-18.5, +108.5] ┆ +94.6 % │
    └───────┴───────┴────────────────────────┴─────────────────────────┴─────────────────────────┴─────────┘
    Cumulative reward and, below it, the gain over 8 / 0. In brackets: the 95 % interval of Student's t over seeds.
    ");
}

#[test]
fn unfinished_runs_are_marked() {
    let dir = small();
    add_run(dir.path(), (2, 6), 2, &[[0.2, 0.2], [0.3, 0.3]]);
    let console = sapo::report::write(dir.path()).unwrap().console();
    assert!(
        console.contains("2 / 6: unfinished (2 of 3 rounds, 1 of 2 seeds)"),
        "{console}"
    );
    let table = fs::read_to_string(dir.path().join("table.md")).unwrap();
    assert!(
        table.contains(
            "| 2 / 6, unfinished (2 of 3 rounds, 1 of 2 seeds) | 1.00 | 1.40 | 1.00 | 945.87 |"
        ),
        "{table}"
    );
    assert!(table.contains("A single seed has no interval."), "{table}");
}

#[test]
fn claims_of_four_mixes_in_which_sharing_helps_and_then_hurts() {
    let dir = tempfile::tempdir().unwrap();
    for (external, gained) in [(0, 0.1), (2, 0.2), (4, 0.3), (6, 0.25)] {
        for seed in 1..=3 {
            let noise = 0.001 * f64::from(seed);
            let rounds: Vec<[f64; 2]> = (0..12)
                .map(|round| [gained * f64::from(round) / 12.0 + noise; 2])
                .collect();
            add_run(dir.path(), (8 - external, external), seed as u64, &rounds);
        }
    }
    sapo::report::write(dir.path()).unwrap();
    let claims = fs::read_to_string(dir.path().join("claims.md")).unwrap();
    let verdicts = |claim: &str| {
        let rows = claims
            .split(claim)
            .nth(1)
            .unwrap()
            .split("**\n")
            .nth(1)
            .unwrap();
        rows.lines()
            .take_while(|line| !line.starts_with("**"))
            .filter(|line| line.contains(" reward |"))
            .collect::<String>()
    };
    assert!(
        verdicts("4 / 4 gathers the most").contains("| holds; no control to compare with |"),
        "{claims}"
    );
    assert!(
        verdicts("4 / 4 gathers 94.6 % more").contains("more | **does not hold**"),
        "{claims}"
    );
    assert!(
        verdicts("2 / 6 gathers less").contains("| holds;"),
        "{claims}"
    );
    assert!(
        verdicts("A reward for the form").contains("| holds;"),
        "{claims}"
    );
    let budgets = fs::read_to_string(dir.path().join("budgets.md")).unwrap();
    assert!(
        budgets.contains("Equal completions generated: 384 completions")
            && budgets.contains("| 8 / 0 | 3 |"),
        "{budgets}"
    );
    assert!(
        !dir.path().join("timings.md").exists(),
        "nobody measured time"
    );
}

const ARMS: &str = "arm,local,external,baseline,sweep_key,sweep_value\n";

/// Writes a run of the arm with that name whose agents have the own reward `own` in both rounds.
fn add_even(dir: &Path, arm: &str, seed: u64, own: f64) {
    let text: String = (1..=2)
        .flat_map(|round| {
            (0..2).map(move |agent| format!("{round},{agent},{own},{own},{own},8,,\n"))
        })
        .collect();
    add_file(
        dir,
        &format!("{arm}/seed-{seed}"),
        &format!("{HEADER}{text}"),
    );
}

#[test]
fn a_sweep_is_compared_value_by_value() {
    let dir = tempfile::tempdir().unwrap();
    for (value, own) in [("1e-3", 0.2), ("3e-5", 0.4)] {
        for (mix, factor) in [("8-0", 1.0), ("4-4", 1.5)] {
            for (seed, more) in [(1, 0.0), (2, 0.1)] {
                let arm = format!("{mix},rate={value}");
                add_even(dir.path(), &arm, seed, factor * (own + more));
            }
        }
    }
    let line = |mix: &str, value: &str, baseline: &str| {
        let counts = mix.replace('-', ",");
        format!("\"{mix},rate={value}\",{counts},{baseline},train.rate,{value}\n")
    };
    let mut arms = ARMS.to_owned();
    for value in ["3e-5", "1e-3", "9"] {
        arms += &line("8-0", value, "");
        arms += &line("4-4", value, &format!("\"8-0,rate={value}\""));
    }
    fs::write(dir.path().join("arms.csv"), arms).unwrap();
    let console = sapo::report::write(dir.path()).unwrap().console();
    let sweep = fs::read_to_string(dir.path().join("sweep.md")).unwrap();
    assert_eq!(console, sweep);
    assert!(sweep.starts_with("# Sweep: train.rate"), "{sweep}");
    let rows: Vec<&str> = sweep
        .lines()
        .filter(|line| line.contains(" | 2 | "))
        .collect();
    for (row, start) in rows.iter().zip([
        "| 3e-5 | 8 / 0 | 2 | 0.4500 [-0.1853, 1.0853] |",
        "| 3e-5 | 4 / 4 | 2 | 0.6750 [-0.2780, 1.6280] |",
        "| 1e-3 | 8 / 0 | 2 | 0.2500 [-0.3853, 0.8853] |",
        "| 1e-3 | 4 / 4 | 2 | 0.3750 [-0.5780, 1.3280] |",
    ]) {
        assert!(row.starts_with(start), "{sweep}");
    }
    assert!(rows.len() == 4 && !sweep.contains("| 9 |"), "{sweep}");
    assert!(png_size(&dir.path().join("sweep.png")).0 >= 1200);
    // each value has its own baseline, and the paper ran none of these
    let table = fs::read_to_string(dir.path().join("table.md")).unwrap();
    let gains = table
        .split("**Gain over the arm's baseline**")
        .nth(1)
        .unwrap();
    let gain = gains
        .lines()
        .find(|line| line.starts_with("| 4 / 4, rate=1e-3"))
        .unwrap();
    assert_eq!(
        gain,
        "| 4 / 4, rate=1e-3 | +50.0 % [+50.0, +50.0] | +50.0 % [+50.0, +50.0] | +50.0 % [+50.0, +50.0] |"
    );
    assert!(
        !table.contains("paper") && !table.contains("unfinished"),
        "{table}"
    );
    let budgets = fs::read_to_string(dir.path().join("budgets.md")).unwrap();
    assert!(
        budgets.contains("**rate=1e-3. Equal completions"),
        "{budgets}"
    );
}

/// What is swept are base models: their spread counts, not that of seeds.
#[test]
fn base_models_are_a_random_effect() {
    let dir = tempfile::tempdir().unwrap();
    let mut arms = ARMS.to_owned();
    for (base, gain) in [("a", 1.2), ("b", 1.4)] {
        let name = |mix: &str| format!("{mix},path={base}");
        for seed in [1, 2] {
            add_even(dir.path(), &name("8-0"), seed, 0.1 * seed as f64);
            add_even(dir.path(), &name("4-4"), seed, gain * 0.1 * seed as f64);
        }
        arms += &format!("\"{}\",8,0,,model.path,{base}\n", name("8-0"));
        let baseline = name("8-0");
        arms += &format!("\"{}\",4,4,\"{baseline}\",model.path,{base}\n", name("4-4"));
    }
    fs::write(dir.path().join("arms.csv"), arms).unwrap();
    sapo::report::write(dir.path()).unwrap();
    let sweep = fs::read_to_string(dir.path().join("sweep.md")).unwrap();
    // gains of 20 and 40 %: standard error 10, t = 12.706 with one degree of freedom
    assert!(
        sweep.contains("| 4 / 4 | 2 |") && sweep.contains("+30.0 % [-97.1, +157.1]"),
        "{sweep}"
    );
}

#[test]
fn controls_say_what_is_equal_and_what_the_draw_alone_gives() {
    let dir = tempfile::tempdir().unwrap();
    let header = "round,agents,own_reward,train_reward,eval_reward,completions,steps,steps_without_signal,\
                  tagged_frac,right_in_tags_frac,shadow_4-4_nonzero-advantage,shadow_4-4_nonzero-advantage_groups\n";
    // 8-0 has a signal in every other round; per step with a signal both learn alike
    for seed in 1..=3 {
        let noise = 0.0001 * seed as f64;
        for (arm, completions, period) in [("8-0", 64, 2), ("4-4", 32, 1), ("self-replay", 32, 4)] {
            let mut text = header.to_owned();
            for round in 1..=40 {
                let silent = usize::from(round % period != 0);
                let own = 0.01 * f64::from((round - 1) / period) + noise;
                let shadow = 1.5 * own;
                text += &format!(
                    "{round},8,{own},{own},{own},{completions},1,{silent},0.5,0.5,{shadow},8\n"
                );
            }
            let run = dir.path().join(format!("runs/{arm}/seed-{seed}"));
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join("means.csv"), text).unwrap();
        }
    }
    let arms = "arm,local,external,baseline,sweep_key,sweep_value,learning_rate,tuned,draw_from,replay_rounds,model\n\
                8-0,8,0,,,,3e-4,train.learning_rate,others,0,m\n\
                4-4,4,4,8-0,,,3e-4,train.learning_rate,others,0,m\n\
                self-replay,4,4,8-0,,,3e-4,train.learning_rate,self,7,m\n";
    fs::write(dir.path().join("arms.csv"), arms).unwrap();
    sapo::report::write(dir.path()).unwrap();
    let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    let claims = text("claims.md");
    for wanted in [
        "Horizon: 40 rounds. Step size: 3e-4 (8 / 0, tuned); 3e-4 (4 / 4, tuned)",
        "**Sharing gathers more than replaying one's own past**",
        "| 4 / 4 over self-replay, own reward |",
        "| 4 / 4 over 8 / 0, held-out then |",
        "| 4 / 4, nonzero-advantage, of what was drawn | +50.0 % [+50.0, +50.0]; the paper prints +94.6 % | **does not hold** |",
    ] {
        assert!(claims.contains(wanted), "{wanted}: {claims}");
    }
    // by steps with a signal both learn alike
    assert!(
        claims.contains("| 4 / 4 over 8 / 0, own reward | +0.0 % [+0.0, +0.0] | undecided |"),
        "{claims}"
    );
    assert!(
        text("horizons.md").contains("| 4 / 4 | 3 of 3 | 21.0 [21.0, 21.0] | 5120 [5120, 5120] |")
    );
    assert!(text("selection-only.md").contains("| 4 / 4, nonzero-advantage | +50.0 %"));
    assert!(
        text("table.md").contains("| 8 / 0 | 3 |") && text("table.md").contains("| 40.0 | 20.0 |")
    );
    for name in ["costs.png", "form.png", "selection-only.png"] {
        assert!(png_size(&dir.path().join(name)).0 >= 1200, "{name}");
    }

    // beside a control that never learns, what holds there too is said to show nothing
    let control = dir.path().join("control");
    fs::create_dir_all(&control).unwrap();
    let sibling = dir.path().join("results");
    fs::create_dir_all(&sibling).unwrap();
    for folder in [&control, &sibling] {
        for run in folders(&dir.path().join("runs"))
            .iter()
            .flat_map(|arm| folders(arm))
        {
            let copy = folder.join(run.strip_prefix(dir.path()).unwrap());
            fs::create_dir_all(&copy).unwrap();
            fs::copy(run.join("means.csv"), copy.join("means.csv")).unwrap();
        }
    }
    fs::write(sibling.join("arms.csv"), arms).unwrap();
    fs::write(control.join("arms.csv"), arms.replace("3e-4", "0")).unwrap();
    sapo::report::write(&sibling).unwrap();
    let claims = fs::read_to_string(sibling.join("claims.md")).unwrap();
    let row = claims
        .lines()
        .find(|line| line.contains("4 / 4 over self-replay, own reward"));
    let row = row.unwrap();
    assert!(
        row.ends_with("| holds, and in the control too: shows nothing about learning |"),
        "{row}"
    );
}

#[test]
fn arms_come_in_the_order_and_against_the_baseline_of_their_file() {
    let dir = tempfile::tempdir().unwrap();
    for (arm, own) in [("frozen", 0.2), ("4-4", 0.4), ("8-0", 0.5), ("later", 0.3)] {
        add_even(dir.path(), arm, 1, own);
    }
    let lines = "4-4,4,4,frozen,,\nfrozen,8,0,,,\nnever,8,0,frozen,,\n8-0,8,0,frozen,,\n";
    fs::write(dir.path().join("arms.csv"), format!("{ARMS}{lines}")).unwrap();
    sapo::report::write(dir.path()).unwrap();
    let csv = fs::read_to_string(dir.path().join("table.csv")).unwrap();
    let column = |name: &str| -> Vec<String> {
        let at = csv
            .lines()
            .next()
            .unwrap()
            .split(',')
            .position(|column| column == name);
        let cells = csv
            .lines()
            .skip(1)
            .map(|line| line.split(',').nth(at.unwrap()).unwrap());
        cells.map(str::to_owned).collect()
    };
    assert_eq!(column("arm"), ["4-4", "frozen", "8-0", "later"]);
    assert_eq!(column("local"), ["4", "8", "8", ""]);
    assert_eq!(column("own_gain_percent"), ["100", "", "150", ""]);
    assert_eq!(column("baseline"), ["frozen", "", "frozen", ""]);
    let table = fs::read_to_string(dir.path().join("table.md")).unwrap();
    assert!(table.contains("**Gain over frozen**"), "{table}");
    assert!(!dir.path().join("sweep.md").exists());
    fs::write(
        dir.path().join("arms.csv"),
        format!("{ARMS}4-4,4,4,lost,,\n"),
    )
    .unwrap();
    let error = format!("{:#}", sapo::report::write(dir.path()).unwrap_err());
    assert!(
        error.ends_with("arms.csv: arm `4-4`: expected another arm as its baseline, found `lost`"),
        "{error}"
    );
}

/// Rounds of kept rollouts that were compressed are on the page as those are that were not yet.
#[test]
fn the_page_shows_rollouts_from_compressed_files_too() {
    let dir = small();
    let run = dir.path().join("runs/4-4/seed-1");
    let line = |round: u32, question: &str| {
        format!(
            "{{\"round\":{round},\"agent\":0,\"index\":0,\"task\":\"bf\",\"question\":\"{question}\",\"answer\":null,\
             \"completions\":[\"x\"],\"rewards\":[1.0],\"drawn_by\":[]}}\n"
        )
    };
    let compressed = fs::File::create(run.join("rollouts-00000050.jsonl.gz")).unwrap();
    let mut out = flate2::write::GzEncoder::new(compressed, flate2::Compression::fast());
    out.write_all((line(1, "the first") + &line(50, "not shown")).as_bytes())
        .unwrap();
    out.finish().unwrap();
    fs::write(run.join("rollouts.jsonl"), line(100, "the last")).unwrap();
    sapo::report::write(dir.path()).unwrap();
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    for wanted in [
        "4 / 4, round 1<",
        "the first",
        "4 / 4, round 100<",
        "the last",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("not shown"));
    fs::remove_file(run.join("rollouts.jsonl")).unwrap();
    sapo::report::write(dir.path()).unwrap();
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("4 / 4, round 50<"));
}

/// Every text in `results/` is what its CSV files give. Where somebody has run an experiment again, which
/// leaves checkpoints, it may be half done and is passed over.
#[test]
fn committed_tables_are_those_of_the_committed_csv_files() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let has_checkpoint = |run: PathBuf| run.join("checkpoint").exists();
    let is_whole = |experiment: &PathBuf| {
        let runs = experiment.join("runs");
        let of_arm = |arm: PathBuf| folders(&arm).into_iter().any(has_checkpoint);
        runs.is_dir() && !folders(&runs).into_iter().any(of_arm)
    };
    let whole: Vec<PathBuf> = folders(&results).into_iter().filter(is_whole).collect();
    // all beside each other, since claims look at the control
    let copies = tempfile::tempdir().unwrap();
    let copy = |experiment: &Path| copies.path().join(experiment.file_name().unwrap());
    for experiment in &whole {
        copy_csv(experiment, &copy(experiment));
    }
    let mut seen = 0;
    for experiment in &whole {
        let copy = copy(experiment);
        sapo::report::write(&copy).unwrap();
        let texts = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap());
        let names = texts.map(|entry| entry.file_name().into_string().unwrap());
        let made = |name: &String| name.ends_with(".md") || name == "table.csv";
        let names: Vec<String> = names.filter(made).collect();
        assert!(names.len() >= 5, "{names:?}");
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        seen += compare(experiment, &copy, &names);
    }
    assert!(seen >= 10, "there are results: {seen}");
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

fn copy_csv(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["arms.csv", "tuning.csv"] {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    for run in folders(&from.join("runs"))
        .iter()
        .flat_map(|arm| folders(arm))
    {
        let copy = to.join(run.strip_prefix(from).unwrap());
        fs::create_dir_all(&copy).unwrap();
        for name in ["rounds.csv", "means.csv", "timings.csv"]
            .iter()
            .filter(|name| run.join(name).is_file())
        {
            fs::copy(run.join(name), copy.join(name)).unwrap();
        }
    }
}

fn compare(committed: &Path, made: &Path, names: &[&str]) -> usize {
    for name in names {
        let text = |dir: &Path| fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(
            text(committed),
            text(made),
            "{}",
            committed.join(name).display()
        );
    }
    names.len()
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
    let names = [
        "cumulative.png",
        "smoothed.png",
        "raw.png",
        "tasks.png",
        "selection.png",
        "costs.png",
    ];
    let pictures = names.map(|name| dir.path().join(name));
    sapo::report::write(dir.path()).unwrap();
    for path in &pictures {
        let (width, height) = png_size(path);
        assert!(
            width >= 1200 && height >= 600,
            "{}: {width} x {height}",
            path.display()
        );
    }
    let before = pictures.each_ref().map(|path| fs::read(path).unwrap());
    sapo::report::write(dir.path()).unwrap();
    assert!(before == pictures.each_ref().map(|path| fs::read(path).unwrap()));
    let entries = fs::read_dir(dir.path()).unwrap();
    let left = entries.count();
    assert_eq!(
        left, 13,
        "the folder of runs, six pictures, five texts, the page, and nothing left over"
    );
}

#[test]
fn the_least_there_can_be_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let text = "round,agent,own_reward,train_reward,eval_reward,completions\n1,0,,,,0\n";
    add_file(dir.path(), "0-3/seed-7", text);
    let console = sapo::report::write(dir.path()).unwrap().console();
    assert!(
        console.starts_with("1 arm (local / external rollouts), 1 seed, 1 agent, 1 round."),
        "{console}"
    );
}

#[test]
fn every_number_of_arms_has_its_panels() {
    for mixes in [3, 5, 8] {
        let dir = tempfile::tempdir().unwrap();
        for external in 0..mixes {
            add_run(
                dir.path(),
                (8 - external, external),
                1,
                &[[0.1, 0.2], [0.3, -0.4]],
            );
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
    check_error(
        dir.path(),
        "no runs: expected DIR/runs/<arm>/seed-<s>/rounds.csv",
    );
    add_file(dir.path(), "8-0/seed-1", HEADER);
    check_error(
        dir.path(),
        "no runs: found no round in any DIR/runs/<arm>/seed-<s>/rounds.csv",
    );
    add_file(
        dir.path(),
        "8-0/seed-1",
        &format!("{HEADER}1,0,0.1,0.1,,64,0.1,\n1,1,0.1,0.1,x,64,0.1,\n"),
    );
    check_error(
        dir.path(),
        "in DIR/runs/8-0/seed-1/rounds.csv: line 3, column `eval_reward`: expected a number or a blank, found `x`",
    );
    add_file(
        dir.path(),
        "8-0/seed-1",
        "round,agent,own_reward,train_reward,completions\n1,0,0.1,0.1,64\n",
    );
    check_error(
        dir.path(),
        "in DIR/runs/8-0/seed-1/rounds.csv: line 1: expected a column `eval_reward`, found round, agent, own_reward",
    );
    add_file(dir.path(), "8-0/seed-1", &format!("{HEADER}1,0,0.1\n"));
    check_error(
        dir.path(),
        "in DIR/runs/8-0/seed-1/rounds.csv: line 2: expected 8 cells, found 3",
    );
}
