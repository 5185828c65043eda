//! Attention in Burn's own operations.
//!
//! It runs over padded blocks: a block holds rows behind one prompt. The two parts of what a row
//! sees are scored apart and share one softmax, so the keys and values of a prompt are never copied for
//! its rows: all queries of a block meet them in one product.

use super::indices::indices;
use crate::kernels::packing::Packing;
use burn::tensor::{Device, Tensor, TensorData};
use std::ops::Range;

/// Added to the score of a key that must not be seen. Finite, so that a query without any visible
/// key still has a finite softmax and a finite gradient.
pub(in crate::kernels) const HIDDEN: f32 = -1e30;

/// Keys and values of prompts, one block each.
#[derive(Clone, Debug)]
pub(in crate::kernels) struct Prefix {
    /// `[blocks, kv_heads, prompt, head_dim]`
    pub(in crate::kernels) keys: Tensor<4>,
    pub(in crate::kernels) values: Tensor<4>,
    /// 0 where a block's prompt has a token and [`HIDDEN`] after it, `[blocks, 1, 1, prompt]`.
    pub(in crate::kernels) mask: Tensor<4>,
}

impl Prefix {
    /// Of packed keys and values, `[tokens, kv_heads * head_dim]`: one a range, none of them behind the
    /// others; `None` when all ranges are empty.
    pub(in crate::kernels) fn new(
        keys: &Tensor<2>,
        values: &Tensor<2>,
        ranges: &[Range<usize>],
        head_dim: usize,
    ) -> Option<Self> {
        let longest = ranges
            .iter()
            .map(Range::len)
            .max()
            .filter(|&longest| longest > 0)?;
        let device = keys.device();
        let blocks = |x: &Tensor<2>| {
            let [_, width] = x.dims();
            let x = padded(x, ranges, longest).reshape([
                ranges.len(),
                longest,
                width / head_dim,
                head_dim,
            ]);
            x.swap_dims(1, 2)
        };
        let row = |range: &Range<usize>| {
            let len = range.len();
            (0..longest).map(move |t| if t < len { 0.0 } else { HIDDEN })
        };
        let mask = TensorData::new(
            ranges.iter().flat_map(row).collect::<Vec<f32>>(),
            [ranges.len(), 1, 1, longest],
        );
        Some(Self {
            keys: blocks(keys),
            values: blocks(values),
            mask: Tensor::from_data(mask, &device),
        })
    }

    /// The prefix whose block `i` is this one's block `blocks[i]`; blocks may repeat.
    #[must_use]
    pub(in crate::kernels) fn select(&self, blocks: &[usize]) -> Self {
        let index = indices(blocks, &self.mask.device());
        let of = |x: &Tensor<4>| x.clone().select(0, index.clone());
        Self {
            keys: of(&self.keys),
            values: of(&self.values),
            mask: of(&self.mask),
        }
    }
}

/// Rows of a packed matrix as a block of `longest` rows a range, filled up with any.
///
/// # Shapes
/// - output: `[ranges * longest, width]`
fn padded(x: &Tensor<2>, ranges: &[Range<usize>], longest: usize) -> Tensor<2> {
    let row = |range: &Range<usize>| {
        let (first, last) = (range.start, range.end.max(range.start + 1) - 1);
        (0..longest).map(move |t| (first + t).min(last))
    };
    // an empty range at the very end has no row of its own to repeat
    let rows = x.dims()[0];
    let places: Vec<usize> = ranges
        .iter()
        .flat_map(row)
        .map(|place| place.min(rows - 1))
        .collect();
    x.clone().select(0, indices(&places, &x.device()))
}

/// Attention of packed rows, of which the first `first` tokens ask nothing.
///
/// # Shapes
/// - queries and output: `[tokens - first, heads * head_dim]`, keys and values: `[tokens, kv_heads * head_dim]`
pub(in crate::kernels) fn attend(
    inputs: [Tensor<2>; 3],
    packing: &Packing,
    first: usize,
    head_dim: usize,
) -> Tensor<2> {
    let [queries, keys, values] = inputs;
    let groups = packing.groups();
    let prompts: Vec<Range<usize>> = groups.iter().map(|group| group.prompt.clone()).collect();
    let prefix = Prefix::new(&keys, &values, &prompts, head_dim);
    let mut parts = Vec::new();
    let whole = |ranges: &[Range<usize>], group, prefix: Option<&Prefix>| {
        block_attention(
            [&queries, &keys, &values],
            ranges,
            group,
            prefix,
            first,
            head_dim,
        )
    };
    let asking: Vec<Range<usize>> = prompts
        .into_iter()
        .filter(|range| first == 0 && !range.is_empty())
        .collect();
    if !asking.is_empty() {
        parts.push(whole(&asking, 1, None));
    }
    let sizes: Vec<usize> = groups.iter().map(|group| group.rows.len()).collect();
    let size = best_block(&sizes);
    let (mut blocks, mut rows) = (Vec::new(), Vec::new());
    for (index, group) in groups.iter().enumerate() {
        for block in group.rows.chunks(size) {
            blocks.push(index);
            rows.extend_from_slice(block);
            // what fills a block up is computed and dropped
            rows.resize(blocks.len() * size, 0..0);
        }
    }
    if !rows.is_empty() {
        let prefix = prefix.map(|prefix| prefix.select(&blocks));
        parts.push(whole(&rows, size, prefix.as_ref()));
    }
    Tensor::cat(parts, 0)
}

