//! Grouped-query attention over a shared prompt and a row's own tokens.
//!
//! The two parts are scored apart and share one softmax, so the keys and values of a prompt are
//! never copied for the rows that see them: all queries of a block meet them in one product.

use super::cache::{Cache, HIDDEN};
use super::rope::Rope;
use burn::module::Module;
use burn::nn::{Linear, RmsNorm};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};

/// Attention of one layer; fields carry Hugging Face's key names.
#[derive(Module, Debug)]
pub(crate) struct Attention {
    pub(crate) q_proj: Linear,
    pub(crate) k_proj: Linear,
    pub(crate) v_proj: Linear,
    pub(crate) o_proj: Linear,
    /// Norms of each query and each key head, in Qwen3.
    pub(crate) q_norm: Option<RmsNorm>,
    pub(crate) k_norm: Option<RmsNorm>,
    pub(crate) head_dim: usize,
}

impl Attention {
    /// Query heads a key head.
    pub(crate) fn share(&self) -> usize {
        self.q_proj.weight.dims()[1] / self.k_proj.weight.dims()[1]
    }

    /// Writes the keys and values of `x` into the cache and returns all that its rows have.
    ///
    /// # Shapes
    /// - x: `[rows, seq, hidden]`
    /// - output: `[blocks, kv_heads, group, len + seq, head_dim]`, twice
    pub(crate) fn remember(&self, layer: usize, x: &Tensor<3>, rope: &Rope, cache: &mut Cache) -> [Tensor<5>; 2] {
        let [rows, seq, _] = x.dims();
        let group = cache.group;
        let keys = linear(&self.k_proj, x.clone());
        let kv_heads = keys.dims()[2] / self.head_dim;
        let keys = norm_heads(self.k_norm.as_ref(), keys.reshape([rows, seq, kv_heads, self.head_dim]));
        let keys = rope.apply(keys);
        let values = linear(&self.v_proj, x.clone());
        let shape = [rows / group, group, seq, kv_heads, self.head_dim];
        let (keys, values) = (keys.reshape(shape), values.reshape(shape));
        let (keys, values) = cache.append(layer, keys.permute([0, 3, 1, 2, 4]), values.permute([0, 3, 1, 2, 4]));
        [keys, values]
    }

    /// Attention of the tokens of `x` over their prompt and the tokens of their row up to their own.
    ///
    /// # Shapes
    /// - x and output: `[rows, seq, hidden]`
    /// - causal: `[seq, len + seq]` repeated for the query heads of a key head, see [`causal_mask`]
    pub(crate) fn forward(
        &self,
        layer: usize,
        x: Tensor<3>,
        rope: &Rope,
        causal: Option<&Tensor<2>>,
        cache: &mut Cache,
    ) -> Tensor<3> {
        let [rows, seq, _] = x.dims();
        let (dim, group) = (self.head_dim, cache.group);
        let blocks = rows / group;
        let [keys, values] = self.remember(layer, &x, rope, cache);
        let kv_heads = keys.dims()[1];
        let share = self.share();
        let heads = kv_heads * share;
        let queries = linear(&self.q_proj, x).reshape([rows, seq, heads, dim]);
        let queries = rope.apply(norm_heads(self.q_norm.as_ref(), queries)) * (dim as f64).powf(-0.5);
        let queries = queries
            .reshape([blocks, group, seq, kv_heads, share, dim])
            .permute([0, 3, 1, 4, 2, 5])
            .reshape([blocks, kv_heads, group * share * seq, dim]);

        let shape = [blocks, kv_heads, group, share * seq, dim];
        let flat = [blocks, kv_heads, group * share * seq];
        let mut own = queries.clone().reshape(shape).matmul(keys.swap_dims(3, 4));
        if let Some(mask) = causal {
            own = own + mask.clone().unsqueeze();
        }
        let seen = own.dims()[4];
        let own: Tensor<4> = own.reshape([flat[0], flat[1], flat[2], seen]);
        let mixed = match cache.prefix.as_ref() {
            None => softmax_product(vec![(own, values)], shape),
            Some(prefix) => {
                let (keys, prompt_values) = &prefix.layers[layer];
                let prompt = queries.matmul(keys.clone().swap_dims(2, 3)) + prefix.mask.clone();
                softmax_product(vec![(own, values), (prompt, prompt_values.clone().unsqueeze_dim(2))], shape)
            }
        };
        let mixed = mixed.reshape([blocks, kv_heads, group, share, seq, dim]).permute([0, 2, 4, 1, 3, 5]).reshape([
            rows,
            seq,
            heads * dim,
        ]);
        linear(&self.o_proj, mixed)
    }
}

