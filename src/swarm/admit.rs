//! What an agent takes from the bus: nothing that could crash, stall or swell it, whoever sent it.

use super::questions::Tasks;
use crate::rollout::{AgentId, Completion, Metadata, Rollout};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Longest text of a question, an answer, a completion or a piece of metadata, in bytes.
const LONGEST_TEXT: usize = 1 << 16;

/// Most completions of a rollout.
const MOST_COMPLETIONS: usize = 4096;

/// Most values in the metadata of a question.
const MOST_VALUES: usize = 1 << 14;

/// Deepest nesting of them.
const DEEPEST: usize = 32;

/// The rollouts of others that can be used, scored by the receiver's own verifiers.
pub(super) fn admit(published: &[&Rollout], tasks: &Tasks, most_of_one: usize) -> Vec<Rollout> {
    let mut seen = HashSet::new();
    let mut counts = HashMap::<AgentId, usize>::new();
    let mut admitted = Vec::new();
    for rollout in published {
        let count = counts.entry(rollout.author).or_default();
        if *count >= most_of_one
            || !is_sane(rollout)
            || !seen.insert((rollout.author, rollout.index))
        {
            continue;
        }
        if let Some(rollout) = scored((*rollout).clone(), tasks) {
            *count += 1;
            admitted.push(rollout);
        }
    }
    admitted
}

/// True for a rollout of a size that a task could have made.
fn is_sane(rollout: &Rollout) -> bool {
    let question = &rollout.question;
    let short = |text: &str| text.len() <= LONGEST_TEXT;
    let mut values = MOST_VALUES;
    short(&question.task)
        && short(&question.text)
        && question.answer.as_deref().is_none_or(short)
        && (1..=MOST_COMPLETIONS).contains(&rollout.completions.len())
        && rollout
            .completions
            .iter()
            .all(|completion| short(&completion.text))
        && match &question.metadata {
            Metadata::Later(_) => true, // made by a task of this program, when a scorer reads it
            Metadata::Given(map) => map
                .iter()
                .all(|(key, value)| short(key) && is_small(value, &mut values, DEEPEST)),
        }
}

/// True for a value whose parts are few enough, counted down in `left`, and not too long or deep.
fn is_small(value: &Value, left: &mut usize, depth: usize) -> bool {
    if *left == 0 || depth == 0 {
        return false;
    }
    *left -= 1;
    match value {
        Value::String(text) => text.len() <= LONGEST_TEXT,
        Value::Array(list) => list.iter().all(|value| is_small(value, left, depth - 1)),
        Value::Object(map) => map
            .iter()
            .all(|(key, value)| key.len() <= LONGEST_TEXT && is_small(value, left, depth - 1)),
        _ => true,
    }
}

/// The rollout with a reward a completion; `None` when the task is unknown or the group is empty.
pub(super) fn scored(mut rollout: Rollout, tasks: &Tasks) -> Option<Rollout> {
    let score = |completion: &Completion| tasks.score(&rollout.question, &completion.text);
    rollout.rewards = rollout
        .completions
        .iter()
        .map(score)
        .collect::<Option<_>>()?;
    (!rollout.rewards.is_empty()).then_some(rollout)
}
