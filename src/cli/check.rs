//! `sapo check`: validates an experiment and prints its plan.

use super::threads;
use crate::experiment::{Base, Experiment, Plan};
use anyhow::{Context, Result};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `sapo check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The experiment file
    experiment: PathBuf,
    /// Override a key of it, e.g. --set swarm.selection=uniform
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Agents that work at the same time [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let experiment = Experiment::load(&args.experiment, &args.set)?;
    let plan = Plan::new(&experiment, threads(args.threads)).with_context(|| args.experiment.display().to_string())?;
    let path = &experiment.model.path;
    Base::open(path)?.weights(path, &experiment.device.open()?)?;
    write!(std::io::stdout(), "{plan}")?;
    Ok(())
}
