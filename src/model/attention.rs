//! The projections of grouped-query attention, and the norms and affine maps of a layer.

use crate::kernels::{self, Rope, affine, matmul, rotate};
use burn::module::Module;
use burn::nn::{Linear, RmsNorm};
use burn::tensor::Tensor;

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

/// Root-mean-square norm of each row, in f32.
pub(crate) fn rms_norm(norm: &RmsNorm, x: Tensor<2>) -> Tensor<2> {
    kernels::rms_norm(x, norm.gamma.val().unsqueeze(), norm.epsilon)
}

/// `x W + b`, or `x W` where the layer has no bias.
///
/// # Shapes
/// - x: `[rows, in]`, output: `[rows, out]`
pub(crate) fn linear(layer: &Linear, x: Tensor<2>) -> Tensor<2> {
    let weight = layer.weight.val();
    match &layer.bias {
        None => matmul(x, weight),
        Some(bias) => affine(x, weight, bias.val().unsqueeze()),
    }
}
