//! What a run leaves to be watched and read, besides its numbers: a line per round in `log.txt`, event
//! files for TensorBoard, and the rollouts of some rounds in `rollouts.jsonl`.

use super::tensorboard::Events;
use crate::kept_rollouts::{self, KeptRollout, to_lines};
use crate::results_layout::{LOG, ROLLOUTS, rollout_files, rotated_rollouts, write_atomically};
use crate::rollout::{RolloutId, ScoredRollout};
use crate::swarm::{Agent, RoundRecord, Swarm};
use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Map;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is written for people and tools to look at. It shapes no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogTable {
    /// Rounds between two whose rollouts are kept, the first and the last included; 0 for none.
    pub rollouts_every: u32,
    /// Size in MiB at which the file of rollouts is compressed and another one begun.
    pub rollouts_mib: u64,
    /// Whether rollouts are kept with all that is needed to publish them again, as an agent of kind `file` does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Whether TensorBoard can look at the run.
    pub tensorboard: bool,
    /// Whether a finished run is reported by its means over agents, in `means.csv`: a tenth of the size.
    pub means: bool,
}

impl Default for LogTable {
    fn default() -> Self {
        Self {
            rollouts_every: 50,
            rollouts_mib: 8,
            whole: false,
            tensorboard: false,
            means: false,
        }
    }
}

/// The writer of one run.
pub(super) struct RolloutLog {
    run: PathBuf,
    table: LogTable,
    rounds: u32,
    log: File,
    events: Option<Events>,
}

/// Begin and end of the names of training sets whose updates were left out.
const BAD_ROUND: &str = "bad-round-";

fn bad_round(round: u32, agent: u16) -> String {
    format!("{BAD_ROUND}{round}-agent-{agent}.jsonl")
}

