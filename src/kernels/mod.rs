//! The operations of a decoder and of its training, each in two ways: [`cpu`] has loops of our own with
//! their gradients, [`generic`] the same formulas in Burn's operations, for every other device.
//!
//! This file alone asks where tensors live; nothing above it does. Tests hold the two ways together.

mod adam_step;
mod cpu;
mod generic;
pub(crate) mod packing;
pub(crate) mod rope;
pub(crate) mod simd;
#[cfg(test)]
pub(crate) mod tests;
mod threads;

pub(crate) use adam_step::AdamStep;
pub(crate) use generic::indices;
pub use packing::Packing;
pub(crate) use rope::Rope;

use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use std::sync::Arc;

/// True where the loops of [`cpu`] can run.
fn is_cpu(device: &Device) -> bool {
    #[cfg(test)]
    if tests::generic_is_forced() {
        return false;
    }
    match device.as_dispatch() {
        DispatchDevice::Flex(_) => true,
        DispatchDevice::Autodiff(inner) => matches!(**inner, DispatchDevice::Flex(_)),
        #[allow(unreachable_patterns, reason = "the other backends are features")]
        _ => false,
    }
}

/// How much of a forward pass is kept for its gradient, in tensors.
#[derive(Clone, Copy, Debug)]
pub struct ActivationTensors {
    /// As wide as the hidden states, per token and layer.
    pub hidden: f64,
    /// As wide as the feed-forward part, per token and layer.
    pub feed_forward: f64,
    /// Copies of the attention scores, per layer.
    pub scores: f64,
    /// Copies of the logits that are alive at a time.
    pub logits: f64,
}

/// What the kernels of a device keep of a forward pass.
pub fn activation_tensors(device: &Device) -> ActivationTensors {
    let [hidden, feed_forward, scores, logits] = if is_cpu(device) {
        [8.0, 4.0, 0.0, 2.0]
    } else {
        [14.0, 6.0, 4.0, 4.0]
    };
    ActivationTensors {
        hidden,
        feed_forward,
        scores,
        logits,
    }
}

/// Softmax attention of packed rows over themselves and their prompts, with the scores divided by the
/// root of the head's width; the first `first` tokens ask nothing.
///
/// # Shapes
/// - queries and output: `[tokens - first, heads * head_dim]`, keys and values: `[tokens, kv_heads * head_dim]`
pub(crate) fn attend(
    inputs: [Tensor<2>; 3],
    packing: &Arc<Packing>,
    first: usize,
    head_dim: usize,
) -> Tensor<2> {
    if !is_cpu(&inputs[0].device()) {
        return generic::attend(inputs, packing, first, head_dim);
    }
    let packing = packing.clone();
    let attention = cpu::Attention {
        packing,
        head_dim,
        first,
    };
    cpu::apply(attention, inputs)
}

/// Turns every head by the angles of the positions.
///
/// # Shapes
/// - x and output: `[tokens, heads * head_dim]`
pub(crate) fn rotate(rope: &Rope, x: Tensor<2>) -> Tensor<2> {
    if is_cpu(&x.device()) {
        cpu::apply(cpu::Rotate(rope.clone()), [x])
    } else {
        generic::rotate(rope, x)
    }
}

/// Root-mean-square norm of each row, times one weight per column.
///
/// # Shapes
/// - x and output: `[rows, width]`, weight: `[1, width]`
pub(crate) fn rms_norm(x: Tensor<2>, weight: Tensor<2>, epsilon: f64) -> Tensor<2> {
    if is_cpu(&x.device()) {
        cpu::apply(cpu::RmsNorm { epsilon }, [x, weight])
    } else {
        generic::rms_norm(x, weight, epsilon)
    }
}

/// `silu(gate) * up`
///
/// # Shapes
/// - all: `[rows, width]`
pub(crate) fn swiglu(gate: Tensor<2>, up: Tensor<2>) -> Tensor<2> {
    if is_cpu(&gate.device()) {
        cpu::apply(cpu::Swiglu, [gate, up])
    } else {
        generic::swiglu(gate, up)
    }
}

