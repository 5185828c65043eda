//! A policy that follows a script: for tests of the round loop, and for rehearsals without a model.

use super::{Decoding, Policy, TrainingRollout, UpdateStats};
use crate::rollout::{AgentId, Completion, FinishReason, Question, Token};
use crate::seed::Seed;
use std::sync::{Arc, Mutex};

/// What a scripted policy was given to learn from: author, index and advantages of each rollout.
pub type Trained = Vec<(AgentId, u32, Vec<f64>)>;

type Script = Box<dyn FnMut(&Question, usize, Seed) -> String + Send>;

/// Answers by a script and keeps a log of its updates.
pub struct ScriptedPolicy {
    script: Script,
    log: Arc<Mutex<Vec<Trained>>>,
}

impl ScriptedPolicy {
    /// Answers with `script(question, index in the group, seed of the completion)`.
    pub fn new(script: impl FnMut(&Question, usize, Seed) -> String + Send + 'static) -> Self {
        Self {
            script: Box::new(script),
            log: Arc::default(),
        }
    }

    /// Gives the right answer in its tags with this probability, and no answer else.
    pub fn with_skill(skill: f64) -> Self {
        Self::new(move |question, _, seed| {
            let right = seed.rng().uniform() < skill;
            let answer = question.answer.as_deref().filter(|_| right);
            answer.map_or_else(
                || "I do not know.".to_owned(),
                |a| format!("<answer>{a}</answer>"),
            )
        })
    }

    /// The log of updates, one entry a round; it stays readable after the policy has moved away.
    pub fn log(&self) -> Arc<Mutex<Vec<Trained>>> {
        Arc::clone(&self.log)
    }
}

impl Policy for ScriptedPolicy {
    fn complete(
        &mut self,
        questions: &[Question],
        n: usize,
        decoding: &Decoding,
        seed: Seed,
    ) -> Vec<Vec<Completion>> {
        let mut completion = |(q, question): (usize, &Question), index: usize| {
            let seed = seed.child("prompt", q as u64).child("row", index as u64);
            let text = (self.script)(question, index, seed);
            // one token a character, as far as the longest length allows
            let longest = decoding.max_completion_length;
            let tokens: Vec<Token> = text
                .chars()
                .take(longest)
                .map(|c| Token {
                    id: c as u32,
                    logprob: -1.0,
                    entropy: 1.0,
                })
                .collect();
            let finish_reason = if text.chars().count() < longest {
                FinishReason::Stop
            } else {
                FinishReason::Length
            };
            Completion {
                text: text.chars().take(longest).collect(),
                finish_reason,
                tokens,
            }
        };
        questions
            .iter()
            .enumerate()
            .map(|q| (0..n).map(|index| completion(q, index)).collect())
            .collect()
    }

    fn update(&mut self, training: &[TrainingRollout<'_>], _: &Decoding, _: Seed) -> UpdateStats {
        let entry = training
            .iter()
            .map(|t| (t.rollout.author, t.rollout.index, t.advantages.clone()));
        self.log
            .lock()
            .expect("no holder of the log has panicked")
            .push(entry.collect());
        UpdateStats::default()
    }

    fn prompt_length(&self, question: &Question) -> Option<usize> {
        Some(question.text.chars().count())
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        !completion
            .text
            .chars()
            .map(u32::from)
            .eq(completion.tokens.iter().map(|t| t.id))
    }
}
