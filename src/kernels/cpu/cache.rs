//! Keys and values of rows that grow by one token at a time, and attention over them.
//!
//! They stand as the small products want them: keys with one coordinate per row, values with one token
//! per row, both padded to whole vectors. A row that has ended is left out of all that follows; nothing is moved for it.

use super::keys::{Keys, softmax};
use super::op::{dims, matrix, numbers, primitive, whole};
use crate::kernels::packing::{Packing, PromptGroup};
use crate::kernels::simd::{Steps, dispatch, multiply_add, padded};
use burn::backend::Flex;
use burn::tensor::Tensor;

/// A living row.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Its place among the rows that the cache was made for.
    slot: usize,
    prompt: usize,
}

/// Keys and values of one layer.
struct Layer {
    /// Of each prompt and key head.
    prompts: Vec<Keys>,
    /// `[slots, kv_heads, head_dim, columns]`
    keys: Vec<f32>,
    /// `[slots, kv_heads, capacity, padded(head_dim)]`
    values: Vec<f32>,
}

/// What the rows of a batch have behind them.
pub(in crate::kernels) struct Cache {
    layers: Vec<Layer>,
    rows: Vec<Row>,
    /// Tokens of each prompt.
    lengths: Vec<usize>,
    kv_heads: usize,
    head_dim: usize,
    capacity: usize,
    /// Tokens that every living row has written.
    len: usize,
}

impl Cache {
    /// For `group` rows per prompt, with room for `capacity` tokens per row. `layers` are the keys and values
    /// of the packed prompts, `[tokens, kv_heads * head_dim]`; without any token they are none.
    pub(in crate::kernels) fn new(
        layers: Vec<Option<[Tensor<2>; 2]>>,
        lengths: &[usize],
        group: usize,
        capacity: usize,
        [kv_heads, head_dim]: [usize; 2],
    ) -> Self {
        let slots = lengths.len() * group;
        let packing = Packing::new(lengths, &[]);
        let layer = |pair: Option<[Tensor<2>; 2]>| {
            let pair = pair.map(|pair| pair.map(|x| whole(primitive(x))));
            let [keys, values] = pair
                .as_ref()
                .map_or([&[][..]; 2], |pair| pair.each_ref().map(numbers));
            let heads = |group: &PromptGroup| {
                let range = group.prompt.clone();
                (0..kv_heads)
                    .map(move |head| Keys::new(keys, values, &range, [head, kv_heads, head_dim]))
            };
            Layer {
                prompts: packing.groups().iter().flat_map(heads).collect(),
                keys: vec![0.0; slots * kv_heads * head_dim * padded(capacity)],
                values: vec![0.0; slots * kv_heads * capacity * padded(head_dim)],
            }
        };
        let rows = (0..slots)
            .map(|slot| Row {
                slot,
                prompt: slot / group.max(1),
            })
            .collect();
        let layers = layers.into_iter().map(layer).collect();
        Self {
            layers,
            rows,
            lengths: lengths.into(),
            kv_heads,
            head_dim,
            capacity,
            len: 0,
        }
    }

    /// The position of the next token of each living row.
    pub(in crate::kernels) fn positions(&self) -> Vec<usize> {
        self.rows
            .iter()
            .map(|row| self.lengths[row.prompt] + self.len)
            .collect()
    }

    /// Writes the keys and values of one more token per row and returns what its queries find.
    ///
    /// # Shapes
    /// - queries and output: `[rows, heads * head_dim]`, keys and values: `[rows, kv_heads * head_dim]`
    ///
    /// # Panics
    /// When there is no room left.
    pub(in crate::kernels) fn attend(&mut self, layer: usize, inputs: [Tensor<2>; 3]) -> Tensor<2> {
        assert!(
            self.len < self.capacity,
            "a cache for {} tokens is full",
            self.capacity
        );
        let inputs = inputs.map(|input| whole(primitive(input)));
        let [rows, width] = dims(&inputs[0]);
        let [queries, keys, values] = inputs.each_ref().map(numbers);
        self.write(layer, keys, values);
        let mut out = vec![0.0; rows * width];
        let mut start = 0;
        for run in self.rows.chunk_by(|a, b| a.prompt == b.prompt) {
            let part = start * width..(start + run.len()) * width;
            for head in 0..self.kv_heads {
                self.attend_group(
                    &self.layers[layer],
                    run,
                    head,
                    &queries[part.clone()],
                    &mut out[part.clone()],
                );
            }
            start += run.len();
        }
        Tensor::from_primitive::<Flex>(matrix(out, [rows, width]))
    }

