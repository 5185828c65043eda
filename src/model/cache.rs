//! Keys and values that a forward pass can see besides its own.
//!
//! A [`Prefix`] holds those of prompts, one row a distinct prompt; it serves all completions of a
//! group, in generation and, with its gradient, in the update. A [`Cache`] adds what the completion
//! rows have written so far. Rows stand in blocks: block `b` holds `group` rows with one prompt.

use burn::tensor::{Device, Int, Tensor, TensorData};

/// Added to the score of a key that must not be seen. Finite, so that a query without any visible
/// key still has a finite softmax and a finite gradient.
pub(crate) const HIDDEN: f32 = -1e30;

/// Keys and values of prompts, a block each.
#[derive(Clone, Debug)]
pub struct Prefix {
    /// A pair a layer, `[blocks, kv_heads, prompt, head_dim]`.
    pub(crate) layers: Vec<(Tensor<4>, Tensor<4>)>,
    /// 0 where a block's prompt has a token and [`HIDDEN`] after it, `[blocks, 1, 1, prompt]`.
    pub(crate) mask: Tensor<4>,
}

impl Prefix {
    pub(crate) fn new(layers: Vec<(Tensor<4>, Tensor<4>)>, lengths: &[usize], device: &Device) -> Self {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let row = |&len: &usize| (0..longest).map(move |t| if t < len { 0.0 } else { HIDDEN });
        let data = TensorData::new(lengths.iter().flat_map(row).collect::<Vec<f32>>(), [lengths.len(), 1, 1, longest]);
        Self { layers, mask: Tensor::from_data(data, device) }
    }

    /// The prefix whose block `i` is this one's block `blocks[i]`; blocks may repeat.
    #[must_use]
    pub fn select(self, blocks: &[usize]) -> Self {
        let index = indices(blocks, &self.mask.device());
        let layers = self.layers.into_iter();
        Self {
            layers: layers.map(|(k, v)| (k.select(0, index.clone()), v.select(0, index.clone()))).collect(),
            mask: self.mask.select(0, index),
        }
    }
}

/// Keys and values of the rows of a forward pass and of the prompts before them.
#[derive(Clone, Debug)]
pub struct Cache {
    pub(crate) prefix: Option<Prefix>,
    pub(crate) group: usize,
    layers: Vec<Option<(Tensor<5>, Tensor<5>)>>,
    capacity: usize,
    len: usize,
}

impl Cache {
    /// An empty cache for `group` rows a block, over `prefix` where there is one, with room for
    /// `capacity` tokens a row. With capacity 0 it serves one single forward pass of any length,
    /// whose keys and values are used as they are: training and the computation of prompts.
    pub fn new(layers: usize, prefix: Option<Prefix>, group: usize, capacity: usize) -> Self {
        Self { prefix, group, layers: vec![None; layers], capacity, len: 0 }
    }

    /// Tokens a row written so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True before the first forward pass.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Counts the tokens of a finished forward pass.
    pub(crate) fn advance(&mut self, tokens: usize) {
        self.len += tokens;
    }

    /// Writes keys and values behind those of `layer` and returns all that its rows have.
    ///
    /// # Shapes
    /// - keys, values: `[blocks, kv_heads, group, seq, head_dim]`
    /// - output: `[blocks, kv_heads, group, len + seq, head_dim]`
    ///
    /// # Panics
    /// When they do not fit.
    pub(crate) fn append(&mut self, layer: usize, keys: Tensor<5>, values: Tensor<5>) -> (Tensor<5>, Tensor<5>) {
        if self.capacity == 0 {
            assert!(self.len == 0, "a cache without capacity serves one forward pass");
            self.layers[layer] = Some((keys.clone(), values.clone()));
            return (keys, values);
        }
        let [blocks, kv_heads, group, seq, head_dim] = keys.dims();
        let end = self.len + seq;
        assert!(end <= self.capacity, "{end} tokens in a cache for {}", self.capacity);
        let shape = [blocks, kv_heads, group, self.capacity, head_dim];
        let fresh = || Tensor::zeros(shape, &keys.device());
        let (mut all_keys, mut all_values) = self.layers[layer].take().unwrap_or_else(|| (fresh(), fresh()));
        let at = [0..blocks, 0..kv_heads, 0..group, self.len..end, 0..head_dim];
        all_keys = all_keys.slice_assign(at.clone(), keys);
        all_values = all_values.slice_assign(at, values);
        let seen = [0..blocks, 0..kv_heads, 0..group, 0..end, 0..head_dim];
        let view = (all_keys.clone().slice(seen.clone()), all_values.clone().slice(seen));
        self.layers[layer] = Some((all_keys, all_values));
        view
    }

    /// Turns the keys and values of a pass over whole prompts (one row a block) into their prefix.
    pub(crate) fn into_prefix(self, lengths: &[usize], device: &Device) -> Prefix {
        let squeeze = |x: Tensor<5>| {
            let [blocks, kv_heads, _, seq, head_dim] = x.dims();
            x.reshape([blocks, kv_heads, seq, head_dim])
        };
        let layers = self.layers.into_iter().map(|pair| {
            let (keys, values) = pair.expect("every layer has written its keys and values");
            (squeeze(keys), squeeze(values))
        });
        Prefix::new(layers.collect(), lengths, device)
    }

    /// Keeps `rows` (indices into the present rows, `group` a block of `blocks`) and lays them out
    /// as blocks of the new group.
    pub(crate) fn keep(&mut self, blocks: &[usize], rows: &[usize], group: usize) {
        assert_eq!(rows.len(), blocks.len() * group, "one row a place");
        self.prefix = self.prefix.take().map(|prefix| prefix.select(blocks));
        let repack = |x: Tensor<5>| {
            let [b, kv, g, len, dim] = x.dims();
            let index = indices(rows, &x.device());
            let by_row = x.swap_dims(1, 2).reshape([b * g, kv, len, dim]).select(0, index);
            by_row.reshape([blocks.len(), group, kv, len, dim]).swap_dims(1, 2)
        };
        for layer in &mut self.layers {
            *layer = layer.take().map(|(k, v)| (repack(k), repack(v)));
        }
        self.group = group;
    }
}

/// Indices as a tensor.
pub(crate) fn indices(values: &[usize], device: &Device) -> Tensor<1, Int> {
    let data: Vec<i32> = values.iter().map(|&v| i32::try_from(v).expect("an index below 2^31")).collect();
    Tensor::from_data(TensorData::new(data, [values.len()]), device)
}