/// Values weighted by one softmax over the scores of all parts.
///
/// # Shapes
/// - scores of a part: `[blocks, kv_heads, group * share * seq, keys]`
/// - values of a part: `[blocks, kv_heads, group or 1, keys, head_dim]`
/// - shape and output: `[blocks, kv_heads, group, share * seq, head_dim]`
fn softmax_product(parts: Vec<(Tensor<4>, Tensor<5>)>, shape: [usize; 5]) -> Tensor<5> {
    let [blocks, kv_heads, group, queries, dim] = shape;
    // the largest score only keeps exp in range, so no gradient flows through it
    let maxima = parts.iter().map(|(scores, _)| scores.clone().detach().max_dim(3));
    let largest = maxima.reduce(Tensor::max_pair).expect("at least one part");
    let mut total: Option<(Tensor<4>, Tensor<4>)> = None;
    for (scores, values) in parts {
        let weights = (scores - largest.clone()).exp();
        let sum = weights.clone().sum_dim(3);
        let [.., value_groups, keys, _] = values.dims();
        let weights = weights.reshape([blocks, kv_heads, value_groups, group * queries / value_groups, keys]);
        let product = weights.matmul(values).reshape([blocks, kv_heads, group * queries, dim]);
        total = Some(match total {
            None => (product, sum),
            Some((p, s)) => (p + product, s + sum),
        });
    }
    let (product, sum) = total.expect("at least one part");
    (product / sum).reshape(shape)
}

/// What the queries of `seq` new tokens may see of `len` earlier tokens and of themselves, for
/// each of the `share` query heads of a key head; `None` when they may see everything.
///
/// # Shapes
/// - output: `[share * seq, len + seq]`
pub(crate) fn causal_mask(seq: usize, len: usize, share: usize, device: &Device) -> Option<Tensor<2>> {
    if seq == 1 {
        return None;
    }
    let row = |t: usize| (0..len + seq).map(move |s| if s <= len + t { 0.0 } else { HIDDEN });
    let one: Vec<f32> = (0..seq).flat_map(row).collect();
    Some(Tensor::from_data(TensorData::new(one.repeat(share), [share * seq, len + seq]), device))
}

/// Each head normed over its own coordinates, where there is a norm.
///
/// # Shapes
/// - x and output: `[rows, seq, heads, head_dim]`
fn norm_heads(norm: Option<&RmsNorm>, x: Tensor<4>) -> Tensor<4> {
    match norm {
        Some(norm) => rms_norm(norm, x),
        None => x,
    }
}

/// Root-mean-square norm over the last dimension, in f32.
pub(crate) fn rms_norm<const D: usize>(norm: &RmsNorm, x: Tensor<D>) -> Tensor<D> {
    let scale = (x.clone().square().mean_dim(D - 1) + norm.epsilon).sqrt().recip();
    x * scale * norm.gamma.val().unsqueeze()
}

/// `x W` in the type of `W`, as f32.
///
/// # Shapes
/// - x: `[rows, in]`, weight: `[in, out]`, output: `[rows, out]`
pub(crate) fn product(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    match weight.dtype() {
        DType::F32 => x.matmul(weight),
        _ => x.cast(FloatDType::BF16).matmul(weight).cast(FloatDType::F32),
    }
}

/// `x W + b` as one product over all rows.
///
/// # Shapes
/// - x: `[rows, seq, in]`, output: `[rows, seq, out]`
pub(crate) fn linear(layer: &Linear, x: Tensor<3>) -> Tensor<3> {
    let [rows, seq, width] = x.dims();
    let weight = layer.weight.val();
    let out = weight.dims()[1];
    let mut y = product(x.reshape([rows * seq, width]), weight);
    if let Some(bias) = &layer.bias {
        y = y + bias.val().unsqueeze();
    }
    y.reshape([rows, seq, out])
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
        for tensor in [out.inner().reshape([8]), scores.grad(&grads).unwrap().reshape([6])] {
            let tensor: Tensor<1> = tensor;
            assert!(tensor.into_data().try_into_vec::<f32>().unwrap().iter().all(|x| x.is_finite()));
        }
    }

    #[test]
    fn the_mask_hides_later_tokens_for_each_query_head() {
        let mask = causal_mask(2, 1, 2, &Device::flex()).unwrap().into_data().try_into_vec::<f32>().unwrap();
        let hidden: Vec<bool> = mask.iter().map(|m| *m == HIDDEN).collect();
        assert_eq!(hidden, [false, false, true, false, false, false].repeat(2));
        assert!(causal_mask(1, 5, 2, &Device::flex()).is_none());
    }
}
