//! `sapo run`: an experiment from its TOML to its table and plots.

use super::threads;
use crate::experiment::{self, Experiment, Plan, Progress, Results};
use crate::report;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `sapo run`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The experiment file
    experiment: PathBuf,
    /// Override a key of it, e.g. --set swarm.selection=uniform
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Results folder [default: results/<name of the experiment file>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Set aside the results of another experiment in that folder, under a new name
    #[arg(long)]
    fresh: bool,
    /// Agents that work at the same time; the numbers do not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(super) fn run(args: Args) -> Result<()> {
    let experiment = Experiment::load(&args.experiment, &args.set)?;
    let threads = threads(args.threads);
    Plan::new(&experiment, threads)?;
    let name = args.experiment.file_stem().context("an experiment file has a name")?;
    let dir = args.out.unwrap_or_else(|| PathBuf::from("results").join(name));
    let results = Results::open(&dir, &experiment, args.fresh)?;
    let mut display = Display::new(&experiment);
    experiment::run(&experiment, &results, threads, |progress| display.show(&progress))?;
    display.bar.finish_and_clear();
    let summary = report::write(results.dir())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", summary.console())?;
    writeln!(out, "{}: table.md, table.csv, cumulative.png, smoothed.png, raw.png, tasks.png", dir.display())?;
    Ok(())
}

/// A bar on a terminal, else a line every few seconds.
struct Display {
    bar: ProgressBar,
    rounds: u32,
    plain: bool,
    begun: Instant,
    last_line: Option<Instant>,
}

const LINE_EVERY: Duration = Duration::from_secs(5);

impl Display {
    fn new(experiment: &Experiment) -> Self {
        let runs = experiment.mixes.len() * experiment.seeds.len();
        let bar = ProgressBar::new(runs as u64 * u64::from(experiment.rounds));
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} rounds, {eta} left  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let plain = !std::io::stderr().is_terminal();
        Self { bar, rounds: experiment.rounds, plain, begun: Instant::now(), last_line: None }
    }

    #[expect(clippy::print_stderr, reason = "progress goes to standard error, and a closed one is no reason to stop")]
    fn show(&mut self, progress: &Progress) {
        let message = self.message(progress);
        if !self.plain {
            self.bar.set_position(progress.done);
            self.bar.set_message(message);
            return;
        }
        let due = self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY);
        if due || progress.round == self.rounds {
            self.last_line = Some(Instant::now());
            let per_round = self.begun.elapsed().as_secs_f64() / progress.done as f64;
            let left = per_round * (progress.total - progress.done) as f64;
            eprintln!("{}/{} rounds, {left:.0} s left  {message}", progress.done, progress.total);
        }
    }

    fn message(&self, p: &Progress) -> String {
        let held_out = p.eval_reward.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
        format!(
            "mix {}/{} seed {} round {}/{}  reward own {:.3}, training set {:.3}, held-out {held_out}",
            p.mix.local, p.mix.external, p.seed, p.round, self.rounds, p.own_reward, p.train_reward
        )
    }
}
