//! A program of the user's as a member: it reads questions and writes completions, as JSON lines. It learns nothing
//! here; what it does by itself is its own affair.
//!
//! A request is `{"id": 7, "task": "bf", "question": "...", "completions": 8, "seed": 123}`, an answer
//! `{"id": 7, "completions": ["...", "..."]}` with at least one completion; those beyond as many as are asked for are
//! not taken. Neither ground truth nor metadata is told. What has no answer is left out of the round and counted.

use super::{Asked, Responder, Unreadable};
use crate::process::LineProcess;
use crate::rollout::{AuthorLogprobs, Completion, FinishReason, Prompt, Question};
use crate::seed::Seed;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// Seeds are told as numbers that every language's floats can hold.
const SEEDS: u64 = 1 << 53;

/// A program that answers.
pub struct Command {
    process: LineProcess,
    /// Bytes of the longest completion; what is longer is cut off.
    longest: usize,
    examined: bool,
}

#[derive(Serialize)]
struct Request<'a> {
    task: &'a str,
    question: &'a str,
    completions: usize,
    seed: u64,
}

#[derive(Deserialize)]
struct Answer {
    completions: Vec<String>,
}

impl Command {
    /// A member that is a running program. `examined`: whether it is asked the held-out questions too.
    pub fn new(process: LineProcess, longest: usize, examined: bool) -> Self {
        Self {
            process,
            longest,
            examined,
        }
    }

    fn completion(&self, mut text: String) -> Completion {
        let whole = text.len() <= self.longest;
        if !whole {
            text.truncate(text.floor_char_boundary(self.longest));
        }
        Completion {
            text,
            finish_reason: match whole {
                true => FinishReason::Stop,
                false => FinishReason::Length,
            },
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Untold,
        }
    }
}

impl Responder for Command {
    fn prompt(&self, _: &Question) -> Result<Prompt, Unreadable> {
        Ok(Prompt::of_text())
    }

    fn complete(
        &mut self,
        asked: &[Asked<'_>],
        n: usize,
        seed: Seed,
    ) -> Result<Vec<Vec<Completion>>> {
        let requests = (0..).zip(asked).map(|(i, asked)| Request {
            task: &asked.question.task,
            question: &asked.question.text,
            completions: n,
            seed: seed.child("prompt", i).rng().below(SEEDS),
        });
        let requests: Vec<Request<'_>> = requests.collect();
        let fits = |_: usize, answer: &Answer| match answer.completions.len() {
            0 => Err(format!("completions: found none, expected 1 to {n}")),
            _ => Ok(()),
        };
        let answers = self.process.ask::<Answer>(&requests, fits);
        let group = |answer: Option<Answer>| {
            let texts = answer.map_or(Vec::new(), |answer| answer.completions);
            let taken = texts.into_iter().take(n);
            taken.map(|text| self.completion(text)).collect()
        };
        Ok(answers.into_iter().map(group).collect())
    }

    fn reencodes_differently(&self, _: &Completion) -> bool {
        false
    }

    fn is_examined(&self) -> bool {
        self.examined
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.process.take_notes()
    }
}
