//! A program of the user's as a reward: it reads questions with completions and writes numbers, as JSON lines.
//!
//! A request is `{"id": 7, "task": "bf", "question": "...", "answer": "...", "completions": ["...", "..."]}`, where
//! `answer` is the ground truth or null; an answer is `{"id": 7, "rewards": [1, 0.5]}`, a number for each completion.
//! What has no answer is not judged: an own rollout is left out, one of others is not drawn. A program that has died or
//! was killed is not asked again in that round.

use super::Reward;
use crate::process::LineProcess;
use crate::rollout::{Completion, Question};
use crate::task::extract_answer;
use serde::{Deserialize, Serialize};

/// A program that judges.
pub struct Scorer {
    process: LineProcess,
    /// Whether it has failed in this round.
    failed: bool,
}

#[derive(Serialize)]
struct Request<'a> {
    task: &'a str,
    question: &'a str,
    answer: Option<&'a str>,
    completions: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    rewards: Vec<f64>,
}

impl Scorer {
    /// A reward that is a running program.
    pub fn new(process: LineProcess) -> Self {
        Self {
            process,
            failed: false,
        }
    }
}

impl Reward for Scorer {
    fn score(&mut self, question: &Question, completions: &[Completion]) -> Option<Vec<f64>> {
        if completions.is_empty() || self.failed {
            return None;
        }
        let request = Request {
            task: &question.task,
            question: &question.text,
            answer: question.answer.as_deref(),
            completions: completions.iter().map(|c| &c.text[..]).collect(),
        };
        let fits = |_: usize, answer: &Answer| {
            let (found, expected) = (answer.rewards.len(), completions.len());
            if found != expected {
                return Err(format!("rewards: found {found}, expected {expected}"));
            }
            match answer.rewards.iter().find(|reward| !reward.is_finite()) {
                Some(reward) => Err(format!("rewards: found {reward}, expected finite numbers")),
                None => Ok(()),
            }
        };
        let answer = self.process.ask::<Answer>(&[request], fits).pop()?;
        self.failed = !self.process.is_running();
        Some(answer?.rewards)
    }

    /// An answer in tags.
    fn has_form(&self, completion: &Completion) -> bool {
        extract_answer(&completion.text).is_some()
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.failed = false;
        self.process.take_notes()
    }
}
