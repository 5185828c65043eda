//! What a run leaves to be watched and read, besides its numbers: a line a round in `log.txt`, event files
//! for TensorBoard, and the rollouts of some rounds in `rollouts.jsonl`.

use super::events::Events;
use crate::record::RoundRecord;
use crate::rollout::AgentId;
use crate::swarm::{Agent, Swarm};
use anyhow::{Context, Result};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// What is written for people and tools to look at. It shapes no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogTable {
    /// Rounds between two whose rollouts are kept, the first and the last included; 0 for none.
    pub rollouts_every: u32,
    /// Size in MiB at which the file of rollouts is compressed and another one begun.
    pub rollouts_mib: u64,
    /// Whether TensorBoard can look at the run.
    pub tensorboard: bool,
}

impl Default for LogTable {
    fn default() -> Self {
        Self {
            rollouts_every: 50,
            rollouts_mib: 8,
            tensorboard: false,
        }
    }
}

/// A kept rollout, a line of `rollouts.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Counted from 1.
    pub round: u32,
    /// Who answered.
    pub agent: u16,
    /// Position among the rollouts of that agent.
    pub index: u32,
    /// What was asked.
    pub task: String,
    /// The question.
    pub question: String,
    /// The ground truth, where there is a single one.
    pub answer: Option<String>,
    /// The group.
    pub completions: Vec<String>,
    /// A reward a completion.
    pub rewards: Vec<f64>,
    /// The others that learned from it.
    pub drawn_by: Vec<u16>,
}

/// The writer of one run.
pub(super) struct Journal {
    run: PathBuf,
    table: LogTable,
    rounds: u32,
    log: File,
    events: Option<Events>,
}

const ROLLOUTS: &str = "rollouts.jsonl";

impl Journal {
    /// Goes on after a round, 0 for a fresh run: what was written of later rounds is taken out.
    pub(super) fn open(run: &Path, table: &LogTable, rounds: u32, after: u32) -> Result<Self> {
        let path = run.join("log.txt");
        let log = if after == 0 {
            File::create(&path)
        } else {
            File::options().append(true).create(true).open(&path)
        };
        let log = log.with_context(|| format!("{}: cannot be written", path.display()))?;
        forget(run, after)
            .with_context(|| format!("{}: cannot be mended", run.join(ROLLOUTS).display()))?;
        let events = table.tensorboard.then(|| Events::create(run)).transpose()?;
        Ok(Self {
            run: run.to_owned(),
            table: table.clone(),
            rounds,
            log,
            events,
        })
    }

