//! `sapo check`: validates an experiment and prints its plan.

use super::experiment_args::ExperimentArgs;
use crate::experiment::{Models, Plan};
use anyhow::{Context, Result};
use std::io::Write;

/// Arguments of `sapo check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    experiment: ExperimentArgs,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let experiment = args.experiment.load()?;
    let models = Models::open(&experiment)?;
    let plan = Plan::new(&experiment, &models, args.experiment.threads());
    let plan = plan.with_context(|| args.experiment.file.display().to_string())?;
    write!(std::io::stdout(), "{plan}")?;
    plan.fits()?;
    if experiment.file.model.random_weights.is_none() {
        models.weights(&experiment.file.device.open()?)?;
    }
    Ok(())
}
