//! Which questions an agent asks itself in a round.
//!
//! The paper asks fresh ones. The other rules look at what the swarm has shared: the questions that divided others, or
//! how often each task has been answered. Whatever the rule, an agent answers by itself, so that what it learns from
//! its own rollouts stays on-policy; held-out questions are never changed.

use super::memory::Memory;
use super::questions::{Split, TaskProportions, Tasks, split_of};
use crate::rollout::{Question, RolloutId, ScoredRollout, mean};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF};
use std::collections::HashSet;
use std::ops::Range;

/// Where agents take their questions from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionStream {
    /// Each agent asks its own (the paper's text).
    Independent,
    /// All agents ask the same (GenRL's code).
    Shared,
}

/// How an agent chooses what it asks itself (`swarm.ask`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Fresh questions, each task by its proportion, as in the paper.
    #[default]
    Fresh,
    /// Half of them are questions that divided another agent in the last seven rounds, the likelier the closer to half
    /// of its reward it got, each at most twice; the rest is fresh.
    SharedQuestions,
    /// Fresh questions of tasks that the swarm neither always nor never solves: a draw of each task's mean reward from
    /// what all have shown so far (Thompson), weighted by its spread.
    TaskStatistics,
}

/// Rounds whose questions are asked again.
const ROUNDS: u32 = 7;
/// How often an agent asks itself a question that another was asked.
const MOST_USES: u32 = 2;
/// What a round leaves of the counts before it.
const DECAY: f64 = 0.98;
/// The least share of the questions that a task has.
const FLOOR: f64 = 0.05;

/// What an agent knows of the questions of the swarm.
#[derive(Debug, Default)]
pub(super) struct Asker {
    /// Others' rollouts that had a signal.
    pub(super) known: Memory,
    /// Of each task, the rewards of all completions that were seen, and what they fell short of 1.
    pub(super) counts: Vec<[f64; 2]>,
    /// Those of the others that were asked again this round.
    asked: Vec<RolloutId>,
}

/// What questions are made from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) ask: Ask,
    pub(super) tasks: &'a Tasks,
    pub(super) proportions: &'a TaskProportions,
    /// Where fresh questions come from in this round.
    pub(super) stream: Seed,
    /// The agent's in this round.
    pub(super) seed: Seed,
}

impl Source<'_> {
    /// The stream of a round: an agent's own, or that of all.
    pub(super) fn stream(kind: QuestionStream, own: Seed, all: Seed, round: u32) -> Seed {
        let stream = match kind {
            QuestionStream::Independent => own,
            QuestionStream::Shared => all,
        };
        stream.child("questions", u64::from(round))
    }
}

impl Asker {
    /// The first questions of a round.
    pub(super) fn first(&mut self, count: usize, source: Source<'_>) -> Vec<Question> {
        self.asked.clear();
        let mut questions = self.fresh(0..count, source);
        if source.ask == Ask::SharedQuestions {
            let mut rng = source.seed.child("shared-questions", 0).rng();
            let half = (count + rng.below(2) as usize) / 2;
            let known = weighted(&self.known.usable(MOST_USES), half, source.seed);
            for (place, known) in questions.iter_mut().zip(known) {
                self.asked.push(known.rollout.id);
                *place = known.rollout.question.clone();
            }
        }
        questions
    }

    /// Fresh questions, by their places in the stream.
    pub(super) fn fresh(&self, places: Range<usize>, source: Source<'_>) -> Vec<Question> {
        let question = |i: usize| {
            let seed = source.stream.child("question", i as u64);
            let by_counts = self.proportions(i, source);
            let proportions = by_counts.as_ref().unwrap_or(source.proportions);
            source.tasks.question(proportions, Split::Training, seed)
        };
        places.map(question).collect()
    }

    /// How often each task would be asked now by what has been seen of it; none where that does not matter.
    fn proportions(&self, place: usize, source: Source<'_>) -> Option<TaskProportions> {
        if source.ask != Ask::TaskStatistics || self.counts.is_empty() {
            return None;
        }
        let mut rng = source.seed.child("thompson", place as u64).rng();
        let draws: Vec<f64> = self.counts.iter().map(|_| rng.uniform()).collect();
        let spread = |(counts, uniform): (&[f64; 2], f64)| {
            let beta = Beta::new(1.0 + counts[0], 1.0 + counts[1]).ok()?;
            let likely = beta.inverse_cdf(uniform);
            Some((likely * (1.0 - likely)).max(0.0).sqrt())
        };
        let spreads: Option<Vec<f64>> = self.counts.iter().zip(draws).map(spread).collect();
        TaskProportions::new(with_floor(&spreads?, source.proportions)).ok()
    }

