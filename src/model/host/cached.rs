//! Keys and values of rows that grow by a token at a time, and attention over them.
//!
//! They stand as the small products want them: keys a coordinate a row, values a token a row, both filled
//! up to whole vectors. A row that has ended is left out of all that follows; nothing is moved for it.

use super::attend::{Keys, softmax};
use super::vector::{Steps, multiply_add, padded, widest};
use super::{Host, dims, matrix, numbers, whole};
use crate::model::packing::{Family, Packing};
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
pub(crate) struct HostCache {
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

impl HostCache {
    /// For `group` rows a prompt, with room for `capacity` tokens a row. `layers` are the keys and values
    /// of the packed prompts, `[tokens, kv_heads * head_dim]`; without any token they are none.
    pub(crate) fn new(
        layers: Vec<Option<[Tensor<2>; 2]>>,
        lengths: &[usize],
        group: usize,
        capacity: usize,
        [kv_heads, head_dim]: [usize; 2],
    ) -> Self {
        let slots = lengths.len() * group;
        let packing = Packing::new(lengths, &[]);
        let layer = |pair: Option<[Tensor<2>; 2]>| {
            let pair = pair.map(|pair| pair.map(|x| whole(host(x))));
            let [keys, values] = pair
                .as_ref()
                .map_or([&[][..]; 2], |pair| pair.each_ref().map(numbers));
            let heads = |family: &Family| {
                let range = family.prompt.clone();
                (0..kv_heads)
                    .map(move |head| Keys::new(keys, values, &range, [head, kv_heads, head_dim]))
            };
            Layer {
                prompts: packing.families().iter().flat_map(heads).collect(),
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
    pub(crate) fn positions(&self) -> Vec<usize> {
        self.rows
            .iter()
            .map(|row| self.lengths[row.prompt] + self.len)
            .collect()
    }

    /// Writes the keys and values of one more token a row and returns what its queries find.
    ///
    /// # Shapes
    /// - queries and output: `[rows, heads * head_dim]`, keys and values: `[rows, kv_heads * head_dim]`
    ///
    /// # Panics
    /// When there is no room left.
    pub(crate) fn attend(&mut self, layer: usize, inputs: [Tensor<2>; 3]) -> Tensor<2> {
        assert!(
            self.len < self.capacity,
            "a cache for {} tokens is full",
            self.capacity
        );
        let inputs = inputs.map(|input| whole(host(input)));
        let [rows, width] = dims(&inputs[0]);
        let [queries, keys, values] = inputs.each_ref().map(numbers);
        self.write(layer, keys, values);
        let mut out = vec![0.0; rows * width];
        let mut start = 0;
        for run in self.rows.chunk_by(|a, b| a.prompt == b.prompt) {
            let part = start * width..(start + run.len()) * width;
            for head in 0..self.kv_heads {
                self.family(
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
    pub(crate) fn advance(&mut self) {
        self.len += 1;
    }

    /// Goes on with these of the living rows.
    pub(crate) fn keep(&mut self, rows: &[usize]) {
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
    fn family(&self, layer: &Layer, rows: &[Row], head: usize, queries: &[f32], out: &mut [f32]) {
        let (dim, wide, heads) = (self.head_dim, padded(self.head_dim), self.kv_heads);
        let width = queries.len() / rows.len();
        let share = width / (heads * dim);
        let prompt = &layer.prompts[rows[0].prompt * heads + head];
        let (len, own_columns) = (self.len + 1, padded(self.len + 1));
        let (split, scale) = (prompt.columns, (dim as f32).powf(-0.5));
        let (count, columns) = (rows.len() * share, split + own_columns);
        let mut asked = vec![0.0; count * dim];
        for (asked, row) in asked
            .chunks_exact_mut(share * dim)
            .zip(queries.chunks_exact(width))
        {
            asked
                .iter_mut()
                .zip(&row[head * share * dim..])
                .for_each(|(q, x)| *q = x * scale);
        }
        let mut weights = vec![0.0; count * columns];
        let all = Steps(&asked, [dim, 1]);
        multiply_add(
            &mut weights,
            columns,
            all,
            &prompt.transposed,
            split,
            [count, dim, split],
        );
        let stride = padded(self.capacity);
        let place = |row: &Row| row.slot * heads + head;
        for (i, row) in rows.iter().enumerate() {
            let own = Steps(&asked[i * share * dim..], [dim, 1]);
            let keys = &layer.keys[place(row) * dim * stride..][..dim * stride];
            let to = &mut weights[i * share * columns + split..];
            multiply_add(to, columns, own, keys, stride, [share, dim, own_columns]);
        }
        widest(
            #[inline(always)]
            || {
                for row in weights.chunks_exact_mut(columns) {
                    softmax(row, split, [prompt.len, len]);
                }
            },
        );
        let mut mixed = vec![0.0; count * wide];
        let shape = [count, prompt.len, wide];
        multiply_add(
            &mut mixed,
            wide,
            Steps(&weights, [columns, 1]),
            &prompt.values,
            wide,
            shape,
        );
        for (i, row) in rows.iter().enumerate() {
            let own = Steps(&weights[i * share * columns + split..], [columns, 1]);
            let values = &layer.values[place(row) * self.capacity * wide..];
            multiply_add(
                &mut mixed[i * share * wide..],
                wide,
                own,
                values,
                wide,
                [share, len, wide],
            );
        }
        for (i, mixed) in mixed.chunks_exact(wide).enumerate() {
            let to = (i / share) * width + (head * share + i % share) * dim;
            out[to..to + dim].copy_from_slice(&mixed[..dim]);
        }
    }
}

fn host(tensor: Tensor<2>) -> Host {
    tensor
        .try_into_primitive::<Flex>()
        .expect("generation runs on the CPU, without a graph")
}
