//! Recorded rollouts, read to be published again.

use crate::kept_rollouts::{self, KeptRollout};
use crate::member::Record;
use crate::rollout::{AuthorLogprobs, Completion, FinishReason, Question};
use crate::text_file;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The rollouts of an agent by their rounds, from the `rollouts.jsonl` of a run or from its folder.
///
/// # Errors
/// Names the file and the line that cannot be understood, and a file without any rollout of that agent.
pub(super) fn read(path: &Path, agent: u16) -> Result<BTreeMap<u32, Vec<Record>>> {
    let all = match path.is_dir() {
        true => kept_rollouts::of_run(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?,
        false => lines(path)?,
    };
    let mut rounds: BTreeMap<u32, Vec<(u32, Record)>> = BTreeMap::new();
    for kept in all.into_iter().filter(|kept| kept.agent == agent) {
        let (round, index) = (kept.round, kept.index);
        rounds.entry(round).or_default().push((index, record(kept)));
    }
    let place = path.display();
    ensure!(
        !rounds.is_empty(),
        "{place}: found no rollout of agent {agent}, expected at least one"
    );
    let in_order = |mut records: Vec<(u32, Record)>| {
        records.sort_by_key(|(index, _)| *index);
        records.into_iter().map(|(_, record)| record).collect()
    };
    Ok(rounds
        .into_iter()
        .map(|(round, all)| (round, in_order(all)))
        .collect())
}

fn lines(file: &Path) -> Result<Vec<KeptRollout>> {
    let place = file.display();
    if file.extension().is_some_and(|end| end == "gz") {
        return kept_rollouts::of_file(file).with_context(|| format!("{place}: cannot be read"));
    }
    let bytes = fs::read(file).with_context(|| format!("{place}: cannot be read"))?;
    text_file::lines(&bytes)
        .map(|(number, line)| {
            let kept = serde_json::from_slice(line);
            kept.with_context(|| format!("{place}:{number}: is no recorded rollout"))
        })
        .collect()
}

fn record(kept: KeptRollout) -> Record {
    let question = Question {
        task: kept.task.into(),
        text: kept.question,
        answer: kept.answer,
        metadata: kept.metadata.unwrap_or_default().into(),
        seed: None,
    };
    let finish = kept.finish_reasons.into_iter();
    let finish = finish.chain(std::iter::repeat(FinishReason::Stop));
    let completion = |(text, finish_reason)| Completion {
        text,
        finish_reason,
        tokens: Vec::new(),
        logprobs: AuthorLogprobs::Untold,
    };
    let completions = kept.completions.into_iter().zip(finish).map(completion);
    (question, completions.collect())
}
