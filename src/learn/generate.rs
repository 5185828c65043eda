//! Completions of a batch of questions, decoded together.
//!
//! A prompt is computed once and its keys and values serve the whole group. Every row takes its
//! uniforms from its own branch of the seed tree, so neither the batch nor the other rows have a
//! say in it. Rows that have ended leave the batch.

use super::decode::{Decoding, choose};
use super::decode_on_device::{block, choose_all};
use crate::kernels::rows_at_once;
use crate::model::Decoder;
use crate::rollout::{FinishReason, Token};
use crate::seed::{Rng, Seed};
use burn::tensor::Tensor;

/// A completion as tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The tokens, the end-of-sequence token included where there is one.
    pub tokens: Vec<Token>,
    /// Why it ended.
    pub finish_reason: FinishReason,
}

/// `n` completions of each prompt. A row ends with any of the `eos` ids or at the longest length.
///
/// # Panics
/// When a prompt is empty.
pub fn generate(
    model: &Decoder,
    prompts: &[Vec<u32>],
    n: usize,
    decoding: &Decoding,
    eos: &[u32],
    seed: Seed,
) -> Vec<Vec<Generated>> {
    if prompts.is_empty() || n == 0 || decoding.max_completion_length == 0 {
        let empty = Generated {
            tokens: Vec::new(),
            finish_reason: FinishReason::Length,
        };
        return vec![vec![empty; n]; prompts.len()];
    }
    let at_once = (rows_at_once(&model.device()) / n).max(1);
    let parts = prompts.chunks(at_once).enumerate();
    let part = |(part, prompts): (usize, &[Vec<u32>])| {
        generate_together(model, prompts, n, decoding, eos, seed, part * at_once)
    };
    parts.flat_map(part).collect()
}

/// The same for prompts that are decoded together, the first of which is number `first` of all.
fn generate_together(
    model: &Decoder,
    prompts: &[Vec<u32>],
    n: usize,
    decoding: &Decoding,
    eos: &[u32],
    seed: Seed,
    first: usize,
) -> Vec<Vec<Generated>> {
    let mut rows = Rows::new(prompts, n, seed, first);
    let shortened: Vec<&[u32]> = prompts.iter().map(|p| &p[..p.len() - 1]).collect();
    let mut cache = model.start(&shortened, n, decoding.max_completion_length);
    let mut scratch = Vec::new();
    loop {
        let logits = model.step(&rows.last, &mut cache);
        let tokens = next_tokens(logits, decoding, &rows.uniforms(), &mut scratch);
        let kept = rows.push(&tokens, decoding, eos);
        if kept.is_empty() {
            return rows.done.chunks(n).map(<[Generated]>::to_vec).collect();
        }
        if kept.len() < tokens.len() {
            cache.keep(&kept);
        }
    }
}

/// The next token of each row.
fn next_tokens(
    logits: Tensor<2>,
    decoding: &Decoding,
    uniforms: &[f64],
    scratch: &mut Vec<f32>,
) -> Vec<Token> {
    let [_, vocab] = logits.dims();
    if let Some(block) = block(vocab, decoding) {
        return choose_all(logits, block, decoding, uniforms);
    }
    let logits: Vec<f32> = logits.into_data().try_into_vec().expect("logits are f32");
    let rows = logits.chunks(vocab).zip(uniforms);
    rows.map(|(row, &uniform)| choose(row, decoding, uniform, scratch))
        .collect()
}

/// The rows of a batch: what all have generated, and which are still growing.
struct Rows {
    done: Vec<Generated>,
    rngs: Vec<Rng>,
    /// The living rows in ascending order, and the last token of each.
    living: Vec<usize>,
    last: Vec<u32>,
}

impl Rows {
    fn new(prompts: &[Vec<u32>], n: usize, seed: Seed, first: usize) -> Self {
        let count = prompts.len() * n;
        let rng = |row: usize| {
            seed.child("prompt", (first + row / n) as u64)
                .child("row", (row % n) as u64)
                .rng()
        };
        let last = |row: usize| {
            *prompts[row / n]
                .last()
                .expect("a prompt has at least one token")
        };
        Self {
            done: vec![
                Generated {
                    tokens: Vec::new(),
                    finish_reason: FinishReason::Length
                };
                count
            ],
            rngs: (0..count).map(rng).collect(),
            living: (0..count).collect(),
            last: (0..count).map(last).collect(),
        }
    }

    /// A uniform for every living row.
    fn uniforms(&mut self) -> Vec<f64> {
        let rngs = &mut self.rngs;
        self.living.iter().map(|&row| rngs[row].uniform()).collect()
    }

    /// Takes the next token of every living row; returns which of them live on.
    fn push(&mut self, tokens: &[Token], decoding: &Decoding, eos: &[u32]) -> Vec<usize> {
        let mut kept = Vec::with_capacity(tokens.len());
        for (place, (&row, &token)) in self.living.iter().zip(tokens).enumerate() {
            let done = &mut self.done[row];
            done.tokens.push(token);
            if eos.contains(&token.id) {
                done.finish_reason = FinishReason::Stop;
            } else if done.tokens.len() < decoding.max_completion_length {
                kept.push(place);
            }
        }
        self.last = kept.iter().map(|&place| tokens[place].id).collect();
        self.living = kept.iter().map(|&place| self.living[place]).collect();
        kept
    }
}
