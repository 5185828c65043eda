//! What an agent finds good: a reward per completion, its own for own rollouts and others' alike.
//!
//! [`Verifiers`] is the default: every task's own verifier. [`Shaped`] adds terms for length and form, [`Scorer`] is a
//! program of the user's. A sender's reward is never taken.

mod scorer;
mod shaped;

pub use scorer::Scorer;
pub use shaped::{Shape, Shaped};

use crate::rollout::{Completion, Question};
use crate::task::{Task, extract_answer, score_completion};
use std::sync::Arc;

/// An agent's own scoring function.
pub trait Reward: Send {
    /// One reward per completion of a question; none where it cannot judge the question.
    fn score(&mut self, question: &Question, completions: &[Completion]) -> Option<Vec<f64>>;

    /// What there is to be said of the round that is over: a program that has died, answers that are none.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Whether a completion has the form without which nothing is right; any has where there is no such
    /// form.
    fn has_form(&self, completion: &Completion) -> bool {
        let _ = completion;
        true
    }
}

/// The verifiers of tasks: a question is judged by the task of its name.
#[derive(Clone)]
pub struct Verifiers(Arc<[Arc<dyn Task>]>);

impl Verifiers {
    /// Those of these tasks.
    pub fn new(tasks: impl IntoIterator<Item = Arc<dyn Task>>) -> Self {
        Self(tasks.into_iter().collect())
    }
}

impl Reward for Verifiers {
    fn score(&mut self, question: &Question, completions: &[Completion]) -> Option<Vec<f64>> {
        let task = self.0.iter().find(|task| task.name() == question.task)?;
        let score =
            |completion: &Completion| score_completion(task.as_ref(), question, &completion.text);
        Some(completions.iter().map(score).collect())
    }

    /// An answer in tags.
    fn has_form(&self, completion: &Completion) -> bool {
        extract_answer(&completion.text).is_some()
    }
}