    /// Writes what is to be written of a round.
    pub(super) fn round(
        &mut self,
        records: &[RoundRecord],
        seconds: f64,
        swarm: &Swarm,
    ) -> Result<()> {
        let round = records.first().map_or(0, |record| record.round);
        let mean = |of: fn(&RoundRecord) -> Option<f64>| {
            let values: Vec<f64> = records.iter().filter_map(of).collect();
            match values.len() {
                0 => "-".to_owned(),
                count => format!("{:.4}", values.iter().sum::<f64>() / count as f64),
            }
        };
        let learned = records.iter().filter(|record| record.steps > 0).count();
        let bad: usize = records.iter().map(|record| record.bad_updates).sum();
        let bad = if bad > 0 {
            format!("  {bad} updates left out, not finite")
        } else {
            String::new()
        };
        writeln!(
            self.log,
            "round {round}/{}  own {}  train {}  eval {}  loss {}  {learned} of {} learned  {seconds:.2} s{bad}",
            self.rounds,
            mean(|r| r.own_reward),
            mean(|r| r.train_reward),
            mean(|r| r.eval_reward),
            mean(|r| r.loss),
            records.len()
        )
        .with_context(|| format!("{}: cannot be written", self.run.join("log.txt").display()))?;
        if let Some(events) = &mut self.events {
            events.round(records, &swarm.tasks().names())?;
        }
        let every = self.table.rollouts_every;
        if every > 0 && (round == 1 || round == self.rounds || round.is_multiple_of(every)) {
            let path = self.run.join(ROLLOUTS);
            self.keep(&path, &kept(round, swarm))
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        Ok(())
    }

    /// Writes the training set of an agent whose update was left out.
    pub(super) fn bad_update(&self, round: u32, agent: &Agent, swarm: &Swarm) -> Result<PathBuf> {
        let of_agent =
            |kept: &Kept| kept.agent == agent.id().0 || kept.drawn_by.contains(&agent.id().0);
        let set: Vec<Kept> = kept(round, swarm).into_iter().filter(of_agent).collect();
        let path = self
            .run
            .join(format!("bad-round-{round}-agent-{}.jsonl", agent.id().0));
        fs::write(&path, lines(&set)?)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(path)
    }

    fn keep(&self, path: &Path, rollouts: &[Kept]) -> Result<()> {
        let mut file = File::options().append(true).create(true).open(path)?;
        file.write_all(lines(rollouts)?.as_bytes())?;
        if file.metadata()?.len() > self.table.rollouts_mib << 20 {
            let round = rollouts.first().map_or(0, |kept| kept.round);
            let compressed = self.run.join(format!("rollouts-{round:08}.jsonl.gz"));
            let mut out = GzEncoder::new(File::create(&compressed)?, Compression::default());
            out.write_all(&fs::read(path)?)?;
            out.finish()?.sync_all()?;
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

fn lines(rollouts: &[Kept]) -> Result<String> {
    rollouts
        .iter()
        .map(|kept| Ok(serde_json::to_string(kept)? + "\n"))
        .collect()
}

/// The rollouts of a round, and who drew them.
fn kept(round: u32, swarm: &Swarm) -> Vec<Kept> {
    let drawn_by = |author: AgentId, index: u32| {
        let drew = swarm
            .agents()
            .iter()
            .filter(|agent| agent.drawn().contains(&(author, index)));
        drew.map(|agent| agent.id().0).collect()
    };
    let all = swarm.agents().iter().flat_map(Agent::own);
    all.map(|rollout| Kept {
        round,
        agent: rollout.author.0,
        index: rollout.index,
        task: rollout.question.task.to_string(),
        question: rollout.question.text.clone(),
        answer: rollout.question.answer.clone(),
        completions: rollout
            .completions
            .iter()
            .map(|completion| completion.text.clone())
            .collect(),
        rewards: rollout.rewards.clone(),
        drawn_by: drawn_by(rollout.author, rollout.index),
    })
    .collect()
}

/// The files of kept rollouts, in the order of their rounds.
fn files(run: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(run).with_context(|| format!("{}: cannot be read", run.display()))? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name == ROLLOUTS || (name.starts_with("rollouts-") && name.ends_with(".jsonl.gz")) {
            files.push(path);
        }
    }
    files.sort(); // the one that is not compressed yet comes last
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<Kept>> {
    let open = File::open(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    let lines: Box<dyn BufRead> = match file.extension().is_some_and(|end| end == "gz") {
        true => Box::new(BufReader::new(GzDecoder::new(open))),
        false => Box::new(BufReader::new(open)),
    };
    let mut all = Vec::new();
    for line in lines.lines() {
        // a line that was cut off while it was written is the last one
        let Ok(kept) = serde_json::from_str(
            &line.with_context(|| format!("{}: cannot be read", file.display()))?,
        ) else {
            break;
        };
        all.push(kept);
    }
    Ok(all)
}

/// The kept rollouts of a run.
///
/// # Errors
/// When a file cannot be read.
pub fn rollouts(run: &Path) -> Result<Vec<Kept>> {
    files(run)?
        .iter()
        .map(|file| read(file))
        .collect::<Result<Vec<_>>>()
        .map(|parts| parts.concat())
}

/// Takes out what was kept after a round.
fn forget(run: &Path, after: u32) -> Result<()> {
    for file in files(run)? {
        let before = read(&file)?;
        let kept: Vec<Kept> = before
            .iter()
            .filter(|kept| kept.round <= after)
            .cloned()
            .collect();
        if kept.len() == before.len() && after > 0 && !file.ends_with(ROLLOUTS) {
            continue;
        }
        if !kept.is_empty() {
            let beside = run.join(".new-rollouts.jsonl");
            fs::write(&beside, lines(&kept)?)?;
            fs::rename(&beside, run.join(ROLLOUTS))?;
        }
        if kept.is_empty() || !file.ends_with(ROLLOUTS) {
            fs::remove_file(&file)?;
        }
    }
    Ok(())
}
