//! What a base model does before any RL: how often it ends, uses the rewarded form, and is right.

use super::recipe::Recipe;
use crate::learn::{Decoding, Generated, generate};
use crate::model::Decoder;
use crate::reward::Reward;
use crate::rollout::{AuthorLogprobs, Completion, FinishReason, Question, mean};
use crate::seed::Seed;
use crate::swarm::{Split, Tasks};
use crate::task::extract_answer;
use crate::tokenizer::{ChatOptions, Tokenizer};
use anyhow::Result;

/// Completions per question.
const COMPLETIONS: usize = 8;
/// Questions that are answered together.
const BATCH: usize = 64;

/// What a model does at temperature 1.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Name of each task and its mean exact score.
    pub tasks: Vec<(String, f64)>,
    /// Mean exact score over all tasks.
    pub reward: f64,
    /// Share of completions that end by themselves.
    pub ended: f64,
    /// Share of completions with an answer within tags.
    pub tagged: f64,
    /// Share of those that are right.
    pub right_in_tags: f64,
}

impl Recipe {
    /// What a model does on questions of a split.
    pub(super) fn measure(
        &self,
        model: &Decoder,
        split: Split,
        tasks: &Tasks,
        tokenizer: &Tokenizer,
        eos: u32,
    ) -> Result<Measured> {
        let seed = Seed::new(self.seed).child("measure", 0);
        let decoding = Decoding {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: self.train.max_completion_length,
        };
        let of = |i: u64| tasks.question(tasks.proportions(), split, seed.child("question", i));
        let questions: Vec<Question> = (0..self.train.eval_questions as u64).map(of).collect();
        let mut verifiers = tasks.verifiers();
        let mut scored = Vec::new();
        for (chunk, questions) in questions.chunks(BATCH).enumerate() {
            let options = ChatOptions::default();
            let prompts = questions
                .iter()
                .map(|q| tokenizer.prompt(&options, &q.text));
            let prompts = prompts.collect::<Result<Vec<_>, _>>()?;
            let seed = seed.child("generate", chunk as u64);
            let groups = generate(model, &prompts, COMPLETIONS, &decoding, &[eos], seed);
            for (question, group) in questions.iter().zip(groups) {
                let completion = |generated| completion(generated, tokenizer, eos);
                let group: Vec<Completion> = group.into_iter().map(completion).collect();
                let scores = verifiers.score(question, &group).unwrap_or_default();
                scored.extend(
                    group
                        .into_iter()
                        .zip(scores)
                        .map(|(c, s)| (&question.task, c, s)),
                );
            }
        }
        let ended = |c: &Completion| f64::from(u8::from(c.finish_reason == FinishReason::Stop));
        let ended: Vec<f64> = scored.iter().map(|(_, c, _)| ended(c)).collect();
        let all: Vec<f64> = scored.iter().map(|(.., score)| *score).collect();
        let tagged = scored
            .iter()
            .filter(|(_, c, _)| extract_answer(&c.text).is_some());
        let tagged: Vec<f64> = tagged.map(|(.., score)| *score).collect();
        let of_task = |name: &String| {
            let scores = scored.iter().filter(|(task, ..)| *task == name);
            mean(&scores.map(|(.., score)| *score).collect::<Vec<_>>())
        };
        let names = tasks.names().into_iter();
        Ok(Measured {
            tasks: names.map(|name| (name.clone(), of_task(&name))).collect(),
            reward: mean(&all),
            ended: mean(&ended),
            tagged: tagged.len() as f64 / all.len() as f64,
            right_in_tags: mean(&tagged),
        })
    }
}

/// Generated tokens as text, without the end.
fn completion(generated: Generated, tokenizer: &Tokenizer, eos: u32) -> Completion {
    let ids: Vec<u32> = generated
        .tokens
        .iter()
        .map(|t| t.id)
        .filter(|id| *id != eos)
        .collect();
    Completion {
        text: tokenizer.decode(&ids),
        finish_reason: generated.finish_reason,
        tokens: generated.tokens,
        logprobs: AuthorLogprobs::Untold,
    }
}
