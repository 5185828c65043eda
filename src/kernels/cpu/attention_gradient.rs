//! The gradient of attention for the queries that read one key head.

use super::attention_head::Head;
use super::keys::{Keys, gathered, transposed};
use crate::kernels::simd::{Steps, dispatch, dot, exp, multiply_add, padded};
use std::ops::Range;

/// What the forward pass left for the gradient of one key head.
#[derive(Clone, Copy)]
pub(super) struct Finished<'a> {
    /// Output of all heads.
    pub(super) output: &'a [f32],
    /// Logarithms of the head's denominators, `[queries, heads_per_kv]`.
    pub(super) logs: &'a [f32],
    /// Gradient by the output of all heads.
    pub(super) upstream: &'a [f32],
}

/// Gradients by queries `[queries, heads_per_kv * head_dim]`, keys and values `[tokens, head_dim]`.
pub(super) fn backward(head: &Head<'_>, finished: Finished<'_>) -> [Vec<f32>; 3] {
    let (dim, tokens) = (head.head_dim, head.packing.tokens());
    let queries = tokens - head.first;
    let mut by = Gradients {
        head,
        finished,
        by_queries: vec![0.0; queries * head.heads_per_kv * dim],
        by_keys: vec![0.0; tokens * dim],
        by_values: vec![0.0; tokens * dim],
    };
    for group in head.packing.groups() {
        let mut prompt = (!group.prompt.is_empty()).then(|| Side::new(head, &group.prompt));
        if let Some(prompt) = prompt.as_mut().filter(|_| head.first == 0) {
            by.run(&group.prompt, None, prompt);
        }
        for row in &group.rows {
            let mut own = Side::new(head, row);
            by.run(row, prompt.as_mut(), &mut own);
            by.store(row, &own);
        }
        if let Some(prompt) = prompt {
            by.store(&group.prompt, &prompt);
        }
    }
    [by.by_queries, by.by_keys, by.by_values]
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
    finished: Finished<'a>,
    by_queries: Vec<f32>,
    by_keys: Vec<f32>,
    by_values: Vec<f32>,
}

/// Where the scores of a run stand: `[rows, width]`, of which the first `split` columns belong to the
/// prompt, `seen` of them to its tokens.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    split: usize,
    seen: usize,
}

impl Gradients<'_> {
    /// Adds what the queries of one run give to themselves and to what they see.
    fn run(&mut self, range: &Range<usize>, prompt: Option<&mut Side>, own: &mut Side) {
        let head = self.head;
        let (dim, wide) = (head.head_dim, padded(head.head_dim));
        let (heads, n) = (head.heads_per_kv, range.len());
        let asked = head.asked(head.inputs[0], range, head.scale());
        let by_out = head.asked(self.finished.upstream, range, 1.0);
        let mut probs = head.scores(&asked, prompt.as_ref().map(|p| &p.keys), &own.keys);
        let (split, seen) = prompt
            .as_ref()
            .map_or((0, 0), |p| (p.keys.columns, p.keys.len));
        let (width, rows) = (split + own.keys.columns, heads * n);
        let mut by_scores = vec![0.0; probs.len()];
        let mut parts: Vec<(usize, &mut Side)> = prompt.map(|p| (0, p)).into_iter().collect();
        parts.push((split, own));
        let by_rows = Steps(&by_out, [wide, 1]);
        for (from, side) in &parts {
            let (to, values) = (&mut by_scores[*from..], &side.values_transposed);
            let columns = side.keys.columns;
            multiply_add(to, width, by_rows, values, columns, [rows, dim, columns]);
        }
        let layout = Layout { width, split, seen };
        self.by_scores(range, layout, &by_out, &mut probs, &mut by_scores);
        let mut by_asked = vec![0.0; rows * wide];
        for (from, side) in &mut parts {
            let (by, p, len) = (&by_scores[*from..], &probs[*from..], side.keys.len);
            let (along, across) = (Steps(by, [width, 1]), Steps(by, [1, width]));
            let (to_asked, to_side) = ([rows, len, wide], [len, rows, wide]);
            multiply_add(&mut by_asked, wide, along, &side.key_rows, wide, to_asked);
            multiply_add(&mut side.by_keys, wide, across, &asked, wide, to_side);
            let across = Steps(p, [1, width]);
            multiply_add(&mut side.by_values, wide, across, &by_out, wide, to_side);
        }
        let (scale, at) = (head.scale(), range.start - head.first);
        for (row, by) in by_asked.chunks_exact(wide).enumerate() {
            let to = &mut self.by_queries[((at + row % n) * heads + row / n) * dim..][..dim];
            to.iter_mut().zip(by).for_each(|(to, by)| *to = by * scale);
        }
    }

    /// Turns scores into probabilities, and gradients by probabilities into gradients by scores.
    fn by_scores(
        &self,
        range: &Range<usize>,
        layout: Layout,
        by_out: &[f32],
        probs: &mut [f32],
        by_scores: &mut [f32],
    ) {
        let Layout { width, split, seen } = layout;
        let (head, n) = (self.head, range.len());
        let (heads, wide, at) = (
            head.heads_per_kv,
            padded(head.head_dim),
            range.start - head.first,
        );
        let out = head.asked(self.finished.output, range, 1.0);
        dispatch(
            #[inline(always)]
            || {
                let pairs = probs
                    .chunks_exact_mut(width)
                    .zip(by_scores.chunks_exact_mut(width));
                for (row, (probs, by_scores)) in pairs.enumerate() {
                    let log = self.finished.logs[(at + row % n) * heads + row / n];
                    let mean = dot(&by_out[row * wide..][..wide], &out[row * wide..][..wide]);
                    for p in probs.iter_mut() {
                        *p = exp(*p - log);
                    }
                    probs[seen..split].fill(0.0);
                    probs[split + row % n + 1..].fill(0.0);
                    for (by, p) in by_scores.iter_mut().zip(probs) {
                        *by = *p * (*by - mean);
                    }
                }
            },
        );
    }

    fn store(&mut self, range: &Range<usize>, side: &Side) {
        let (dim, wide) = (self.head.head_dim, padded(self.head.head_dim));
        for (all, of_side) in [
            (&mut self.by_keys, &side.by_keys),
            (&mut self.by_values, &side.by_values),
        ] {
            let rows = all[range.start * dim..].chunks_exact_mut(dim);
            for (to, from) in rows.zip(of_side.chunks_exact(wide)) {
                to.copy_from_slice(&from[..dim]);
            }
        }
    }
}
