//! `sapo rollouts`: what was asked and answered, to read.

use crate::kept_rollouts::{self, KeptRollout};
use crate::results_layout::{ROUNDS, RUNS, beside};
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
    let runs = runs(&args.dir)?;
    let dir = args.dir.display();
    ensure!(
        !runs.is_empty(),
        "{dir}: found no run, expected a results folder"
    );
    for run in runs {
        let all = kept_rollouts::of_run(&run);
        let all = all.with_context(|| format!("{}: cannot be read", run.display()))?;
        let wanted = |kept: &KeptRollout| {
            args.round.is_none_or(|round| kept.round == round)
                && args.agent.is_none_or(|agent| kept.agent == agent)
                && args.task.as_ref().is_none_or(|task| kept.task == *task)
        };
        let mut wanted = all.iter().filter(|kept| wanted(kept));
        wanted.try_for_each(|kept| print(&run, kept))?;
    }
    Ok(())
}

fn print(run: &Path, kept: &KeptRollout) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let KeptRollout {
        round,
        agent,
        index,
        task,
        question,
        ..
    } = kept;
    let run = run.display();
    writeln!(
        out,
        "=== {run} round {round}, agent {agent}, rollout {index}: {task}"
    )?;
    let answer = kept.answer.as_deref().unwrap_or("(any that follows)");
    writeln!(out, "{question}\n--- answer: {answer}")?;
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
    Ok(())
}

/// The folder itself where it is that of a run, else all below it that are.
fn runs(dir: &Path) -> Result<Vec<PathBuf>> {
    let names = [ROUNDS.to_owned(), beside(ROUNDS)];
    let is_run = |dir: &Path| names.iter().any(|name| dir.join(name).exists());
    if is_run(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let below = |dir: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(dir);
        let entries = entries.with_context(|| format!("{}: cannot be read", dir.display()))?;
        let paths = entries.map(|entry| Ok(entry?.path()));
        let mut paths = paths.collect::<Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    let mut found = Vec::new();
    for arm in below(&dir.join(RUNS))? {
        found.extend(below(&arm)?.into_iter().filter(|seed| is_run(seed)));
    }
    Ok(found)
}
