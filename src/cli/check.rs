//! `sapo check`: validates an experiment and prints its plan.

use super::{overrides, threads};
use crate::experiment::{DeviceKind, Experiment, Models, Plan};
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
    /// Where to compute, instead of the experiment's device.kind
    #[arg(long, value_name = "KIND")]
    device: Option<DeviceKind>,
    /// Agents that work at the same time [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut out = std::io::stdout();
    for (value, experiment) in
        Experiment::load_all(&args.experiment, &overrides(&args.set, args.device))?.values
    {
        let plan = Plan::new(&experiment, threads(args.threads))
            .with_context(|| args.experiment.display().to_string())?;
        if !value.is_empty() {
            writeln!(out, "sweep value {value}:")?;
        }
        write!(out, "{plan}")?;
        plan.fits()?;
        if experiment.model.random_weights.is_none() {
            Models::open(&experiment)?.weights(&experiment.device.open()?)?;
        }
    }
    Ok(())
}