impl RolloutLog {
    /// Goes on after a round, 0 for a fresh run: what was written of later rounds is taken out
    /// everywhere, since they are made again.
    pub(super) fn open(run: &Path, table: &LogTable, rounds: u32, after: u32) -> Result<Self> {
        forget_rollouts(run, after)?;
        forget_bad_rounds(run, after)?;
        Events::forget(run, after)?;
        let path = run.join(LOG);
        let unwritten = || format!("{}: cannot be written", path.display());
        let old = fs::read_to_string(&path).unwrap_or_default();
        let whole = old
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let kept: String = whole.filter(|line| logged_round(line) <= after).collect();
        if kept != old {
            write_atomically(&path, kept.as_bytes()).with_context(unwritten)?;
        }
        let log = File::options().append(true).create(true).open(&path);
        Ok(Self {
            run: run.to_owned(),
            table: table.clone(),
            rounds,
            log: log.with_context(unwritten)?,
            events: table.tensorboard.then(|| Events::create(run)).transpose()?,
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
        let line = self.line(round, records, seconds);
        writeln!(self.log, "{line}")
            .with_context(|| format!("{}: cannot be written", self.run.join(LOG).display()))?;
        if let Some(events) = &mut self.events {
            events.round(records, swarm.columns())?;
        }
        let every = self.table.rollouts_every;
        if every > 0 && (round == 1 || round == self.rounds || round.is_multiple_of(every)) {
            let path = self.run.join(ROLLOUTS);
            self.keep(&path, &kept(round, swarm, self.table.whole))
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        Ok(())
    }

    /// The line of a round, which begins as [`logged_round`] expects.
    fn line(&self, round: u32, records: &[RoundRecord], seconds: f64) -> String {
        let mean = |of: fn(&RoundRecord) -> Option<f64>| {
            let values: Vec<f64> = records.iter().filter_map(of).collect();
            match values.len() {
                0 => "-".to_owned(),
                count => format!("{:.4}", values.iter().sum::<f64>() / count as f64),
            }
        };
        let (own, train) = (mean(|r| r.own_reward), mean(|r| r.train_reward));
        let (eval, loss) = (mean(|r| r.eval_reward), mean(|r| r.loss));
        let learns = |record: &&RoundRecord| record.steps > record.steps_without_signal;
        let learned = records.iter().filter(learns).count();
        let bad = match records.iter().map(|record| record.bad_updates).sum() {
            0 => String::new(),
            bad => format!("  {bad} updates left out, not finite"),
        };
        let (rounds, agents) = (self.rounds, records.len());
        format!(
            "round {round}/{rounds}  own {own}  train {train}  eval {eval}  loss {loss}  {learned} of \
             {agents} learned  {seconds:.2} s{bad}"
        )
    }

    /// Writes the training set of an agent whose update was left out.
    pub(super) fn bad_update(&self, round: u32, agent: &Agent, swarm: &Swarm) -> Result<PathBuf> {
        let id = agent.id().0;
        let of_agent = |kept: &KeptRollout| kept.agent == id || kept.drawn_by.contains(&id);
        let set: Vec<_> = kept(round, swarm, false)
            .into_iter()
            .filter(of_agent)
            .collect();
        let path = self.run.join(bad_round(round, id));
        fs::write(&path, to_lines(&set)?)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(path)
    }

    /// Appends rollouts, and compresses the file when it has grown too large.
    fn keep(&self, path: &Path, rollouts: &[KeptRollout]) -> Result<()> {
        let mut file = File::options().append(true).create(true).open(path)?;
        file.write_all(to_lines(rollouts)?.as_bytes())?;
        if file.metadata()?.len() > self.table.rollouts_mib << 20 {
            let round = rollouts.first().map_or(0, |kept| kept.round);
            let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
            compressed.write_all(&fs::read(path)?)?;
            write_atomically(
                &self.run.join(rotated_rollouts(round)),
                &compressed.finish()?,
            )?;
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// The round of a line of the log; 0 for a line that has none.
fn logged_round(line: &str) -> u32 {
    let round = line
        .strip_prefix("round ")
        .and_then(|rest| rest.split('/').next());
    round.and_then(|round| round.parse().ok()).unwrap_or(0)
}

/// The rollouts of a round, and who drew them.
fn kept(round: u32, swarm: &Swarm, whole: bool) -> Vec<KeptRollout> {
    let drawn_by = |id: RolloutId| {
        let drew = swarm
            .agents()
            .iter()
            .filter(|agent| agent.drawn().contains(&id));
        drew.map(|agent| agent.id().0).collect()
    };
    let kept = |scored: &ScoredRollout| {
        let (id, question) = (scored.rollout.id, &scored.rollout.question);
        let completions = || scored.rollout.completions.iter();
        KeptRollout {
            round,
            agent: id.author.0,
            index: id.index,
            task: question.task.to_string(),
            question: question.text.clone(),
            answer: question.answer.clone(),
            completions: completions()
                .map(|completion| completion.text.clone())
                .collect(),
            rewards: scored.rewards.clone(),
            drawn_by: drawn_by(id),
            metadata: whole.then(|| Map::clone(&question.metadata)),
            finish_reasons: completions()
                .filter(|_| whole)
                .map(|c| c.finish_reason)
                .collect(),
        }
    };
    swarm
        .agents()
        .iter()
        .flat_map(Agent::own)
        // by a virtual clock an agent may not have ended its part of this round
        .filter(|own| own.rollout.id.round == round)
        .map(kept)
        .collect()
}

/// Takes out the rollouts of rounds after one, and those that stand twice. What is left of a file that
/// was compressed goes back to the one that is written to.
fn forget_rollouts(run: &Path, after: u32) -> Result<()> {
    let current = run.join(ROLLOUTS);
    let mend = || -> Result<()> {
        let (mut left, mut stale, mut known) = (Vec::new(), Vec::new(), 0);
        for file in rollout_files(run)? {
            let before = kept_rollouts::of_file(&file)?;
            let wanted = |kept: &&KeptRollout| kept.round > known && kept.round <= after;
            let wanted: Vec<KeptRollout> = before.iter().filter(wanted).cloned().collect();
            known = wanted.last().map_or(known, |kept| kept.round);
            let whole = !wanted.is_empty() && wanted.len() == before.len();
            if file == current {
                left.extend(wanted);
            } else if !whole {
                left.extend(wanted);
                stale.push(file);
            }
        }
        if !left.is_empty() {
            write_atomically(&current, to_lines(&left)?.as_bytes())?;
        } else if current.exists() {
            stale.push(current.clone());
        }
        // last, so that nothing is lost where the program ends here
        Ok(stale.iter().try_for_each(fs::remove_file)?)
    };
    mend().with_context(|| format!("{}: cannot be mended", current.display()))
}

/// Removes the training sets of bad updates of rounds after one.
fn forget_bad_rounds(run: &Path, after: u32) -> Result<()> {
    let entries =
        fs::read_dir(run).with_context(|| format!("{}: cannot be read", run.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let round = name
            .strip_prefix(BAD_ROUND)
            .and_then(|rest| rest.split('-').next());
        let round: Option<u32> = round.and_then(|round| round.parse().ok());
        if round.is_some_and(|round| round > after) {
            fs::remove_file(&path)
                .with_context(|| format!("{}: cannot be removed", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(round: u32) -> KeptRollout {
        KeptRollout {
            round,
            agent: 0,
            index: 0,
            task: "bf".into(),
            question: "q".into(),
            answer: None,
            completions: vec!["a".into()],
            rewards: vec![1.0],
            drawn_by: Vec::new(),
            metadata: None,
            finish_reasons: Vec::new(),
        }
    }

    fn compress(path: &Path, text: &str) {
        let mut out = GzEncoder::new(File::create(path).unwrap(), Compression::default());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap();
    }

    /// A run whose rounds 1 to 4 are compressed, two by two, and 5 is not.
    fn run() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for rounds in [[1, 2], [3, 4]] {
            let text = to_lines(&rounds.map(kept)).unwrap();
            compress(&dir.path().join(rotated_rollouts(rounds[1])), &text);
        }
        fs::write(dir.path().join(ROLLOUTS), to_lines(&[kept(5)]).unwrap()).unwrap();
        dir
    }

    fn rounds(run: &Path) -> Vec<u32> {
        let all = kept_rollouts::of_run(run).unwrap();
        all.iter().map(|kept| kept.round).collect()
    }

    #[test]
    fn later_rounds_are_taken_out_of_every_file() {
        for after in 0..=5 {
            let run = run();
            forget_rollouts(run.path(), after).unwrap();
            assert_eq!(rounds(run.path()), (1..=after).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_kill_while_a_file_is_compressed_loses_and_doubles_nothing() {
        // the archive is there, and what it was made of too
        let twice = run();
        fs::write(
            twice.path().join(ROLLOUTS),
            to_lines(&[3, 4].map(kept)).unwrap(),
        )
        .unwrap();
        assert_eq!(rounds(twice.path()), [1, 2, 3, 4]);
        forget_rollouts(twice.path(), 4).unwrap();
        assert_eq!(rounds(twice.path()), [1, 2, 3, 4]);
        assert!(!twice.path().join(ROLLOUTS).exists());
        // an archive that an older version or a lost disk left torn
        let torn = run();
        let archive = torn.path().join(rotated_rollouts(4));
        let bytes = fs::read(&archive).unwrap();
        fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
        fs::write(
            torn.path().join(ROLLOUTS),
            to_lines(&[3, 4].map(kept)).unwrap(),
        )
        .unwrap();
        forget_rollouts(torn.path(), 3).unwrap();
        assert_eq!(rounds(torn.path()), [1, 2, 3]);
    }

    #[test]
    fn a_log_is_cut_off_where_the_run_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join(LOG);
        let stale = ["bad-round-2-agent-0.jsonl", "bad-round-3-agent-11.jsonl"];
        fs::write(&log, "round 1/9  a\nround 2/9  b\nround 3/9  c\nround 4/9").unwrap();
        stale
            .iter()
            .for_each(|name| fs::write(dir.path().join(name), "").unwrap());
        drop(RolloutLog::open(dir.path(), &LogTable::default(), 9, 2).unwrap());
        assert_eq!(
            fs::read_to_string(&log).unwrap(),
            "round 1/9  a\nround 2/9  b\n"
        );
        assert_eq!(
            stale.map(|name| dir.path().join(name).exists()),
            [true, false]
        );
    }
}
