//! Keys and values of rows that grow by one token at a time, and attention over them, in Burn's own
//! operations.

use super::attention::{Prefix, attention};
use super::indices::indices;
use crate::kernels::packing::Packing;
use burn::tensor::Tensor;
use std::ops::Range;

/// Blocks of rows are laid out anew when at most this fraction of the places would be left.
const COMPACT_BELOW: f64 = 0.8;

/// Keys and values of rows and their prompts: rows stand in blocks of `group` behind one prompt.
pub(in crate::kernels) struct Cache {
    /// Of each layer, one block per prompt.
    prefixes: Vec<Option<Prefix>>,
    /// Of each layer, `[blocks, kv_heads, group, capacity, head_dim]`.
    layers: Vec<Option<[Tensor<5>; 2]>>,
    /// The prompt of each block.
    blocks: Vec<usize>,
    group: usize,
    /// Where the living rows stand, in ascending order.
    places: Vec<usize>,
    lengths: Vec<usize>,
    kv_heads: usize,
    head_dim: usize,
    capacity: usize,
    len: usize,
}

impl Cache {
    /// See [`Cache`](crate::kernels::Cache).
    pub(in crate::kernels) fn new(
        layers: &[Option<[Tensor<2>; 2]>],
        lengths: &[usize],
        group: usize,
        capacity: usize,
        [kv_heads, head_dim]: [usize; 2],
    ) -> Self {
        let packing = Packing::new(lengths, &[]);
        let ranges: Vec<Range<usize>> = packing
            .groups()
            .iter()
            .map(|group| group.prompt.clone())
            .collect();
        let prefix = |pair: &Option<[Tensor<2>; 2]>| {
            pair.as_ref()
                .and_then(|[keys, values]| Prefix::new(keys, values, &ranges, head_dim))
        };
        Self {
            prefixes: layers.iter().map(prefix).collect(),
            layers: vec![None; layers.len()],
            blocks: (0..lengths.len()).collect(),
            group,
            places: (0..lengths.len() * group).collect(),
            lengths: lengths.into(),
            kv_heads,
            head_dim,
            capacity,
            len: 0,
        }
    }

    /// The position of the next token of every row that is computed.
    pub(in crate::kernels) fn positions(&self) -> Vec<usize> {
        self.blocks
            .iter()
            .flat_map(|&b| std::iter::repeat_n(self.lengths[b] + self.len, self.group))
            .collect()
    }

    /// The tokens of the rows that are computed: places of rows that have ended repeat the token of another row.
    pub(in crate::kernels) fn computed(&self, tokens: &[u32]) -> Vec<u32> {
        let mut all = vec![tokens[0]; self.blocks.len() * self.group];
        self.places
            .iter()
            .zip(tokens)
            .for_each(|(&place, &token)| all[place] = token);
        all
    }

    /// The living of the rows that were computed.
    pub(in crate::kernels) fn living(&self, x: Tensor<2>) -> Tensor<2> {
        if self.places.len() == x.dims()[0] {
            return x;
        }
        let living = indices(&self.places, &x.device());
        x.select(0, living)
    }

    /// Counts the token that all layers have written.
    pub(in crate::kernels) fn advance(&mut self) {
        self.len += 1;
    }

    /// Writes the keys and values of one more token per row and returns what its queries find.
    pub(in crate::kernels) fn attend(
        &mut self,
        layer: usize,
        [queries, keys, values]: [Tensor<2>; 3],
    ) -> Tensor<2> {
        let (blocks, group, dim) = (self.blocks.len(), self.group, self.head_dim);
        let heads = queries.dims()[1] / dim;
        let own = |x: Tensor<2>| {
            x.reshape([blocks, group, 1, self.kv_heads, dim])
                .permute([0, 3, 1, 2, 4])
        };
        let (keys, values) = (own(keys), own(values));
        let [keys, values] = self.append(layer, keys, values);
        let queries = queries.reshape([blocks, group, 1, heads, dim]);
        attention(queries, keys, values, None, self.prefixes[layer].as_ref())
    }

    /// Writes behind what a layer has and returns all that it has then.
    ///
    /// # Shapes
    /// - keys, values: `[blocks, kv_heads, group, 1, head_dim]`
    /// - output: `[blocks, kv_heads, group, len + 1, head_dim]`, twice
    fn append(&mut self, layer: usize, keys: Tensor<5>, values: Tensor<5>) -> [Tensor<5>; 2] {
        assert!(
            self.len < self.capacity,
            "a cache for {} tokens is full",
            self.capacity
        );
        let [blocks, kv_heads, group, _, head_dim] = keys.dims();
        let fresh = || {
            Tensor::zeros(
                [blocks, kv_heads, group, self.capacity, head_dim],
                &keys.device(),
            )
        };
        let [all_keys, all_values] = self.layers[layer]
            .take()
            .unwrap_or_else(|| [fresh(), fresh()]);
        let at = [
            0..blocks,
            0..kv_heads,
            0..group,
            self.len..self.len + 1,
            0..head_dim,
        ];
        let all = [
            all_keys.slice_assign(at.clone(), keys),
            all_values.slice_assign(at, values),
        ];
        let seen = [
            0..blocks,
            0..kv_heads,
            0..group,
            0..self.len + 1,
            0..head_dim,
        ];
        let view = all.each_ref().map(|x| x.clone().slice(seen.clone()));
        self.layers[layer] = Some(all);
        view
    }

    /// Rows that have ended are computed on until leaving them out makes a clearly smaller batch. A block
    /// keeps as many places as the block with most living rows; ended ones fill the others.
    pub(in crate::kernels) fn keep(&mut self, rows: &[usize]) {
        self.places = rows.iter().map(|&row| self.places[row]).collect();
        let mut living = vec![Vec::new(); self.blocks.len()];
        self.places
            .iter()
            .for_each(|&place| living[place / self.group].push(place));
        let alive: Vec<usize> = living.iter().map(Vec::len).collect();
        let group = alive.iter().copied().max().unwrap_or(0);
        let kept: Vec<usize> = (0..self.blocks.len()).filter(|&b| alive[b] > 0).collect();
        if (kept.len() * group) as f64 > COMPACT_BELOW * (self.blocks.len() * self.group) as f64 {
            return;
        }
        let (mut order, mut places) = (Vec::new(), Vec::new());
        for (block, &b) in kept.iter().enumerate() {
            places.extend((0..alive[b]).map(|i| block * group + i));
            let ended =
                (b * self.group..(b + 1) * self.group).filter(|place| !living[b].contains(place));
            order.extend(living[b].iter().copied().chain(ended).take(group));
        }
        let repack = |x: &Tensor<5>| {
            let [b, kv, g, len, dim] = x.dims();
            let by_row = x.clone().swap_dims(1, 2).reshape([b * g, kv, len, dim]);
            let by_row = by_row.select(0, indices(&order, &x.device()));
            by_row
                .reshape([kept.len(), group, kv, len, dim])
                .swap_dims(1, 2)
        };
        self.layers = self
            .layers
            .iter()
            .map(|pair| pair.as_ref().map(|pair| pair.each_ref().map(repack)))
            .collect();
        self.prefixes = self
            .prefixes
            .iter()
            .map(|prefix| prefix.as_ref().map(|prefix| prefix.select(&kept)))
            .collect();
        self.blocks = kept.iter().map(|&b| self.blocks[b]).collect();
        (self.places, self.group) = (places, group);
    }
}
