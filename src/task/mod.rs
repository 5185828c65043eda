//! Verifiable tasks: a question is a pure function of (configuration, seed), an answer gets a score.
//!
//! One file or folder a task, all listed in [`catalog`]. Nothing here knows a language model. To add
//! a task: copy [`base_conversion`], declare the copy here and name it in the catalog; what makes it
//! harder, level by level, goes to [`curriculum`].

pub mod arc_1d;
pub mod base_conversion;
pub mod basic_arithmetic;
pub mod bf;
pub mod binary_matrix;
pub mod calendar_arithmetic;
pub mod catalog;
pub mod curriculum;
pub mod decimal_arithmetic;
mod extract_answer;
pub mod fraction_simplification;
mod integer_expression;
pub mod propositional_logic;
mod python_literal;
mod python_text;
mod question_template;
mod score;
mod validation;

pub use extract_answer::extract_answer;

use crate::rollout::Question;
use crate::seed::Seed;
use serde::{Deserialize, Serialize};

/// A kind of question with a verifier.
pub trait Task: Send + Sync {
    /// The registered name, as reasoning-gym has it.
    fn name(&self) -> &'static str;

    /// The question that belongs to this seed.
    fn question(&self, seed: Seed) -> Question;

    /// The score of an answer, already taken out of its tags, in `[0, 1]`.
    fn score(&self, question: &Question, answer: &str) -> f64;

    /// The score of a completion without an answer: 0, but for what reasoning-gym gives for nothing.
    fn score_missing(&self) -> f64 {
        0.0
    }
}

/// How answers are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scoring {
    /// Exactly as reasoning-gym scores, partial credit included.
    ReasoningGym,
    /// 1 for a right answer in any form that a person would accept, else 0.
    Exact,
}

/// The score of a whole completion: of what stands in its last `<answer>` tags, or for no answer.
pub fn score_completion(task: &dyn Task, question: &Question, completion: &str) -> f64 {
    extract_answer(completion).map_or_else(
        || task.score_missing(),
        |answer| task.score(question, &answer),
    )
}

/// A question with the metadata that every task has and its own, for tests of scores.
#[cfg(test)]
fn entry(task: &'static str, answer: Option<&str>, own: serde_json::Value) -> Question {
    let metadata = question_template::metadata(task, own, &serde_json::json!({}));
    Question {
        task: task.into(),
        text: String::new(),
        answer: answer.map(str::to_owned),
        metadata: metadata.into(),
        seed: None,
    }
}
