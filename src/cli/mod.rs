//! The command line: one file a subcommand.

mod ask;
#[cfg(feature = "nats")]
mod bus_config;
mod check;
mod experiment_args;
mod gpu_check;
mod node;
mod pretrain;
mod progress;
mod report;
mod rollouts;
mod run;
mod signals;
mod status;
mod tasks;

pub use signals::reader_is_gone;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use rayon::ThreadPoolBuilder;
use std::process::ExitCode;

/// A swarm of language models that post-train by RL and share rollouts (SAPO, arXiv 2509.08721).
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an experiment: every arm and seed, then tables, plots and a page
    Run(run::Args),
    /// Host some agents of a swarm whose others are elsewhere
    Node(node::Args),
    /// Write a server's configuration that lets each node publish for its own agents alone
    #[cfg(feature = "nats")]
    BusConfig(bus_config::Args),
    /// Say how far the runs of a results folder have come
    Status(status::Args),
    /// Read what was asked and answered in the rounds whose rollouts were kept
    Rollouts(rollouts::Args),
    /// Make tables, plots and page again, from the CSV files of a results folder
    Report(report::Args),
    /// Validate an experiment and print what it will take
    Check(check::Args),
    /// Compare a GPU with the CPU, and time an experiment's size on it
    GpuCheck(gpu_check::Args),
    /// Make a small base model from a recipe
    Pretrain(pretrain::Args),
    /// Ask a model a question and score its answers
    Ask(ask::Args),
    /// Look at tasks, export their questions, score answers
    Tasks(tasks::Args),
}

impl Cli {
    /// Runs the subcommand, and returns with what code the program ends.
    ///
    /// # Errors
    /// Whatever went wrong, for the program to print once.
    pub fn run(self) -> Result<ExitCode> {
        // threads that cannot be had are missed here, where it can be said, and not somewhere within
        ThreadPoolBuilder::new()
            .build_global()
            .context("no thread can be started")?;
        match self.command {
            Command::Run(args) => return run::run(args),
            Command::Node(args) => return node::run(args),
            #[cfg(feature = "nats")]
            Command::BusConfig(args) => bus_config::run(&args),
            Command::Status(args) => status::run(&args),
            Command::Rollouts(args) => rollouts::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Check(args) => check::run(&args),
            Command::GpuCheck(args) => gpu_check::run(&args),
            Command::Pretrain(args) => pretrain::run(&args),
            Command::Ask(args) => ask::run(&args),
            Command::Tasks(args) => tasks::run(args),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}
