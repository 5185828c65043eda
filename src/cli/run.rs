//! `sapo run`: an experiment from its TOML to its table and plots.

use super::experiment_args::ExperimentArgs;
use super::progress::Bar;
use super::signals::{self, INTERRUPTED};
use crate::experiment::{
    self, Ending, Experiment, Models, Node, NodeOptions, Plan, Progress, Results, RunOptions,
    Tuned, Watcher,
};
use crate::report;
use anyhow::{Context, Result};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `sapo run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Results folder [default: results/NAME, the name of the experiment file]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Start over: set aside the results in that folder, under a new name
    #[arg(long)]
    fresh: bool,
    /// Keep every run whose CSV files have all their rounds, whoever made them, and run the others
    #[arg(long, conflicts_with = "fresh")]
    only_missing: bool,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let experiment = args.experiment.load()?;
    let file = &args.experiment.file;
    let name = file.file_stem().context("an experiment file has a name")?;
    let job = Job {
        place: file.display().to_string(),
        dir: args
            .out
            .unwrap_or_else(|| PathBuf::from("results").join(name)),
        fresh: args.fresh,
        node: NodeOptions::default(),
        options: RunOptions {
            threads: args.experiment.threads(),
            only_missing: args.only_missing,
        },
    };
    job.run(&experiment)
}

/// An experiment that is to be run, or the part of it that belongs to a node.
pub(super) struct Job {
    /// Where the experiment comes from.
    pub(super) place: String,
    /// The results folder.
    pub(super) dir: PathBuf,
    /// Whether to start over.
    pub(super) fresh: bool,
    /// Which agents are here.
    pub(super) node: NodeOptions,
    /// How it is run.
    pub(super) options: RunOptions,
}

impl Job {
    /// Runs it and reports it.
    ///
    /// # Errors
    /// When it cannot begin, or cannot go on.
    pub(super) fn run(self, experiment: &Experiment) -> Result<ExitCode> {
        let models = Models::open(experiment)?;
        let plan = Plan::new(experiment, &models, self.options.threads);
        plan.with_context(|| self.place.clone())?.fits()?;
        signals::listen()?;
        let results = Results::open(&self.dir, experiment, self.fresh)?;
        let mut console = Console {
            bar: Bar::new("rounds", experiment.has_person()),
        };
        let ending = self.make(experiment, models, &results, &mut console);
        console.bar.finish();
        match ending {
            Ok(Ending::Complete) => {
                report(&results)?;
                Ok(ExitCode::SUCCESS)
            }
            Ok(Ending::Stopped) => {
                let saved = match experiment.file.checkpoint.every {
                    0 => "checkpoint.every is 0",
                    _ => "what was done is saved",
                };
                let what = format!("stopped; {saved}, the same command goes on with it");
                // where nobody reads it, the exit code still tells
                let _ = writeln!(std::io::stderr(), "{what}");
                Ok(ExitCode::from(INTERRUPTED))
            }
            // the other runs are worth having
            Err(error) if error.is::<experiment::RunFailed>() => match report(&results) {
                Err(e) if !signals::reader_is_gone(&e) => Err(e.context(format!("{error:#}"))),
                _ => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Tunes what is to be tuned, and makes the runs.
    fn make(
        &self,
        experiment: &Experiment,
        models: Models,
        results: &Results,
        console: &mut Console,
    ) -> Result<Ending> {
        let node = Node::open(experiment, &self.node, results.dir())?;
        let tuned = match experiment::tune(experiment, results, self.options, console)? {
            Tuned::Complete(tuned) => tuned,
            Tuned::Stopped => return Ok(Ending::Stopped),
        };
        results.put_arms(&tuned)?;
        let models = match tuned.file.tune {
            // a tuned key may have chosen other models
            Some(_) => Models::open(&tuned)?,
            None => models,
        };
        experiment::run(&tuned, &models, results, &node, self.options, console)
    }
}

/// Tables, plots and page, and the table at the console.
fn report(results: &Results) -> Result<()> {
    let summary = report::write(results.dir())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", summary.console())?;
    writeln!(out, "{}: {}", results.dir().display(), report::FILES)?;
    Ok(())
}

/// The runs as they are shown at the console.
struct Console {
    bar: Bar,
}

impl Watcher for Console {
    fn start(&mut self, done: u64, total: u64) {
        self.bar.start(done, total);
    }

    fn round(&mut self, p: Progress) {
        self.bar.show(p.done, p.round == p.rounds, message(&p));
    }

    fn note(&mut self, note: String) {
        self.bar.note(&note);
    }

    fn stop(&self) -> bool {
        signals::stopped()
    }
}

fn message(p: &Progress) -> String {
    let held_out = p
        .eval_reward
        .map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
    format!(
        "arm {} seed {} round {}/{}  reward own {:.3}, training set {:.3}, held-out {held_out}",
        p.arm, p.seed, p.round, p.rounds, p.own_reward, p.train_reward
    )
}