/// `x W` in the type of `W`, as f32.
///
/// # Shapes
/// - x: `[rows, in]`, weight: `[in, out]`, output: `[rows, out]`
pub(crate) fn matmul(x: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
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
/// - x: `[rows, in]`, weight: `[in, out]`, bias: `[1, out]`, output: `[rows, out]`
pub(crate) fn affine(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>) -> Tensor<2> {
    if weight.dtype() == DType::F32 && is_cpu(&x.device()) {
        cpu::apply(cpu::Affine, [x, weight, bias])
    } else {
        matmul(x, weight) + bias
    }
}

/// Log-probs of the targets and all probabilities, none with a graph.
///
/// # Shapes
/// - logits: `[tokens, vocab]`, output: `[tokens]` and `[tokens, vocab]`
pub(crate) fn log_softmax(logits: Tensor<2>, targets: &[usize]) -> (Tensor<1>, Tensor<2>) {
    if is_cpu(&logits.device()) {
        cpu::log_softmax(logits, targets)
    } else {
        generic::log_softmax(logits, targets)
    }
}

/// The gradient of [`log_softmax`]'s log-probs by the logits, given that by the log-probs: `upstream` at
/// the target, less `upstream` times every probability.
///
/// # Shapes
/// - probabilities and output: `[tokens, vocab]`, upstream: `[tokens]`
pub(crate) fn log_softmax_gradient(
    probabilities: Tensor<2>,
    targets: &[usize],
    upstream: Tensor<1>,
) -> Tensor<2> {
    if is_cpu(&probabilities.device()) {
        cpu::log_softmax_gradient(probabilities, targets, upstream)
    } else {
        generic::log_softmax_gradient(probabilities, targets, upstream)
    }
}

/// How many rows are best decoded together: on a CPU as many as leave keys and values in its caches.
pub(crate) fn rows_at_once(device: &Device) -> usize {
    if is_cpu(device) { 64 } else { usize::MAX }
}

/// A parameter after a step of Adam, and its first and second moment; without moments they start at 0.
///
/// # Shapes
/// - all: flat, without a graph
pub(crate) fn adam(
    step: AdamStep,
    value: Tensor<1>,
    gradient: Tensor<1>,
    moments: Option<[Tensor<1>; 2]>,
) -> (Tensor<1>, [Tensor<1>; 2]) {
    if is_cpu(&gradient.device()) {
        cpu::adam(step, value, gradient, moments)
    } else {
        generic::adam(step, value, gradient, moments)
    }
}

/// The sum of the squares of a tensor without a graph.
pub(crate) fn sum_of_squares<const D: usize>(tensor: Tensor<D>) -> f64 {
    if is_cpu(&tensor.device()) {
        cpu::sum_of_squares(tensor)
    } else {
        generic::sum_of_squares(tensor)
    }
}

/// True when no value of a tensor without a graph is infinite or NaN.
pub(crate) fn all_finite<const D: usize>(tensor: Tensor<D>) -> bool {
    if is_cpu(&tensor.device()) {
        cpu::all_finite(tensor)
    } else {
        generic::all_finite(tensor)
    }
}

/// What the rows of a batch have behind them while they grow by one token at a time: the keys and values
/// of their prompts, once for each distinct prompt, and of their own tokens.
pub struct Cache {
    kind: Kind,
    rope: Rope,
}

enum Kind {
    Cpu(cpu::Cache),
    Generic(generic::Cache),
}

impl Cache {
    /// For `group` rows behind each prompt, with room for `capacity` tokens per row; `layers` holds the
    /// keys and values of the packed prompts, `[tokens, kv_heads * head_dim]`, or none when the prompts
    /// have no token.
    pub(crate) fn new(
        layers: Vec<Option<[Tensor<2>; 2]>>,
        lengths: &[usize],
        [group, capacity]: [usize; 2],
        heads: [usize; 2],
        frequencies: &[f64],
        device: &Device,
    ) -> Self {
        let last = lengths.iter().max().unwrap_or(&0) + capacity;
        let kind = if is_cpu(device) {
            Kind::Cpu(cpu::Cache::new(layers, lengths, group, capacity, heads))
        } else {
            let cache = generic::Cache::new(&layers, lengths, group, capacity, heads);
            Kind::Generic(cache)
        };
        Self {
            kind,
            rope: Rope::new(&[last], frequencies),
        }
    }

    /// Goes on with these of the living rows, given in ascending order.
    pub fn keep(&mut self, rows: &[usize]) {
        match &mut self.kind {
            Kind::Cpu(cache) => cache.keep(rows),
            Kind::Generic(cache) => cache.keep(rows),
        }
    }

    /// The rotation of the next token of every row that is computed.
    pub(crate) fn rope(&self) -> Rope {
        self.rope.at(&match &self.kind {
            Kind::Cpu(cache) => cache.positions(),
            Kind::Generic(cache) => cache.positions(),
        })
    }

    /// The tokens of the rows that are computed, given those of the living rows.
    pub(crate) fn computed(&self, tokens: &[u32]) -> Vec<u32> {
        match &self.kind {
            Kind::Cpu(_) => tokens.into(),
            Kind::Generic(cache) => cache.computed(tokens),
        }
    }

    /// The living of the rows that were computed.
    ///
    /// # Shapes
    /// - x and output: `[rows, width]`
    pub(crate) fn living(&self, x: Tensor<2>) -> Tensor<2> {
        match &self.kind {
            Kind::Cpu(_) => x,
            Kind::Generic(cache) => cache.living(x),
        }
    }

    /// Writes the keys and values of one more token per row and returns what its queries find.
    ///
    /// # Shapes
    /// - queries and output: `[rows, heads * head_dim]`, keys and values: `[rows, kv_heads * head_dim]`
    ///
    /// # Panics
    /// When there is no room left.
    pub(crate) fn attend(&mut self, layer: usize, inputs: [Tensor<2>; 3]) -> Tensor<2> {
        match &mut self.kind {
            Kind::Cpu(cache) => cache.attend(layer, inputs),
            Kind::Generic(cache) => cache.attend(layer, inputs),
        }
    }

    /// Counts the token that all layers have written.
    pub(crate) fn advance(&mut self) {
        match &mut self.kind {
            Kind::Cpu(cache) => cache.advance(),
            Kind::Generic(cache) => cache.advance(),
        }
    }
}
