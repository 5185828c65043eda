//! Attention of packed rows over themselves and their prompts, and its gradient.
//!
//! Of a forward pass only the logarithm of each softmax's denominator is kept; the weights are computed
//! again when the gradient is due, so memory stays linear in the number of tokens.

use super::vector::{Steps, dot, each, exp, largest, multiply_add, padded, sum, widest};
use super::{Host, HostOp, dims, matrix, numbers, whole};
use crate::model::packing::{Family, Packing};
use std::ops::Range;
use std::sync::Arc;

/// Tokens from which on the heads are shared out to threads.
const MANY: usize = 512;

/// Softmax attention with the queries scaled by the root of the head's width.
///
/// # Shapes
/// - queries and output: `[tokens - first, heads * head_dim]`, keys and values: `[tokens, kv_heads * head_dim]`
#[derive(Clone, Debug)]
pub(crate) struct Attend {
    pub(crate) packing: Arc<Packing>,
    pub(crate) head_dim: usize,
    /// Tokens at the start that ask nothing: 0, or those of the prompts.
    pub(crate) first: usize,
}

/// Keys and values of a run of tokens for one key head, filled up with zeros to whole vectors.
pub(super) struct Keys {
    /// `[head_dim, columns]`
    pub(super) transposed: Vec<f32>,
    /// `[len, padded(head_dim)]`
    pub(super) values: Vec<f32>,
    pub(super) len: usize,
    pub(super) columns: usize,
}

impl Keys {
    /// Head `head` of the rows `range` of matrices that have `dim` columns a head.
    pub(super) fn new(
        keys: &[f32],
        values: &[f32],
        range: &Range<usize>,
        [head, heads, dim]: [usize; 3],
    ) -> Self {
        let (len, columns) = (range.len(), padded(range.len()));
        let transposed = transposed(keys, range, [head, heads, dim]);
        Self {
            transposed,
            values: gathered(values, range, [head, heads, dim]),
            len,
            columns,
        }
    }
}

/// One head of some rows, a coordinate a row: `[dim, padded(rows)]`.
fn transposed(matrix: &[f32], range: &Range<usize>, [head, heads, dim]: [usize; 3]) -> Vec<f32> {
    let columns = padded(range.len());
    let mut out = vec![0.0; dim * columns];
    for (column, row) in matrix[range.start * heads * dim..range.end * heads * dim]
        .chunks_exact(heads * dim)
        .enumerate()
    {
        for (d, &x) in row[head * dim..][..dim].iter().enumerate() {
            out[d * columns + column] = x;
        }
    }
    out
}

/// One head of some rows: `[rows, padded(dim)]`.
fn gathered(matrix: &[f32], range: &Range<usize>, [head, heads, dim]: [usize; 3]) -> Vec<f32> {
    let wide = padded(dim);
    let mut out = vec![0.0; range.len() * wide];
    let rows = matrix[range.start * heads * dim..range.end * heads * dim].chunks_exact(heads * dim);
    for (out, row) in out.chunks_exact_mut(wide).zip(rows) {
        out[..dim].copy_from_slice(&row[head * dim..][..dim]);
    }
    out
}

/// Turns scores to weights: those of a row are `seen[0]` of the first `split` columns and `seen[1]` of the
/// others, all else becomes 0. Returns the logarithm of their denominator.
#[inline(always)]
pub(super) fn softmax(row: &mut [f32], split: usize, seen: [usize; 2]) -> f32 {
    let (prompt, own) = row.split_at_mut(split);
    let ((prompt, hidden), (own, later)) =
        (prompt.split_at_mut(seen[0]), own.split_at_mut(seen[1]));
    hidden.fill(0.0);
    later.fill(0.0);
    let top = largest(prompt).max(largest(own));
    let mut total = 0.0;
    for part in [prompt, own] {
        for s in part.iter_mut() {
            *s = exp(*s - top);
        }
        total += sum(part);
    }
    let scale = 1.0 / total;
    for w in row {
        *w *= scale;
    }
    top + total.ln()
}

/// What the work on one key head needs to find its numbers.
struct Head<'a> {
    op: &'a Attend,
    inputs: [&'a [f32]; 3],
    /// The key head, key heads, query heads a key head.
    kv: usize,
    kv_heads: usize,
    share: usize,
}

