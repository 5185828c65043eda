//! Attention of the queries that read one key head: probabilities and output.

use super::keys::{Keys, softmax};
use crate::kernels::packing::Packing;
use crate::kernels::simd::{Steps, dispatch, multiply_add, padded};
use std::ops::Range;

/// What the work on one key head needs to find its numbers.
pub(super) struct Head<'a> {
    pub(super) packing: &'a Packing,
    pub(super) head_dim: usize,
    /// Tokens at the start that ask nothing.
    pub(super) first: usize,
    /// Queries, keys and values of all heads.
    pub(super) inputs: [&'a [f32]; 3],
    /// The key head.
    pub(super) kv: usize,
    pub(super) kv_heads: usize,
    /// Query heads per key head.
    pub(super) heads_per_kv: usize,
}

impl Head<'_> {
    /// Where the head stands in the matrices of keys and values.
    pub(super) fn of_keys(&self) -> [usize; 3] {
        [self.kv, self.kv_heads, self.head_dim]
    }

    pub(super) fn keys(&self, range: &Range<usize>) -> Keys {
        Keys::new(self.inputs[1], self.inputs[2], range, self.of_keys())
    }

    /// The head's part of rows of queries (or of gradients of the output), query head after query head:
    /// `[heads_per_kv * rows, padded(head_dim)]`.
    pub(super) fn asked(&self, from: &[f32], range: &Range<usize>, scale: f32) -> Vec<f32> {
        let (dim, wide, n) = (self.head_dim, padded(self.head_dim), range.len());
        let width = self.kv_heads * self.heads_per_kv * dim;
        let mut out = vec![0.0; self.heads_per_kv * n * wide];
        let from = &from[(range.start - self.first) * width..];
        for (i, row) in from.chunks_exact(width).take(n).enumerate() {
            for g in 0..self.heads_per_kv {
                let row = &row[(self.kv * self.heads_per_kv + g) * dim..][..dim];
                out[(g * n + i) * wide..][..dim]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(q, x)| *q = x * scale);
            }
        }
        out
    }

    /// Scaled queries times keys: `[heads_per_kv * rows, prompt columns + own columns]`.
    pub(super) fn scores(&self, asked: &[f32], prompt: Option<&Keys>, own: &Keys) -> Vec<f32> {
        let (dim, wide) = (self.head_dim, padded(self.head_dim));
        let split = prompt.map_or(0, |p| p.columns);
        let (rows, width) = (asked.len() / wide, split + own.columns);
        let mut scores = vec![0.0; rows * width];
        let asked = Steps(asked, [wide, 1]);
        for (from, keys) in prompt.map(|p| (0, p)).into_iter().chain([(split, own)]) {
            let (to, columns) = (&mut scores[from..], keys.columns);
            let shape = [rows, dim, columns];
            multiply_add(to, width, asked, &keys.transposed, columns, shape);
        }
        scores
    }

    /// What scores are multiplied by.
    pub(super) fn scale(&self) -> f32 {
        (self.head_dim as f32).powf(-0.5)
    }

    /// Output `[queries, heads_per_kv * head_dim]` and logarithms of denominators
    /// `[queries, heads_per_kv]`.
    pub(super) fn forward(&self, queries: usize) -> (Vec<f32>, Vec<f32>) {
        let heads = self.heads_per_kv;
        let mut out = vec![0.0; queries * heads * self.head_dim];
        let mut logs = vec![0.0; queries * heads];
        for group in self.packing.groups() {
            let prompt = (!group.prompt.is_empty()).then(|| self.keys(&group.prompt));
            if let Some(prompt) = prompt.as_ref().filter(|_| self.first == 0) {
                self.run(&group.prompt, None, prompt, &mut out, &mut logs);
            }
            for row in &group.rows {
                let own = self.keys(row);
                self.run(row, prompt.as_ref(), &own, &mut out, &mut logs);
            }
        }
        (out, logs)
    }

    /// Output and logarithms for the queries of one run of tokens.
    fn run(
        &self,
        range: &Range<usize>,
        prompt: Option<&Keys>,
        own: &Keys,
        out: &mut [f32],
        logs: &mut [f32],
    ) {
        let (dim, wide, heads) = (self.head_dim, padded(self.head_dim), self.heads_per_kv);
        let (n, at) = (range.len(), range.start - self.first);
        let asked = self.asked(self.inputs[0], range, self.scale());
        let mut probs = self.scores(&asked, prompt, own);
        let (split, seen) = prompt.map_or((0, 0), |p| (p.columns, p.len));
        let width = split + own.columns;
        dispatch(
            #[inline(always)]
            || {
                for (row, probs) in probs.chunks_exact_mut(width).enumerate() {
                    logs[(at + row % n) * heads + row / n] =
                        softmax(probs, split, [seen, row % n + 1]);
                }
            },
        );
        let mut mixed = vec![0.0; heads * n * wide];
        for (from, keys) in prompt.map(|p| (0, p)).into_iter().chain([(split, own)]) {
            let probs = Steps(&probs[from..], [width, 1]);
            let shape = [heads * n, keys.len, wide];
            multiply_add(&mut mixed, wide, probs, &keys.values, wide, shape);
        }
        for (row, mixed) in mixed.chunks_exact(wide).enumerate() {
            out[((at + row % n) * heads + row / n) * dim..][..dim].copy_from_slice(&mixed[..dim]);
        }
    }
}