    /// Counts the token that all layers have written.
    pub(in crate::kernels) fn advance(&mut self) {
        self.len += 1;
    }

    /// Goes on with these of the living rows.
    pub(in crate::kernels) fn keep(&mut self, rows: &[usize]) {
        self.rows = rows.iter().map(|&row| self.rows[row]).collect();
    }

    fn write(&mut self, layer: usize, keys: &[f32], values: &[f32]) {
        let (dim, columns, wide) = (self.head_dim, padded(self.capacity), padded(self.head_dim));
        let layer = &mut self.layers[layer];
        let of_rows = keys
            .chunks_exact(self.kv_heads * dim)
            .zip(values.chunks_exact(self.kv_heads * dim));
        for (row, (keys, values)) in self.rows.iter().zip(of_rows) {
            for (head, (key, value)) in keys
                .chunks_exact(dim)
                .zip(values.chunks_exact(dim))
                .enumerate()
            {
                let place = row.slot * self.kv_heads + head;
                for (d, &x) in key.iter().enumerate() {
                    layer.keys[(place * dim + d) * columns + self.len] = x;
                }
                layer.values[(place * self.capacity + self.len) * wide..][..dim]
                    .copy_from_slice(value);
            }
        }
    }

    /// One key head of the rows behind one prompt.
    fn attend_group(
        &self,
        layer: &Layer,
        rows: &[Row],
        head: usize,
        queries: &[f32],
        out: &mut [f32],
    ) {
        let (dim, wide) = (self.head_dim, padded(self.head_dim));
        let width = queries.len() / rows.len();
        let heads_per_kv = width / (self.kv_heads * dim);
        let of_head = head * heads_per_kv * dim;
        let scale = (dim as f32).powf(-0.5);
        let mut asked = vec![0.0; rows.len() * heads_per_kv * dim];
        let to = asked.chunks_exact_mut(heads_per_kv * dim);
        for (asked, row) in to.zip(queries.chunks_exact(width)) {
            let row = &row[of_head..];
            asked.iter_mut().zip(row).for_each(|(q, x)| *q = x * scale);
        }
        let mixed = self.mixed(layer, rows, head, &asked);
        for (i, mixed) in mixed.chunks_exact(wide).enumerate() {
            let to = (i / heads_per_kv) * width + of_head + i % heads_per_kv * dim;
            out[to..to + dim].copy_from_slice(&mixed[..dim]);
        }
    }

    /// What scaled queries find in one key head: `[rows * heads_per_kv, padded(head_dim)]`.
    ///
    /// # Shapes
    /// - asked: `[rows * heads_per_kv, head_dim]`
    fn mixed(&self, layer: &Layer, rows: &[Row], head: usize, asked: &[f32]) -> Vec<f32> {
        let (dim, wide, stride) = (self.head_dim, padded(self.head_dim), padded(self.capacity));
        let (len, own_columns) = (self.len + 1, padded(self.len + 1));
        let (count, heads) = (asked.len() / dim, asked.len() / dim / rows.len());
        let prompt = &layer.prompts[rows[0].prompt * self.kv_heads + head];
        let (split, columns) = (prompt.columns, prompt.columns + own_columns);
        let place = |row: &Row| row.slot * self.kv_heads + head;
        let mut probs = vec![0.0; count * columns];
        let (all, shape) = (Steps(asked, [dim, 1]), [count, dim, split]);
        multiply_add(&mut probs, columns, all, &prompt.transposed, split, shape);
        for (i, row) in rows.iter().enumerate() {
            let own = Steps(&asked[i * heads * dim..], [dim, 1]);
            let keys = &layer.keys[place(row) * dim * stride..][..dim * stride];
            let to = &mut probs[i * heads * columns + split..];
            multiply_add(to, columns, own, keys, stride, [heads, dim, own_columns]);
        }
        dispatch(
            #[inline(always)]
            || {
                for row in probs.chunks_exact_mut(columns) {
                    softmax(row, split, [prompt.len, len]);
                }
            },
        );
        let mut mixed = vec![0.0; count * wide];
        let (all, shape) = (Steps(&probs, [columns, 1]), [count, prompt.len, wide]);
        multiply_add(&mut mixed, wide, all, &prompt.values, wide, shape);
        for (i, row) in rows.iter().enumerate() {
            let own = Steps(&probs[i * heads * columns + split..], [columns, 1]);
            let values = &layer.values[place(row) * self.capacity * wide..];
            let to = &mut mixed[i * heads * wide..];
            multiply_add(to, wide, own, values, wide, [heads, len, wide]);
        }
        mixed
    }
}