impl Head<'_> {
    fn of_keys(&self) -> [usize; 3] {
        [self.kv, self.kv_heads, self.op.head_dim]
    }

    fn keys(&self, range: &Range<usize>) -> Keys {
        Keys::new(self.inputs[1], self.inputs[2], range, self.of_keys())
    }

    /// The head's part of rows of queries (or of gradients of the output), query head after query head:
    /// `[share * rows, padded(head_dim)]`.
    fn asked(&self, from: &[f32], range: &Range<usize>, scale: f32) -> Vec<f32> {
        let (dim, wide, n) = (self.op.head_dim, padded(self.op.head_dim), range.len());
        let width = self.kv_heads * self.share * dim;
        let mut out = vec![0.0; self.share * n * wide];
        for (i, row) in from[(range.start - self.op.first) * width..]
            .chunks_exact(width)
            .take(n)
            .enumerate()
        {
            for g in 0..self.share {
                let row = &row[(self.kv * self.share + g) * dim..][..dim];
                out[(g * n + i) * wide..][..dim]
                    .iter_mut()
                    .zip(row)
                    .for_each(|(q, x)| *q = x * scale);
            }
        }
        out
    }

    /// Scaled queries times keys: `[share * rows, prompt columns + own columns]`.
    fn scores(&self, asked: &[f32], prompt: Option<&Keys>, own: &Keys) -> Vec<f32> {
        let (dim, wide) = (self.op.head_dim, padded(self.op.head_dim));
        let split = prompt.map_or(0, |p| p.columns);
        let (rows, width) = (asked.len() / wide, split + own.columns);
        let mut scores = vec![0.0; rows * width];
        let asked = Steps(asked, [wide, 1]);
        if let Some(p) = prompt {
            multiply_add(
                &mut scores,
                width,
                asked,
                &p.transposed,
                p.columns,
                [rows, dim, p.columns],
            );
        }
        multiply_add(
            &mut scores[split..],
            width,
            asked,
            &own.transposed,
            own.columns,
            [rows, dim, own.columns],
        );
        scores
    }

    fn scale(&self) -> f32 {
        (self.op.head_dim as f32).powf(-0.5)
    }

    /// Runs of tokens that ask: prompts (over nothing but themselves) and rows.
    fn runs<'f>(&self, family: &'f Family) -> impl Iterator<Item = (bool, &'f Range<usize>)> {
        let prompt =
            (self.op.first == 0 && !family.prompt.is_empty()).then_some((false, &family.prompt));
        prompt
            .into_iter()
            .chain(family.rows.iter().map(|row| (true, row)))
    }

    /// Output `[queries, share * head_dim]` and logarithms of denominators `[queries, share]`.
    fn forward(&self, queries: usize) -> (Vec<f32>, Vec<f32>) {
        let (dim, wide, share) = (self.op.head_dim, padded(self.op.head_dim), self.share);
        let (mut out, mut logs) = (vec![0.0; queries * share * dim], vec![0.0; queries * share]);
        for family in self.op.packing.families() {
            let whole_prompt = (!family.prompt.is_empty()).then(|| self.keys(&family.prompt));
            for (behind, range) in self.runs(family) {
                let (n, at) = (range.len(), range.start - self.op.first);
                let prompt = whole_prompt.as_ref().filter(|_| behind);
                let own = if behind {
                    &self.keys(range)
                } else {
                    whole_prompt.as_ref().expect("not empty")
                };
                let asked = self.asked(self.inputs[0], range, self.scale());
                let mut weights = self.scores(&asked, prompt, own);
                let (split, seen) = (prompt.map_or(0, |p| p.columns), prompt.map_or(0, |p| p.len));
                let width = split + own.columns;
                widest(
                    #[inline(always)]
                    || {
                        for (row, weights) in weights.chunks_exact_mut(width).enumerate() {
                            logs[(at + row % n) * share + row / n] =
                                softmax(weights, split, [seen, row % n + 1]);
                        }
                    },
                );
                let mut mixed = vec![0.0; share * n * wide];
                if let Some(p) = prompt {
                    multiply_add(
                        &mut mixed,
                        wide,
                        Steps(&weights, [width, 1]),
                        &p.values,
                        wide,
                        [share * n, p.len, wide],
                    );
                }
                let weights = Steps(&weights[split..], [width, 1]);
                multiply_add(
                    &mut mixed,
                    wide,
                    weights,
                    &own.values,
                    wide,
                    [share * n, n, wide],
                );
                for (row, mixed) in mixed.chunks_exact(wide).enumerate() {
                    out[((at + row % n) * share + row / n) * dim..][..dim]
                        .copy_from_slice(&mixed[..dim]);
                }
            }
        }
        (out, logs)
    }

    /// Gradients by queries `[queries, share * head_dim]`, keys and values `[tokens, head_dim]`.
    fn backward(&self, output: &[f32], logs: &[f32], upstream: &[f32]) -> [Vec<f32>; 3] {
        let (dim, share, tokens) = (self.op.head_dim, self.share, self.op.packing.tokens());
        let queries = tokens - self.op.first;
        let mut by = Gradients {
            head: self,
            output,
            logs,
            upstream,
            by_queries: vec![0.0; queries * share * dim],
            by_keys: vec![0.0; tokens * dim],
            by_values: vec![0.0; tokens * dim],
        };
        for family in self.op.packing.families() {
            let mut prompt = (!family.prompt.is_empty()).then(|| Side::new(self, &family.prompt));
            if let Some(prompt) = prompt.as_mut().filter(|_| self.op.first == 0) {
                by.run(&family.prompt, None, prompt);
            }
            for row in &family.rows {
                let mut own = Side::new(self, row);
                by.run(row, prompt.as_mut(), &mut own);
                by.store(row, &own);
            }
            if let Some(prompt) = prompt {
                by.store(&family.prompt, &prompt);
            }
        }
        [by.by_queries, by.by_keys, by.by_values]
    }
}

