//! `sapo gpu-check`: whether a GPU computes what the CPU does, and how long the paper would take on it.

use super::experiment_args::overrides;
use crate::experiment::{Benchmark, DeviceConfig, DeviceKind, Experiment, Models};
use crate::learn::Parity;
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `sapo gpu-check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What to compare with the CPU
    #[arg(long, value_name = "KIND", default_value = "cuda")]
    device: DeviceKind,
    /// The small model to compare on
    #[arg(long, value_name = "DIR", default_value = "models/tiny")]
    model: PathBuf,
    /// The experiment to time, with random weights of its size
    #[arg(long, value_name = "FILE", default_value = "experiments/paper.toml")]
    experiment: PathBuf,
    /// Override a key of it
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Largest difference of two logits, and of loss and gradient norm in proportion.
const TOLERANCE: f64 = 1e-3;

/// Largest distance of the weights after three updates, in proportion to how far they have moved. Adam
/// divides each gradient by its own size, so the smallest gradients, which are mostly rounding, count too.
const WEIGHT_TOLERANCE: f64 = 1e-2;

pub(super) fn run(args: &Args) -> Result<()> {
    let mut set = vec![
        format!("model.path={:?}", args.model),
        "model.random_weights=\"experiments/shapes/qwen2.5-0.5b.json\"".to_owned(),
    ];
    set.extend(overrides(&args.set, Some(args.device)));
    let experiment = Experiment::load(&args.experiment, &set)?;
    compare(args, &experiment)?;
    time(args, &experiment)
}

fn compare(args: &Args, experiment: &Experiment) -> Result<()> {
    let folder = Models::folder(&args.model)?;
    let (cpu, other) = (
        DeviceConfig::of(DeviceKind::Cpu).open()?,
        experiment.file.device.open()?,
    );
    let models = [folder.weights(&cpu)?, folder.weights(&other)?];
    let arm = &experiment.largest().resolved;
    let options = arm.keys.model.chat_options();
    let prompts: Vec<Vec<u32>> = arm
        .tasks
        .some_questions(8)
        .map(|q| folder.tokenizer.prompt(&options, &q.text))
        .collect::<Result<_, _>>()?;
    let prompts: Vec<Vec<u32>> = prompts
        .into_iter()
        .filter(|p| p.len() < folder.room(16))
        .take(8)
        .collect();
    let found = Parity::of(models, &prompts, &arm.keys.train);
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} against the CPU, on {}:",
        experiment.file.device.describe(),
        args.model.display()
    )?;
    writeln!(
        out,
        "  largest difference of a logit   {:.1e}",
        found.logits
    )?;
    writeln!(
        out,
        "  greedy tokens                   {} of {} the same",
        found.greedy.1, found.greedy.0
    )?;
    let mut close = f64::from(found.logits) <= TOLERANCE && found.greedy.0 == found.greedy.1;
    for (what, [a, b]) in [
        ("loss of one update", found.loss),
        ("norm of its gradient", found.grad_norm),
    ] {
        writeln!(out, "  {what:<31} {a:.6} and {b:.6}")?;
        close &= (a - b).abs() <= TOLERANCE * a.abs().max(1.0);
    }
    writeln!(
        out,
        "  weights after three updates     {:.1e} of their move apart",
        found.weights
    )?;
    close &= found.weights <= WEIGHT_TOLERANCE;
    ensure!(
        close,
        "the two do not agree: expected the same tokens and differences up to {TOLERANCE}"
    );
    Ok(())
}

fn time(args: &Args, experiment: &Experiment) -> Result<()> {
    let file = args.experiment.display();
    let done = Benchmark::run(experiment).with_context(|| file.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "one agent of {file}, {} rollouts:", done.rollouts)?;
    for (what, (tokens, seconds)) in [("generation", done.generated), ("update", done.learned)] {
        let speed = tokens as f64 / seconds;
        writeln!(
            out,
            "  {what:<12} {tokens} tokens in {seconds:.2} s, {speed:.0} a second"
        )?;
    }
    if let Some(bytes) = done.reserved {
        let gib = bytes as f64 / f64::from(1 << 30);
        writeln!(out, "  memory       {gib:.1} GiB reserved by one agent")?;
    }
    for arm in &experiment.arms {
        let (name, hours, keys) = (&arm.name, done.seconds(arm) / 3600.0, &arm.resolved.keys);
        let (rounds, agents) = (keys.rounds, keys.swarm.agents);
        writeln!(
            out,
            "  arm {name}: {hours:.1} hours for {rounds} rounds of {agents} agents"
        )?;
    }
    Ok(())
}