/// Attention of some packed rows, laid out in blocks of `group`: packed again, in the order of the ranges.
fn block_attention(
    [queries, keys, values]: [&Tensor<2>; 3],
    ranges: &[Range<usize>],
    group: usize,
    prefix: Option<&Prefix>,
    first: usize,
    dim: usize,
) -> Tensor<2> {
    let longest = ranges
        .iter()
        .map(Range::len)
        .max()
        .expect("at least one row");
    let asking: Vec<Range<usize>> = ranges
        .iter()
        .map(|range| range.start.saturating_sub(first)..range.end.saturating_sub(first))
        .collect();
    let blocks = |x: Tensor<2>| {
        let [_, width] = x.dims();
        x.reshape([ranges.len() / group, group, longest, width / dim, dim])
    };
    let (keys, values) = (
        blocks(padded(keys, ranges, longest)),
        blocks(padded(values, ranges, longest)),
    );
    let [_, _, _, kv_heads, _] = keys.dims();
    let queries = blocks(padded(queries, &asking, longest));
    let heads_per_kv = queries.dims()[3] / kv_heads;
    let causal = causal_mask(longest, heads_per_kv, &queries.device());
    let keys = keys.permute([0, 3, 1, 2, 4]);
    let mixed = attention(
        queries,
        keys,
        values.permute([0, 3, 1, 2, 4]),
        causal,
        prefix,
    );
    let places: Vec<usize> = ranges
        .iter()
        .enumerate()
        .flat_map(|(row, range)| (0..range.len()).map(move |t| row * longest + t))
        .collect();
    let width = mixed.dims()[1];
    if places.len() == ranges.len() * longest {
        return mixed;
    }
    let device = mixed.device();
    mixed
        .reshape([ranges.len() * longest, width])
        .select(0, indices(&places, &device))
}

/// Softmax attention of blocks over a shared prompt and their rows' own tokens.
///
/// # Shapes
/// - queries: `[blocks, group, seq, heads, head_dim]`
/// - keys and values: `[blocks, kv_heads, group, len, head_dim]`
/// - causal: `[heads_per_kv * seq, len]`, see [`causal_mask`]
/// - output: `[blocks * group * seq, heads * head_dim]`
pub(in crate::kernels) fn attention(
    queries: Tensor<5>,
    keys: Tensor<5>,
    values: Tensor<5>,
    causal: Option<Tensor<2>>,
    prefix: Option<&Prefix>,
) -> Tensor<2> {
    let [blocks, group, seq, heads, dim] = queries.dims();
    let kv_heads = keys.dims()[1];
    let heads_per_kv = heads / kv_heads;
    let queries = (queries * (dim as f64).powf(-0.5))
        .reshape([blocks, group, seq, kv_heads, heads_per_kv, dim])
        .permute([0, 3, 1, 4, 2, 5])
        .reshape([blocks, kv_heads, group * heads_per_kv * seq, dim]);
    let shape = [blocks, kv_heads, group, heads_per_kv * seq, dim];
    let mut own = queries.clone().reshape(shape).matmul(keys.swap_dims(3, 4));
    if let Some(mask) = causal {
        own = own + mask.unsqueeze();
    }
    let seen = own.dims()[4];
    let mut parts = vec![(
        own.reshape([blocks, kv_heads, group * heads_per_kv * seq, seen]),
        values,
    )];
    if let Some(prefix) = prefix {
        let scores = queries.matmul(prefix.keys.clone().swap_dims(2, 3)) + prefix.mask.clone();
        parts.push((scores, prefix.values.clone().unsqueeze_dim(2)));
    }
    let mixed =
        softmax_product(parts, shape).reshape([blocks, kv_heads, group, heads_per_kv, seq, dim]);
    mixed
        .permute([0, 2, 4, 1, 3, 5])
        .reshape([blocks * group * seq, heads * dim])
}

