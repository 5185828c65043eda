//! Completions of a batch of questions, decoded together.
//!
//! A prompt is computed once and its keys and values serve the whole group. Every row draws its
//! uniforms from its own branch of the seed tree, so neither the batch nor the other rows have a
//! say in it. Rows that have ended are dropped from the batch as soon as that saves work.

use super::blockwise::{block, choose_all};
use super::decode::{Decoding, choose};
use crate::model::{Cache, Decoder};
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

/// Rows are dropped when at most this share of the batch would be left.
const COMPACT_BELOW: f64 = 0.8;

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
        let empty = Generated { tokens: Vec::new(), finish_reason: FinishReason::Length };
        return vec![vec![empty; n]; prompts.len()];
    }
    let mut rows = Rows::new(prompts, n, seed);
    let shortened: Vec<&[u32]> = prompts.iter().map(|p| &p[..p.len() - 1]).collect();
    let mut cache = model.cache(model.prefill(&shortened), n, decoding.max_completion_length);
    let mut scratch = Vec::new();
    loop {
        let logits = model.step(&rows.last, &rows.positions, &mut cache);
        let tokens = next_tokens(logits, decoding, &rows.uniforms(), &mut scratch);
        rows.push(&tokens, decoding, eos);
        if rows.alive() == 0 {
            return rows.done.chunks(n).map(<[Generated]>::to_vec).collect();
        }
        rows.compact(&mut cache);
    }
}

/// The next token of each row; of one without a uniform, any.
fn next_tokens(logits: Tensor<2>, decoding: &Decoding, uniforms: &[Option<f64>], scratch: &mut Vec<f32>) -> Vec<Token> {
    let [_, vocab] = logits.dims();
    if let Some(block) = block(vocab, decoding) {
        let uniforms: Vec<f64> = uniforms.iter().map(|uniform| uniform.unwrap_or(0.0)).collect();
        return choose_all(logits, block, decoding, &uniforms);
    }
    let logits: Vec<f32> = logits.into_data().try_into_vec().expect("logits are f32");
    let any = Token { id: 0, logprob: 0.0, entropy: 0.0 };
    let rows = logits.chunks(vocab).zip(uniforms);
    rows.map(|(row, uniform)| uniform.map_or(any, |uniform| choose(row, decoding, uniform, scratch))).collect()
}

/// The rows of a batch: what they have generated, and where the living ones stand in the cache.
struct Rows {
    done: Vec<Generated>,
    rngs: Vec<Rng>,
    ended: Vec<bool>,
    /// The row at each place of the cache, `group` a block.
    places: Vec<usize>,
    group: usize,
    last: Vec<u32>,
    positions: Vec<usize>,
}

impl Rows {
    fn new(prompts: &[Vec<u32>], n: usize, seed: Seed) -> Self {
        let count = prompts.len() * n;
        let rng = |row: usize| seed.child("prompt", (row / n) as u64).child("row", (row % n) as u64).rng();
        let last = |row: usize| *prompts[row / n].last().expect("a prompt has at least one token");
        Self {
            done: vec![Generated { tokens: Vec::new(), finish_reason: FinishReason::Length }; count],
            rngs: (0..count).map(rng).collect(),
            ended: vec![false; count],
            places: (0..count).collect(),
            group: n,
            last: (0..count).map(last).collect(),
            positions: (0..count).map(|row| prompts[row / n].len() - 1).collect(),
        }
    }

    fn alive(&self) -> usize {
        self.ended.iter().filter(|ended| !**ended).count()
    }

    /// A uniform for every place whose row is alive.
    fn uniforms(&mut self) -> Vec<Option<f64>> {
        let (rngs, ended) = (&mut self.rngs, &self.ended);
        self.places.iter().map(|&row| (!ended[row]).then(|| rngs[row].uniform())).collect()
    }

    /// Takes the next token of every row that is alive.
    fn push(&mut self, tokens: &[Token], decoding: &Decoding, eos: &[u32]) {
        for (place, &token) in tokens.iter().enumerate() {
            let row = self.places[place];
            self.positions[place] += 1;
            if self.ended[row] {
                continue;
            }
            self.last[place] = token.id;
            let done = &mut self.done[row];
            done.tokens.push(token);
            if eos.contains(&token.id) {
                done.finish_reason = FinishReason::Stop;
                self.ended[row] = true;
            } else if done.tokens.len() == decoding.max_completion_length {
                self.ended[row] = true;
            }
        }
    }

    /// Drops ended rows where that leaves a clearly smaller batch. A block keeps as many places as
    /// the block with most living rows; dead rows fill the others.
    fn compact(&mut self, cache: &mut Cache) {
        let blocks: Vec<&[usize]> = self.places.chunks(self.group).collect();
        let alive = |block: &[usize]| block.iter().filter(|row| !self.ended[**row]).count();
        let group = blocks.iter().map(|block| alive(block)).max().unwrap_or(0);
        let kept: Vec<usize> = (0..blocks.len()).filter(|&b| alive(blocks[b]) > 0).collect();
        if (kept.len() * group) as f64 > COMPACT_BELOW * self.places.len() as f64 {
            return;
        }
        let mut order = Vec::new();
        for &block in &kept {
            let mut places: Vec<usize> = (block * self.group..(block + 1) * self.group).collect();
            places.sort_by_key(|&place| self.ended[self.places[place]]);
            order.extend_from_slice(&places[..group]);
        }
        cache.keep(&kept, &order, group);
        self.places = order.iter().map(|&place| self.places[place]).collect();
        self.last = order.iter().map(|&place| self.last[place]).collect();
        self.positions = order.iter().map(|&place| self.positions[place]).collect();
        self.group = group;
    }
}
