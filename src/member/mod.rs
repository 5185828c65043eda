//! Who stands behind an agent: whoever answers questions, and perhaps learns.
//!
//! A [`Responder`] answers; one that also learns hands out itself as a [`Learner`]. The swarm knows
//! these two traits alone, so that its whole round runs without a tensor. [`LanguageModel`] is a
//! model that learns by GRPO, or does not where it is frozen; [`Command`] is a program of the user's, [`Human`] the
//! person at the terminal, [`Recorded`] what was answered once, [`Poison`] an attacker; [`Scripted`] follows a script, for tests of the round and for trials without a model. Another kind of member is one file beside them and a name in the experiment's
//! TOML.

mod command;
mod human;
mod language_model;
mod model_folder;
mod poison;
mod prompts;
mod recorded;
mod scripted;
#[cfg(test)]
mod tests;

pub use crate::learn::UpdateStats;
pub use command::Command;
pub use human::Human;
pub use language_model::{LanguageModel, Setup};
pub use model_folder::ModelFolder;
pub use poison::{Attack, PAYLOAD, Poison};
pub use prompts::Prompts;
pub use recorded::{Record, Recorded};
pub use scripted::{Scripted, Trained};

use crate::rollout::{AuthorLogprobs, Completion, Prompt, Question, Rollout, ScoredRollout};
use crate::seed::Seed;
use anyhow::Result;
use std::path::Path;

/// Why a member cannot be asked a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Its prompt does not fit.
    #[error("the prompt has {tokens} tokens, expected at most {most}")]
    TooLong {
        /// Tokens of the prompt.
        tokens: usize,
        /// Most tokens of a prompt.
        most: usize,
    },
    /// The chat template or the tokenizer does not take it; why, with the file's name.
    #[error("{0}")]
    Refused(String),
}

/// A question as it is put to a member.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The question.
    pub question: &'a Question,
    /// What [`Responder::prompt`] made of it.
    pub prompt: &'a Prompt,
}

impl<'a> Asked<'a> {
    /// Questions with their prompts, as they are put to a member.
    pub fn all(questions: &'a [(Question, Prompt)]) -> Vec<Self> {
        let asked = |(question, prompt): &'a (Question, Prompt)| Self { question, prompt };
        questions.iter().map(asked).collect()
    }
}

/// Whoever answers questions.
pub trait Responder: Send {
    /// The question as this member reads it.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn prompt(&self, question: &Question) -> Result<Prompt, Unreadable>;

    /// `n` completions of each question, in order.
    ///
    /// # Errors
    /// When the member fails for good.
    fn complete(
        &mut self,
        asked: &[Asked<'_>],
        n: usize,
        seed: Seed,
    ) -> Result<Vec<Vec<Completion>>>;

    /// The questions and completions that it brings to a round, where it does not answer what it is asked.
    fn brings(&mut self, round: u32) -> Option<Vec<Record>> {
        let _ = round;
        None
    }

    /// What it publishes in the place of its own rollouts of a round.
    fn publishes(&self, own: Vec<Rollout>) -> Vec<Rollout> {
        own
    }

    /// Whether it is asked the held-out questions.
    fn is_examined(&self) -> bool {
        true
    }

    /// What there is to be said of it since the last time: a program that has died, answers that are none.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Whether an own completion's text would encode to other tokens than were generated.
    fn reencodes_differently(&self, completion: &Completion) -> bool;

    /// The log-probs of an own completion token by token, where any member with the same tokenizer would encode its
    /// text to the very tokens that were generated; none otherwise.
    fn token_logprobs(&self, completion: &Completion) -> Option<AuthorLogprobs> {
        let _ = completion;
        None
    }

    /// Itself as one that learns; none for a member that does not.
    fn learner(&mut self) -> Option<&mut dyn Learner> {
        None
    }

    /// Writes what it must remember to go on after a restart into an empty folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn save(&self, dir: &Path) -> Result<()> {
        let _ = dir;
        Ok(())
    }

    /// Goes on from what [`Responder::save`] wrote.
    ///
    /// # Errors
    /// When a file cannot be read or belongs to another member.
    fn restore(&mut self, dir: &Path) -> Result<()> {
        let _ = dir;
        Ok(())
    }

    /// Begins again from what it was at first, as one that has lost all it had learned.
    fn begin_again(&mut self) {}

    /// Writes its model into a folder in Hugging Face's layout, where it has one.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn export(&self, dir: &Path) -> Result<()> {
        let _ = dir;
        Ok(())
    }
}

/// Whoever learns from rollouts.
pub trait Learner {
    /// Learns from a training set.
    fn update(&mut self, training: &[TrainingRollout<'_>], seed: Seed) -> UpdateStats;
}

/// A rollout of the training set with the advantages of its completions.
#[derive(Clone, Debug)]
pub struct TrainingRollout<'a> {
    /// The rollout, scored by the learner.
    pub scored: &'a ScoredRollout,
    /// One advantage per completion.
    pub advantages: Vec<f64>,
    /// True when another agent generated it.
    pub foreign: bool,
}
