//! `sapo run`: an experiment from its TOML to its table and plots.

use super::progress::Progress;
use super::{overrides, threads};
use crate::experiment::{self, DeviceKind, Experiment, Plan, Results};
use crate::report;
use anyhow::{Context, Result};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `sapo run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The experiment file
    experiment: PathBuf,
    /// Override a key of it, e.g. --set swarm.selection=uniform
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Results folder [default: results/NAME, the name of the experiment file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set aside the results of another experiment in that folder, under a new name
    #[arg(long)]
    fresh: bool,
    /// Where to compute, instead of the experiment's device.kind
    #[arg(long, value_name = "KIND")]
    device: Option<DeviceKind>,
    /// Agents that work at the same time; the numbers do not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(super) fn run(args: Args) -> Result<()> {
    let experiment = Experiment::load(&args.experiment, &overrides(&args.set, args.device))?;
    let threads = threads(args.threads);
    let plan = Plan::new(&experiment, threads).with_context(|| args.experiment.display().to_string())?;
    plan.fits()?;
    let name = args.experiment.file_stem().context("an experiment file has a name")?;
    let dir = args.out.unwrap_or_else(|| PathBuf::from("results").join(name));
    let results = Results::open(&dir, &experiment, args.fresh)?;
    let (runs, rounds) = (experiment.mixes.len() * experiment.seeds.len(), experiment.rounds);
    let mut progress = Progress::new(runs as u64 * u64::from(rounds), "rounds");
    experiment::run(&experiment, &results, threads, |p| progress.show(p.done, p.round == rounds, message(&p, rounds)))?;
    progress.finish();
    let summary = report::write(results.dir())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", summary.console())?;
    writeln!(out, "{}: table.md, table.csv, cumulative.png, smoothed.png, raw.png, tasks.png", dir.display())?;
    Ok(())
}

fn message(p: &experiment::Progress, rounds: u32) -> String {
    let held_out = p.eval_reward.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
    format!(
        "mix {}/{} seed {} round {}/{rounds}  reward own {:.3}, training set {:.3}, held-out {held_out}",
        p.mix.local, p.mix.external, p.seed, p.round, p.own_reward, p.train_reward
    )
}