/// Values weighted by one softmax over the scores of all parts.
///
/// # Shapes
/// - scores of a part: `[blocks, kv_heads, group * heads_per_kv * seq, keys]`
/// - values of a part: `[blocks, kv_heads, group or 1, keys, head_dim]`
/// - shape and output: `[blocks, kv_heads, group, heads_per_kv * seq, head_dim]`
fn softmax_product(parts: Vec<(Tensor<4>, Tensor<5>)>, shape: [usize; 5]) -> Tensor<5> {
    let [blocks, kv_heads, group, queries, dim] = shape;
    // the largest score only keeps exp in range, so no gradient flows through it
    let maxima = parts
        .iter()
        .map(|(scores, _)| scores.clone().detach().max_dim(3));
    let largest = maxima.reduce(Tensor::max_pair).expect("at least one part");
    let mut total: Option<(Tensor<4>, Tensor<4>)> = None;
    for (scores, values) in parts {
        let probs = (scores - largest.clone()).exp();
        let sum = probs.clone().sum_dim(3);
        let [.., value_groups, keys, _] = values.dims();
        let probs = probs.reshape([
            blocks,
            kv_heads,
            value_groups,
            group * queries / value_groups,
            keys,
        ]);
        let product = probs
            .matmul(values)
            .reshape([blocks, kv_heads, group * queries, dim]);
        total = Some(match total {
            None => (product, sum),
            Some((p, s)) => (p + product, s + sum),
        });
    }
    let (product, sum) = total.expect("at least one part");
    (product / sum).reshape(shape)
}

/// What the queries of `seq` tokens may see of themselves, for each of the `heads_per_kv` query heads of a key
/// head; `None` when they may see everything.
///
/// # Shapes
/// - output: `[heads_per_kv * seq, seq]`
fn causal_mask(seq: usize, heads_per_kv: usize, device: &Device) -> Option<Tensor<2>> {
    if seq == 1 {
        return None;
    }
    let row = |t: usize| (0..seq).map(move |s| if s <= t { 0.0 } else { HIDDEN });
    let one: Vec<f32> = (0..seq).flat_map(row).collect();
    Some(Tensor::from_data(
        TensorData::new(one.repeat(heads_per_kv), [heads_per_kv * seq, seq]),
        device,
    ))
}

/// The block size of the least work, where a block costs about as much as a row.
fn best_block(sizes: &[usize]) -> usize {
    let largest = sizes.iter().copied().max().unwrap_or(1).max(1);
    let cost = |group: usize| {
        sizes
            .iter()
            .map(|size| size.div_ceil(group) * (group + 1))
            .sum::<usize>()
    };
    (1..=largest)
        .rev()
        .min_by_key(|&group| cost(group))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_sees_nothing_stays_finite() {
        let device = Device::flex().autodiff();
        let scores = Tensor::<4>::full([1, 1, 2, 3], HIDDEN, &device).require_grad();
        let values = Tensor::<5>::ones([1, 1, 1, 3, 4], &device).require_grad();
        let out = softmax_product(vec![(scores.clone(), values.clone())], [1, 1, 1, 2, 4]);
        let grads = out.clone().sum().backward();
        for tensor in [
            out.inner().reshape([8]),
            scores.grad(&grads).unwrap().reshape([6]),
        ] {
            let tensor: Tensor<1> = tensor;
            assert!(
                tensor
                    .into_data()
                    .try_into_vec::<f32>()
                    .unwrap()
                    .iter()
                    .all(|x| x.is_finite())
            );
        }
    }

    #[test]
    fn the_mask_hides_later_tokens_for_each_query_head() {
        let mask = causal_mask(2, 2, &Device::flex())
            .unwrap()
            .into_data()
            .try_into_vec::<f32>()
            .unwrap();
        let hidden: Vec<bool> = mask.iter().map(|m| *m == HIDDEN).collect();
        assert_eq!(hidden, [false, true, false, false].repeat(2));
        assert!(causal_mask(1, 2, &Device::flex()).is_none());
    }

    #[test]
    fn block_size_fits_uneven_groups() {
        assert_eq!(best_block(&[8, 8, 8]), 8);
        assert_eq!(best_block(&[8, 16, 8]), 8);
        assert_eq!(best_block(&[8, 4]), 4);
        assert_eq!(best_block(&[8, 8, 8, 7]), 8);
        assert_eq!(best_block(&[1]), 1);
    }
}
