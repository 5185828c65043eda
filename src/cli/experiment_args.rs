//! The arguments of the subcommands that take an experiment.

use crate::experiment::{DeviceKind, Experiment};
use anyhow::Result;
use clap::ValueEnum;
use std::path::PathBuf;

/// An experiment and how to run it.
#[derive(Debug, clap::Args)]
pub(super) struct ExperimentArgs {
    /// The experiment file
    #[arg(value_name = "EXPERIMENT")]
    pub(super) file: PathBuf,
    /// Override a key of it, e.g. --set swarm.selection=uniform
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where to compute, instead of the experiment's device.kind
    #[arg(long, value_name = "KIND")]
    device: Option<DeviceKind>,
    /// Agents that work at the same time; the numbers do not depend on it [default: one a core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl ExperimentArgs {
    pub(super) fn load(&self) -> Result<Experiment> {
        Experiment::load(&self.file, &overrides(&self.set, self.device))
    }

    pub(super) fn threads(&self) -> usize {
        threads(self.threads)
    }
}

/// The overrides, with the device of the command line among them.
pub(super) fn overrides(set: &[String], device: Option<DeviceKind>) -> Vec<String> {
    let name = device.as_ref().and_then(ValueEnum::to_possible_value);
    let device = name.map(|name| format!("device.kind=\"{}\"", name.get_name()));
    set.iter().cloned().chain(device).collect()
}

/// Agents that work at the same time: what was asked for, else one a core.
pub(super) fn threads(asked: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or_else(cores).max(1)
}
