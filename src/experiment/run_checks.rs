//! What ends a run before its last round: weights or logits that are not finite, too many updates left
//! out, prompts that are too long.

use super::config::{ExperimentFile, Overlong};
use super::rollout_log::RolloutLog;
use super::watcher::Watcher;
use crate::swarm::{RoundRecord, Swarm};
use anyhow::{Result, anyhow};

/// Why a run cannot go on, whatever is tried; other runs can.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunFailed(pub String);

fn failed(why: String) -> Result<()> {
    Err(anyhow!(RunFailed(why)))
}

/// Updates in a row that were left out, of each agent.
pub(super) struct BadUpdates(pub(super) Vec<usize>);

impl BadUpdates {
    /// Counts those of a round and keeps their training sets.
    ///
    /// # Errors
    /// When an agent has too many in a row.
    pub(super) fn count(
        &mut self,
        most: usize,
        records: &[RoundRecord],
        swarm: &Swarm,
        log: &RolloutLog,
        watcher: &mut dyn Watcher,
    ) -> Result<()> {
        self.0.resize(records.len(), 0);
        for ((count, record), agent) in self.0.iter_mut().zip(records).zip(swarm.agents()) {
            if record.bad_updates == 0 {
                // steps of momentum alone tell nothing
                let learned = record.steps > record.steps_without_signal;
                *count = if learned { 0 } else { *count };
                continue;
            }
            *count += 1;
            let (round, number, left_out) = (record.round, record.agent, record.bad_updates);
            let batch = log.bad_update(round, agent, swarm)?;
            let note = format!(
                "round {round}, agent {number}: loss or gradient is not finite, {left_out} updates left \
                 out; the batch is in {}",
                batch.display()
            );
            if *count > most {
                return failed(format!(
                    "{note}; {count} in a row, where train.max_bad_updates allows {most}: the step size \
                     may be too large"
                ));
            }
            watcher.note(note);
        }
        Ok(())
    }
}

/// # Errors
/// When the distributions that an agent generated from or its weights are not numbers any more.
pub(super) fn diverged(records: &[RoundRecord], swarm: &Swarm) -> Result<()> {
    for (
        agent,
        RoundRecord {
            round,
            agent: number,
            entropy,
            ..
        },
    ) in swarm.agents().iter().zip(records)
    {
        let why = match (agent.is_sound(), entropy.is_none_or(f64::is_finite)) {
            (true, true) => continue,
            (false, _) => "a weight is not finite after the update",
            (true, false) => "its model gives logits that are not finite",
        };
        return failed(format!(
            "round {round}, agent {number}: {why}; the step size may be too large"
        ));
    }
    Ok(())
}

/// # Errors
/// When a prompt was too long and the experiment does not allow that.
pub(super) fn overlong(keys: &ExperimentFile, records: &[RoundRecord]) -> Result<()> {
    let record = records.iter().find(|record| record.overlong_prompts > 0);
    let allowed = keys.generate.overlong_prompts == Overlong::Drop;
    let Some(RoundRecord {
        round,
        agent,
        overlong_prompts,
        ..
    }) = record.filter(|_| !allowed)
    else {
        return Ok(());
    };
    failed(format!(
        "round {round}, agent {agent}: {overlong_prompts} prompts are longer than \
         generate.max_prompt_length or the model allows; generate.overlong_prompts = \"drop\" leaves \
         them out"
    ))
}