/// Keys and values of a run in all layouts, and their gradients so far.
struct Side {
    keys: Keys,
    /// `[len, padded(head_dim)]`
    key_rows: Vec<f32>,
    /// `[head_dim, columns]`
    values_transposed: Vec<f32>,
    by_keys: Vec<f32>,
    by_values: Vec<f32>,
}

impl Side {
    fn new(head: &Head<'_>, range: &Range<usize>) -> Self {
        let key_rows = gathered(head.inputs[1], range, head.of_keys());
        let zeros = vec![0.0; key_rows.len()];
        Self {
            keys: head.keys(range),
            values_transposed: transposed(head.inputs[2], range, head.of_keys()),
            by_keys: zeros.clone(),
            by_values: zeros,
            key_rows,
        }
    }
}

struct Gradients<'a> {
    head: &'a Head<'a>,
    output: &'a [f32],
    logs: &'a [f32],
    upstream: &'a [f32],
    by_queries: Vec<f32>,
    by_keys: Vec<f32>,
    by_values: Vec<f32>,
}

impl Gradients<'_> {
    /// Adds what the queries of one run give to themselves and to what they see.
    fn run(&mut self, range: &Range<usize>, prompt: Option<&mut Side>, own: &mut Side) {
        let head = self.head;
        let (dim, wide, share, n) = (
            head.op.head_dim,
            padded(head.op.head_dim),
            head.share,
            range.len(),
        );
        let at = range.start - head.op.first;
        let asked = head.asked(head.inputs[0], range, head.scale());
        let by_out = head.asked(self.upstream, range, 1.0);
        let out = head.asked(self.output, range, 1.0);
        let mut weights = head.scores(&asked, prompt.as_ref().map(|p| &p.keys), &own.keys);
        let split = prompt.as_ref().map_or(0, |p| p.keys.columns);
        let (width, rows) = (split + own.keys.columns, share * n);
        let mut by_scores = vec![0.0; weights.len()];
        let mut parts: Vec<(usize, &mut Side)> = prompt.map(|p| (0, p)).into_iter().collect();
        parts.push((split, own));
        let by_rows = Steps(&by_out, [wide, 1]);
        for (from, side) in &parts {
            let columns = side.keys.columns;
            multiply_add(
                &mut by_scores[*from..],
                width,
                by_rows,
                &side.values_transposed,
                columns,
                [rows, dim, columns],
            );
        }
        let seen = if split > 0 { parts[0].1.keys.len } else { 0 };
        widest(
            #[inline(always)]
            || {
                let pairs = weights
                    .chunks_exact_mut(width)
                    .zip(by_scores.chunks_exact_mut(width));
                for (row, (weights, by_scores)) in pairs.enumerate() {
                    let log = self.logs[(at + row % n) * share + row / n];
                    let mean = dot(&by_out[row * wide..][..wide], &out[row * wide..][..wide]);
                    for w in weights.iter_mut() {
                        *w = exp(*w - log);
                    }
                    weights[seen..split].fill(0.0);
                    weights[split + row % n + 1..].fill(0.0);
                    for (by, w) in by_scores.iter_mut().zip(weights) {
                        *by = *w * (*by - mean);
                    }
                }
            },
        );
        let mut by_asked = vec![0.0; rows * wide];
        for (from, side) in &mut parts {
            let len = side.keys.len;
            let (by, w) = (&by_scores[*from..], &weights[*from..]);
            multiply_add(
                &mut by_asked,
                wide,
                Steps(by, [width, 1]),
                &side.key_rows,
                wide,
                [rows, len, wide],
            );
            multiply_add(
                &mut side.by_keys,
                wide,
                Steps(by, [1, width]),
                &asked,
                wide,
                [len, rows, wide],
            );
            multiply_add(
                &mut side.by_values,
                wide,
                Steps(w, [1, width]),
                &by_out,
                wide,
                [len, rows, wide],
            );
        }
        let scale = head.scale();
        for (row, by) in by_asked.chunks_exact(wide).enumerate() {
            let to = &mut self.by_queries[((at + row % n) * share + row / n) * dim..][..dim];
            to.iter_mut().zip(by).for_each(|(to, by)| *to = by * scale);
        }
    }

    fn store(&mut self, range: &Range<usize>, side: &Side) {
        let (dim, wide) = (self.head.op.head_dim, padded(self.head.op.head_dim));
        for (all, of_side) in [
            (&mut self.by_keys, &side.by_keys),
            (&mut self.by_values, &side.by_values),
        ] {
            for (to, from) in all[range.start * dim..]
                .chunks_exact_mut(dim)
                .zip(of_side.chunks_exact(wide))
            {
                to.copy_from_slice(&from[..dim]);
            }
        }
    }
}

