//! `sapo run`: an experiment from its TOML to its table and plots.

use super::progress::Progress;
use super::{overrides, threads};
use crate::experiment::{self, DeviceKind, Ending, Experiment, Plan, Results, Watcher};
use crate::report;
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Start over: set aside the results in that folder, under a new name
    #[arg(long)]
    fresh: bool,
    /// Where to compute, instead of the experiment's device.kind
    #[arg(long, value_name = "KIND")]
    device: Option<DeviceKind>,
    /// Agents that work at the same time; the numbers do not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let all = Experiment::load_all(&args.experiment, &overrides(&args.set, args.device))?;
    let threads = threads(args.threads);
    for (_, experiment) in &all.values {
        let plan = Plan::new(experiment, threads)
            .with_context(|| args.experiment.display().to_string())?;
        plan.fits()?;
    }
    let name = args
        .experiment
        .file_stem()
        .context("an experiment file has a name")?;
    let dir = args
        .out
        .unwrap_or_else(|| PathBuf::from("results").join(name));
    listen()?;
    let Some(key) = all.key else {
        return single(&all.values[0].1, &dir, args.fresh, threads);
    };
    let mut failed = Vec::new();
    for (value, experiment) in &all.values {
        match single(experiment, &dir.join(value), args.fresh, threads) {
            Ok(ExitCode::SUCCESS) => {}
            Ok(code) => return Ok(code),
            // the other values are worth having
            Err(error) => {
                writeln!(std::io::stderr(), "{key} = {value}: {error:#}")?;
                failed.push(value.as_str());
            }
        }
    }
    ensure!(failed.is_empty(), "{key}: {} failed", failed.join(", "));
    Ok(ExitCode::SUCCESS)
}

/// One experiment, to its exit code.
fn single(experiment: &Experiment, dir: &Path, fresh: bool, threads: usize) -> Result<ExitCode> {
    if one(experiment, dir, fresh, threads)? == Ending::Complete {
        return Ok(ExitCode::SUCCESS);
    }
    let saved = if experiment.checkpoint.every > 0 {
        "what was done is saved"
    } else {
        "checkpoint.every is 0"
    };
    writeln!(
        std::io::stderr(),
        "stopped; {saved}, the same command goes on with it"
    )?;
    Ok(ExitCode::from(INTERRUPTED))
}

/// One experiment, to its table and plots.
fn one(experiment: &Experiment, dir: &Path, fresh: bool, threads: usize) -> Result<Ending> {
    let results = Results::open(dir, experiment, fresh)?;
    let (runs, rounds) = (
        experiment.mixes.len() * experiment.seeds.len(),
        experiment.rounds,
    );
    let progress = Progress::new(runs as u64 * u64::from(rounds), "rounds");
    let mut console = Console { progress, rounds };
    let ending = experiment::run(experiment, &results, threads, &mut console)?;
    console.progress.finish();
    if ending == Ending::Complete {
        let summary = report::write(results.dir())?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", summary.console())?;
        writeln!(out, "{}: {}", dir.display(), report::FILES)?;
    }
    Ok(ending)
}

/// What a program returns that was interrupted.
const INTERRUPTED: u8 = 130;

/// Whether a signal to stop has come.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// After one signal to stop, the round is finished and saved; after two, the program ends at once.
fn listen() -> Result<()> {
    let heard = || {
        if SIGNALLED.load(Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        let _ = writeln!(
            std::io::stderr(),
            "stopping after this round; once more to stop at once"
        );
        SIGNALLED.store(true, Ordering::SeqCst);
    };
    ctrlc::set_handler(heard).context("signals to stop cannot be heard")
}

/// The runs as they are shown at the console.
struct Console {
    progress: Progress,
    rounds: u32,
}

impl Watcher for Console {
    fn round(&mut self, p: experiment::Progress) {
        self.progress
            .show(p.done, p.round == self.rounds, message(&p, self.rounds));
    }

    fn note(&mut self, note: String) {
        self.progress.note(&note);
    }

    fn stop(&self) -> bool {
        SIGNALLED.load(Ordering::SeqCst)
    }
}

fn message(p: &experiment::Progress, rounds: u32) -> String {
    let held_out = p
        .eval_reward
        .map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
    format!(
        "mix {}/{} seed {} round {}/{rounds}  reward own {:.3}, training set {:.3}, held-out {held_out}",
        p.mix.local, p.mix.external, p.seed, p.round, p.own_reward, p.train_reward
    )
}