    /// Takes in what has been seen in a round.
    pub(super) fn learn(
        &mut self,
        round: u32,
        ask: Ask,
        tasks: &[String],
        own: &[&ScoredRollout],
        pool: &[ScoredRollout],
    ) {
        match ask {
            Ask::Fresh => {}
            Ask::SharedQuestions => {
                let text = |r: &&ScoredRollout| r.rollout.question.text.clone();
                let known = self.known.usable(0);
                let mut texts: HashSet<String> = known.iter().chain(own).map(text).collect();
                // what is held out is never asked in training, whoever shows it
                let may = |r: &ScoredRollout| split_of(&r.rollout.question) == Split::Training;
                let wanted = |r: &&ScoredRollout| r.has_signal() && may(r);
                let new = pool.iter().filter(wanted);
                let new = new.filter(|r| texts.insert(text(r)));
                let new: Vec<&ScoredRollout> = new.collect();
                self.known.add(round, ROUNDS, new, &self.asked);
            }
            Ask::TaskStatistics => {
                self.counts.resize(tasks.len(), [0.0; 2]);
                self.counts
                    .as_flattened_mut()
                    .iter_mut()
                    .for_each(|count| *count *= DECAY);
                for seen in own.iter().copied().chain(pool) {
                    let task = tasks.iter().position(|t| *t == seen.rollout.question.task);
                    for reward in task.into_iter().flat_map(|_| &seen.rewards) {
                        let reward = reward.clamp(0.0, 1.0);
                        let [gained, missed] = &mut self.counts[task.unwrap_or_default()];
                        *gained += reward;
                        *missed += 1.0 - reward;
                    }
                }
            }
        }
    }
}

/// So many of the rollouts, each the likelier the more its rewards vary about their mean (Efraimidis and Spirakis).
fn weighted<'a>(known: &[&'a ScoredRollout], count: usize, seed: Seed) -> Vec<&'a ScoredRollout> {
    let mut rng = seed.child("shared-questions", 1).rng();
    let key = |rollout: &&'a ScoredRollout| {
        let p = mean(&rollout.rewards).clamp(0.0, 1.0);
        let uniform = rng.uniform().max(f64::MIN_POSITIVE);
        (
            uniform.ln() / (p * (1.0 - p)).max(f64::MIN_POSITIVE),
            *rollout,
        )
    };
    let mut keyed: Vec<_> = known.iter().map(key).collect();
    keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
    keyed.truncate(count);
    keyed.into_iter().map(|(_, rollout)| rollout).collect()
}

/// Proportional to the spreads, but for the least share of every task that is asked at all.
fn with_floor(spreads: &[f64], base: &TaskProportions) -> Vec<f64> {
    let asked = |i: usize| base.of(i) > 0.0;
    let count = (0..spreads.len()).filter(|&i| asked(i)).count() as f64;
    let floor = FLOOR.min(1.0 / count);
    let spread = |i: usize| if asked(i) { spreads[i] } else { 0.0 };
    let sum: f64 = (0..spreads.len()).map(spread).sum();
    let share = |i: usize| match (asked(i), sum > 0.0) {
        (false, _) => 0.0,
        (true, false) => 1.0 / count,
        (true, true) => floor + (1.0 - floor * count) * spreads[i] / sum,
    };
    (0..spreads.len()).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{
        AgentId, AuthorLogprobs, Completion, FinishReason, Metadata, Prompt, Rollout,
    };
    use std::sync::Arc;

    /// A rollout of another agent that was right once and wrong once.
    fn shown(index: u32, text: String) -> ScoredRollout {
        let completion = |text: &str| Completion {
            text: text.to_owned(),
            finish_reason: FinishReason::Stop,
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Untold,
        };
        let rollout = Rollout {
            id: RolloutId {
                author: AgentId(1),
                round: 1,
                index,
            },
            question: Question {
                task: "bf".into(),
                text,
                answer: None,
                metadata: Metadata::from(serde_json::Map::new()),
                seed: None,
            },
            completions: vec![completion("right"), completion("wrong")],
        };
        ScoredRollout {
            rollout: Arc::new(rollout),
            prompt: Prompt::of_text(),
            rewards: vec![1.0, 0.0],
        }
    }

    #[test]
    fn questions_that_are_held_out_are_not_asked_whoever_shows_them() {
        let pool: Vec<_> = (0..64).map(|i| shown(i, format!("question {i}"))).collect();
        let split = |r: &&ScoredRollout| split_of(&r.rollout.question);
        let trained = pool.iter().filter(|r| split(r) == Split::Training).count();
        assert!(trained > 0 && trained < pool.len());
        let mut asker = Asker::default();
        asker.learn(1, Ask::SharedQuestions, &[], &[], &pool);
        let known = asker.known.usable(0);
        assert_eq!(known.len(), trained);
        assert!(known.iter().all(|r| split(r) == Split::Training));
    }

    #[test]
    fn every_task_that_is_asked_keeps_a_share() {
        let base = TaskProportions::new(vec![1.0, 0.0, 2.0, 1.0]).unwrap();
        let found = with_floor(&[0.3, 9.0, 0.0, 0.1], &base);
        let expected = [0.05 + 0.85 * 0.75, 0.0, 0.05, 0.05 + 0.85 * 0.25];
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-12,
                "{found} is not {expected}"
            );
        }
        let even = with_floor(&[0.0; 4], &base);
        assert_eq!(even, [1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0]);
    }
}
