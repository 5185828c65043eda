//! Keys and values of one head laid out for small products, and the softmax over their scores.

use crate::kernels::simd::{exp, largest, padded, sum};
use std::ops::Range;

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
    /// Head `head` of the rows `range` of matrices that have `dim` columns per head.
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

/// One head of some rows, transposed: `[dim, padded(rows)]`.
pub(super) fn transposed(
    matrix: &[f32],
    range: &Range<usize>,
    [head, heads, dim]: [usize; 3],
) -> Vec<f32> {
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
pub(super) fn gathered(
    matrix: &[f32],
    range: &Range<usize>,
    [head, heads, dim]: [usize; 3],
) -> Vec<f32> {
    let wide = padded(dim);
    let mut out = vec![0.0; range.len() * wide];
    let rows = matrix[range.start * heads * dim..range.end * heads * dim].chunks_exact(heads * dim);
    for (out, row) in out.chunks_exact_mut(wide).zip(rows) {
        out[..dim].copy_from_slice(&row[head * dim..][..dim]);
    }
    out
}

/// Turns the scores of a row into probabilities. It sees the first `seen[0]` of the first `split` columns
/// and the first `seen[1]` of the others; all else becomes 0. Returns the logarithm of their denominator.
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
