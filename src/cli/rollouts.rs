//! `sapo rollouts`: what was asked and answered, to read.

use crate::experiment::{Kept, rollouts};
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `sapo rollouts`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A results folder, or the folder of one run in it
    dir: PathBuf,
    /// Only this round
    #[arg(long, value_name = "N")]
    round: Option<u32>,
    /// Only what this agent asked
    #[arg(long, value_name = "A")]
    agent: Option<u16>,
    /// Only questions of this task
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let runs = runs(&args.dir)?;
    ensure!(
        !runs.is_empty(),
        "{}: found no run, expected a results folder",
        args.dir.display()
    );
    for run in runs {
        let wanted = |kept: &Kept| {
            args.round.is_none_or(|round| kept.round == round)
                && args.agent.is_none_or(|agent| kept.agent == agent)
                && args.task.as_ref().is_none_or(|task| kept.task == *task)
        };
        for kept in rollouts(&run)?.into_iter().filter(wanted) {
            let Kept {
                round,
                agent,
                index,
                task,
                question,
                ..
            } = &kept;
            writeln!(
                out,
                "=== {} round {round}, agent {agent}, rollout {index}: {task}",
                run.display()
            )?;
            writeln!(
                out,
                "{question}\n--- answer: {}",
                kept.answer.as_deref().unwrap_or("(any that follows)")
            )?;
            for (completion, reward) in kept.completions.iter().zip(&kept.rewards) {
                writeln!(
                    out,
                    "[{reward:.2}] {}",
                    completion.replace('\n', "\n       ")
                )?;
            }
            if !kept.drawn_by.is_empty() {
                let agents: Vec<String> = kept.drawn_by.iter().map(ToString::to_string).collect();
                writeln!(out, "--- drawn by agents {}", agents.join(", "))?;
            }
        }
    }
    Ok(())
}

/// The folder itself where it is that of a run, else all below it that are.
fn runs(dir: &Path) -> Result<Vec<PathBuf>> {
    let is_run = |dir: &Path| {
        ["rounds.csv", "rounds.csv.new"]
            .iter()
            .any(|name| dir.join(name).exists())
    };
    if is_run(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let mut found = Vec::new();
    let below = |dir: &Path| -> Result<Vec<PathBuf>> {
        let entries =
            std::fs::read_dir(dir).with_context(|| format!("{}: cannot be read", dir.display()))?;
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    for mix in below(&dir.join("runs"))? {
        found.extend(below(&mix)?.into_iter().filter(|seed| is_run(seed)));
    }
    Ok(found)
}
