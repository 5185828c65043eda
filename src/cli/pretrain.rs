//! `sapo pretrain`: a small base model from a recipe.

use super::experiment_args::threads;
use super::progress::Bar;
use crate::experiment::{DeviceConfig, DeviceKind, Recipe};
use crate::swarm::Workers;
use anyhow::{Context, Result};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `sapo pretrain`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The recipe file
    recipe: PathBuf,
    /// Override a key of it, e.g. --set out=models/mine
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let recipe = Recipe::load(&args.recipe, &args.set)?;
    let device = DeviceConfig::of(DeviceKind::Cpu).open()?;
    let steps = recipe.train.steps;
    let mut bar = Bar::new("steps", false);
    bar.start(0, steps as u64);
    let workers = Workers::new(threads(None)).context("no thread can be started")?;
    let outcome = recipe.pretrain(&device, &workers, |step, loss| {
        bar.show(step as u64, step == steps, format!("loss {loss:.4}"));
    })?;
    bar.finish();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} parameters in {}",
        outcome.parameters,
        recipe.out.display()
    )?;
    for (split, measured) in &outcome.measured {
        writeln!(
            out,
            "on {} questions at temperature 1, exact scores:",
            format!("{split:?}").to_lowercase()
        )?;
        for (task, reward) in &measured.tasks {
            writeln!(out, "  {task:<24} {:6.2} %", 100.0 * reward)?;
        }
        for (what, share) in [
            ("all tasks", measured.reward),
            ("answers in tags", measured.tagged),
            ("of these right", measured.right_in_tags),
            ("ended by themselves", measured.ended),
        ] {
            writeln!(out, "  {what:<24} {:6.2} %", 100.0 * share)?;
        }
    }
    Ok(())
}
