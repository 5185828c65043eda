//! Grouped-query attention, and the parts of a layer that are one operation on the CPU and several
//! elsewhere.

use super::host::{self, apply, is_host};
use super::packing::Packing;
use super::plain;
use super::rope::Rope;
use burn::module::Module;
use burn::nn::{Linear, RmsNorm};
use burn::tensor::activation::silu;
use burn::tensor::{DType, FloatDType, Tensor};
use std::sync::Arc;

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
    /// Key heads.
    pub(crate) fn kv_heads(&self) -> usize {
        self.k_proj.weight.dims()[1] / self.head_dim
    }

    /// Keys, turned by their positions, and values.
    ///
    /// # Shapes
    /// - x: `[tokens, hidden]`, output: `[tokens, kv_heads * head_dim]`, twice
    pub(crate) fn keys_values(&self, x: Tensor<2>, rope: &Rope) -> [Tensor<2>; 2] {
        let keys = linear(&self.k_proj, x.clone());
        [
            rotate(rope, self.norm_heads(self.k_norm.as_ref(), keys)),
            linear(&self.v_proj, x),
        ]
    }

    /// Queries, turned by their positions.
    ///
    /// # Shapes
    /// - x: `[tokens, hidden]`, output: `[tokens, heads * head_dim]`
    pub(crate) fn queries(&self, x: Tensor<2>, rope: &Rope) -> Tensor<2> {
        rotate(
            rope,
            self.norm_heads(self.q_norm.as_ref(), linear(&self.q_proj, x)),
        )
    }

    /// Each head normed over its own coordinates, where there is a norm.
    fn norm_heads(&self, norm: Option<&RmsNorm>, x: Tensor<2>) -> Tensor<2> {
        let Some(norm) = norm else { return x };
        let [tokens, width] = x.dims();
        let heads = x.reshape([tokens * width / self.head_dim, self.head_dim]);
        rms_norm(norm, heads).reshape([tokens, width])
    }
}

/// Attention of packed rows, of which the first `first` tokens ask nothing.
///
/// # Shapes
/// - queries and output: `[tokens - first, heads * head_dim]`, keys and values: `[tokens, kv_heads * head_dim]`
pub(crate) fn attend(
    inputs: [Tensor<2>; 3],
    packing: &Arc<Packing>,
    first: usize,
    head_dim: usize,
) -> Tensor<2> {
    if is_host(&inputs[0].device()) {
        return apply(
            host::Attend {
                packing: packing.clone(),
                head_dim,
                first,
            },
            inputs,
        );
    }
    plain::attend(inputs, packing, first, head_dim)
}

/// Turns every head by the angles of the positions.
fn rotate(rope: &Rope, x: Tensor<2>) -> Tensor<2> {
    if is_host(&x.device()) {
        apply(host::Rotate(rope.clone()), [x])
    } else {
        rope.apply(x)
    }
}

/// Root-mean-square norm of each row, in f32.
pub(crate) fn rms_norm(norm: &RmsNorm, x: Tensor<2>) -> Tensor<2> {
    let (weight, epsilon) = (norm.gamma.val().unsqueeze(), norm.epsilon);
    if is_host(&x.device()) {
        apply(host::RmsNorm { epsilon }, [x, weight])
    } else {
        plain::rms_norm(x, weight, epsilon)
    }
}

/// `silu(gate) * up`
pub(crate) fn swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    if is_host(&gate.device()) {
        apply(host::Swiglu, [gate, up])
    } else {
        silu(gate) * up
    }
}

/// `x W` in the type of `W`, as f32.
///
/// # Shapes
/// - x: `[rows, in]`, weight: `[in, out]`, output: `[rows, out]`
pub(crate) fn product(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    match weight.dtype() {
        DType::F32 => x.matmul(weight),
        _ => x
            .cast(FloatDType::BF16)
            .matmul(weight)
            .cast(FloatDType::F32),
    }
}

/// `x W + b`
///
/// # Shapes
/// - x: `[rows, in]`, output: `[rows, out]`
pub(crate) fn linear(layer: &Linear, x: Tensor<2>) -> Tensor<2> {
    let weight = layer.weight.val();
    match &layer.bias {
        None => product(x, weight),
        Some(bias) if weight.dtype() == DType::F32 && is_host(&x.device()) => {
            apply(host::Linear, [x, weight, bias.val().unsqueeze()])
        }
        Some(bias) => product(x, weight) + bias.val().unsqueeze(),
    }
}
