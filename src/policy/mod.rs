//! What the swarm needs of a policy: completions, and learning from rollouts.
//!
//! [`QwenPolicy`] is a language model with its tokenizer and optimizer. [`ScriptedPolicy`] follows
//! a script, so that the whole round loop can be tested and rehearsed in milliseconds.

mod qwen;
mod scripted;
#[cfg(test)]
mod tests;

pub use crate::learn::{Decoding, TrainConfig, UpdateStats};
pub use qwen::{Language, QwenPolicy};
pub use scripted::{ScriptedPolicy, Trained};

use crate::model::{Decoder, weights};
use crate::rollout::{Completion, Question, Rollout};
use crate::seed::Seed;
use std::path::Path;

/// A rollout of the training set with the advantages of its completions.
#[derive(Clone, Debug)]
pub struct TrainingRollout<'a> {
    /// The rollout, scored by the learner.
    pub rollout: &'a Rollout,
    /// One advantage a completion.
    pub advantages: Vec<f64>,
    /// True when another agent generated it.
    pub foreign: bool,
}

/// A model that answers questions and learns from rollouts.
pub trait Policy: Send {
    /// `n` completions of each question, all of which can be asked.
    fn complete(
        &mut self,
        questions: &[Question],
        n: usize,
        decoding: &Decoding,
        seed: Seed,
    ) -> Vec<Vec<Completion>>;

    /// Learns from a training set. `decoding` is how the own completions were generated.
    fn update(
        &mut self,
        training: &[TrainingRollout<'_>],
        decoding: &Decoding,
        seed: Seed,
    ) -> UpdateStats;

    /// What the others are shown of its own rollouts: all of them, as text.
    fn share(&self, own: &[Rollout]) -> Vec<Rollout> {
        own.iter().map(Rollout::shared).collect()
    }

    /// Tokens of a question's prompt; none where it cannot be asked, because the prompt is longer than
    /// allowed or the chat template refuses the text.
    fn prompt_length(&self, question: &Question) -> Option<usize>;

    /// Writes what it must remember to go on after a restart into an empty folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    fn save(&self, dir: &Path) -> Result<(), weights::Error> {
        let _ = dir;
        Ok(())
    }

    /// Goes on from what [`Policy::save`] wrote.
    ///
    /// # Errors
    /// When a file cannot be read or belongs to another model.
    fn restore(&mut self, dir: &Path) -> Result<(), weights::Error> {
        let _ = dir;
        Ok(())
    }

    /// The language model, of a policy that is one.
    fn decoder(&self) -> Option<&Decoder> {
        None
    }

    /// Whether an own completion's text would encode to other tokens than were generated.
    fn reencodes_differently(&self, completion: &Completion) -> bool;
}
