//! `sapo status`: how far the runs of a results folder have come.

use crate::experiment::Experiment;
use crate::results_layout::{EXPERIMENT, MEANS, ROUNDS, TIMINGS, beside, run_folder};
use anyhow::Result;
use comfy_table::{Table, presets};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `sapo status`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A results folder
    dir: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let experiment = Experiment::load(&args.dir.join(EXPERIMENT), &[])?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "arm",
        "seed",
        "rounds",
        "own",
        "train",
        "held-out",
        "s a round",
    ]);
    let (mut finished, mut count, mut left, mut speed) = (0, 0, 0, None);
    for (arm, seed) in experiment.runs() {
        let run = run_folder(&args.dir, &arm.name, seed);
        let (last, seconds) = (last_round(&run), seconds(&run));
        let (done, rounds) = (
            last.get("round").map_or(0.0, |r| r.round()),
            arm.resolved.keys.rounds,
        );
        let text = |number: Option<f64>, digits: usize| {
            number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
        };
        let number = |name: &str| text(last.get(name).copied(), 3);
        let [own, train, eval] = ["own_reward", "train_reward", "eval_reward"].map(number);
        let (name, seed, pace) = (arm.name.clone(), seed.to_string(), text(seconds, 2));
        table.add_row([
            name,
            seed,
            format!("{done}/{rounds}"),
            own,
            train,
            eval,
            pace,
        ]);
        speed = seconds.or(speed);
        count += 1;
        finished += usize::from(done as u32 >= rounds);
        left += u64::from(rounds.saturating_sub(done as u32));
    }
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {finished} of {count} runs finished",
        args.dir.display()
    )?;
    writeln!(out, "{table}")?;
    match speed {
        _ if left == 0 => {}
        Some(seconds) => {
            let minutes = left as f64 * seconds / 60.0;
            writeln!(out, "{left} rounds left, about {minutes:.0} minutes")?;
        }
        None => writeln!(out, "{left} rounds left")?,
    }
    Ok(())
}

/// The newest of the two names that a file may have.
fn text(run: &Path, name: &str) -> Option<String> {
    let new = std::fs::read_to_string(run.join(beside(name)));
    new.or_else(|_| std::fs::read_to_string(run.join(name)))
        .ok()
}

/// The mean over the agents of each column in the last round that is whole; of the held-out reward,
/// in the last round that has one.
fn last_round(run: &Path) -> HashMap<String, f64> {
    let Some(text) = text(run, ROUNDS).or_else(|| text(run, MEANS)) else {
        return HashMap::new();
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers: Vec<String> = reader
        .headers()
        .map(|row| row.iter().map(str::to_owned).collect())
        .unwrap_or_default();
    let mut sums: HashMap<String, (String, f64, f64)> = HashMap::new();
    for row in reader.records().map_while(Result::ok) {
        let round = row.get(0).unwrap_or_default();
        for (name, cell) in headers.iter().zip(&row) {
            let Ok(value) = cell.parse::<f64>() else {
                continue;
            };
            let entry = sums
                .entry(name.clone())
                .or_insert_with(|| (round.to_owned(), 0.0, 0.0));
            if entry.0 != round {
                *entry = (round.to_owned(), 0.0, 0.0);
            }
            entry.1 += value;
            entry.2 += 1.0;
        }
    }
    sums.into_iter()
        .map(|(name, (_, sum, count))| (name, sum / count))
        .collect()
}

/// Mean seconds of the last ten rounds.
fn seconds(run: &Path) -> Option<f64> {
    let text = text(run, TIMINGS)?;
    let row = |line: &str| {
        line.split(',')
            .skip(1)
            .map(|cell| cell.parse::<f64>().ok())
            .sum::<Option<f64>>()
    };
    let all: Vec<f64> = text.lines().skip(1).filter_map(row).collect();
    let last = &all[all.len().saturating_sub(10)..];
    (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
}
