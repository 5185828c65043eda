//! A member that follows a script: for tests of the round, and for trials without a model.

use super::{Asked, Learner, Responder, TrainingRollout, Unreadable, UpdateStats};
use crate::rollout::{
    AuthorLogprobs, Completion, FinishReason, Prompt, Question, RolloutId, Token,
};
use crate::seed::Seed;
use anyhow::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// What a scripted member was given to learn from: the name and the advantages of each rollout.
pub type Trained = Vec<(RolloutId, Vec<f64>)>;

type Script = Box<dyn FnMut(&Question, usize, Seed) -> String + Send>;

/// The fingerprint of a tokenizer whose tokens are characters.
const CHARACTERS: u64 = 0;

/// Longest answer, in characters.
const LONGEST: usize = 200;

/// Answers by a script and keeps a log of its updates.
pub struct Scripted {
    script: Script,
    log: Arc<Mutex<Vec<Trained>>>,
}

impl Scripted {
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

    /// The log of updates, one entry per round; it stays readable after the member has moved away.
    pub fn log(&self) -> Arc<Mutex<Vec<Trained>>> {
        Arc::clone(&self.log)
    }

    fn answer(&mut self, question: &Question, index: usize, seed: Seed) -> Completion {
        let text = (self.script)(question, index, seed);
        let ended = text.chars().count() < LONGEST;
        let text: String = text.chars().take(LONGEST).collect();
        // one token per character
        let token = |c| Token {
            id: u32::from(c),
            logprob: -1.0,
            entropy: 1.0,
        };
        Completion {
            tokens: text.chars().map(token).collect(),
            text,
            finish_reason: match ended {
                true => FinishReason::Stop,
                false => FinishReason::Length,
            },
            logprobs: AuthorLogprobs::Untold,
        }
    }
}

impl Responder for Scripted {
    fn prompt(&self, question: &Question) -> Result<Prompt, Unreadable> {
        let tokens = question.text.chars().map(u32::from).collect();
        Ok(Prompt { tokens })
    }

    fn complete(
        &mut self,
        asked: &[Asked<'_>],
        n: usize,
        seed: Seed,
    ) -> Result<Vec<Vec<Completion>>> {
        let mut groups = Vec::new();
        for (i, asked) in asked.iter().enumerate() {
            let seed = seed.child("prompt", i as u64);
            let answer =
                |index| self.answer(asked.question, index, seed.child("row", index as u64));
            groups.push((0..n).map(answer).collect());
        }
        Ok(groups)
    }

    fn reencodes_differently(&self, completion: &Completion) -> bool {
        let generated = completion.tokens.iter().map(|t| t.id);
        !completion.text.chars().map(u32::from).eq(generated)
    }

    fn token_logprobs(&self, completion: &Completion) -> Option<AuthorLogprobs> {
        Some(AuthorLogprobs::Token {
            tokenizer: CHARACTERS,
            logprobs: completion.tokens.iter().map(|t| t.logprob).collect(),
        })
    }

    fn learner(&mut self) -> Option<&mut dyn Learner> {
        Some(self)
    }
}

impl Learner for Scripted {
    fn update(&mut self, training: &[TrainingRollout<'_>], _: Seed) -> UpdateStats {
        let entry = training
            .iter()
            .map(|t| (t.scored.rollout.id, t.advantages.clone()));
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(entry.collect());
        UpdateStats::default()
    }
}