/// Columns of each part side by side: `[rows, parts * width]` of parts `[rows, width]`.
fn side_by_side(parts: &[Vec<f32>], rows: usize) -> Host {
    let width = parts[0].len() / rows.max(1);
    let mut out = vec![0.0; rows * width * parts.len()];
    for (i, part) in parts.iter().enumerate() {
        for (out, row) in out
            .chunks_exact_mut(width * parts.len())
            .zip(part.chunks_exact(width))
        {
            out[i * width..][..width].copy_from_slice(row);
        }
    }
    matrix(out, [rows, width * parts.len()])
}

/// What the gradient of attention needs: its inputs, its output, and a logarithm a query and head.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    inputs: [Host; 3],
    output: Host,
    /// Of each key head, `[queries, share]`.
    logs: Vec<Vec<f32>>,
}

impl Attend {
    fn heads<T: Send>(&self, inputs: &[Host; 3], work: impl Fn(&Head<'_>) -> T + Sync) -> Vec<T> {
        let [queries, keys, _] = inputs.each_ref().map(|input| dims(input)[1]);
        let kv_heads = keys / self.head_dim;
        let inputs = inputs.each_ref().map(numbers);
        let head = |kv| {
            work(&Head {
                op: self,
                inputs,
                kv,
                kv_heads,
                share: queries / keys,
            })
        };
        each(kv_heads, self.packing.tokens() >= MANY, head)
    }
}

impl HostOp<3> for Attend {
    type Saved = Saved;

    fn forward(&self, inputs: [Host; 3]) -> (Host, Saved) {
        let inputs = inputs.map(whole);
        let [queries, _] = dims(&inputs[0]);
        let (parts, logs): (Vec<_>, Vec<_>) = self
            .heads(&inputs, |head| head.forward(queries))
            .into_iter()
            .unzip();
        let output = side_by_side(&parts, queries);
        (
            output.clone(),
            Saved {
                inputs,
                output,
                logs,
            },
        )
    }

    fn backward(&self, saved: Saved, upstream: Host) -> [Host; 3] {
        let upstream = whole(upstream);
        let Saved {
            inputs,
            output,
            logs,
        } = saved;
        let (out, by) = (numbers(&output), numbers(&upstream));
        let heads = self.heads(&inputs, |head| head.backward(out, &logs[head.kv], by));
        let rows = inputs.each_ref().map(|input| dims(input)[0]);
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        for head in heads {
            parts
                .iter_mut()
                .zip(head)
                .for_each(|(part, by)| part.push(by));
        }
        let [queries, keys, values] = parts;
        [
            side_by_side(&queries, rows[0]),
            side_by_side(&keys, rows[1]),
            side_by_side(&values, rows[2]),
        ]
    }
}
