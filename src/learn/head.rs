//! Log-probs of given tokens and their gradient, a slice of the vocabulary matrix at a time.
//!
//! The gradient of a log-softmax is known in closed form, so the head needs no graph: of the
//! `[tokens, vocab]` logits only some [`SLICE`] numbers are alive, and each costs one exponential.

use crate::kernels::{log_softmax, log_softmax_gradient};
use crate::model::Decoder;
use burn::tensor::Tensor;

/// About as many logits are alive at a time. The tests' small batches must cross slices too.
const SLICE: usize = if cfg!(test) { 64 } else { 1 << 22 };

/// Fewest tokens in a slice: each slice of a large vocabulary adds a whole matrix to the gradient.
const FEWEST: usize = if cfg!(test) { 1 } else { 256 };

/// Tokens from which on a slice is full.
pub(crate) fn slice_tokens(vocab: usize) -> usize {
    (SLICE / vocab).max(FEWEST)
}

/// Numbers alive at a time in the logits of so many tokens, where a slice ends with the completion that
/// fills it and the longest completion has `longest` tokens.
pub fn logits_alive(tokens: f64, longest: usize, vocab: usize) -> f64 {
    let slice = slice_tokens(vocab) + longest.saturating_sub(1);
    tokens.min(slice as f64) * vocab as f64
}

/// The log-probs of one slice of tokens, and what their gradient needs.
pub(crate) struct HeadSlice {
    /// `[tokens]`
    logprobs: Tensor<1>,
    hidden: Tensor<2>,
    probabilities: Tensor<2>,
    targets: Vec<usize>,
    temperature: f64,
}

impl HeadSlice {
    /// Log-probs of `targets` at a temperature.
    ///
    /// # Shapes
    /// - hidden: `[tokens, hidden]`, without a graph
    /// - head: `[vocab, hidden]`, without a graph
    pub(crate) fn new(
        hidden: Tensor<2>,
        head: &Tensor<2>,
        targets: &[u32],
        temperature: f64,
    ) -> Self {
        let [tokens, _] = hidden.dims();
        assert_eq!(tokens, targets.len(), "one target per token");
        let targets: Vec<usize> = targets.iter().map(|&t| t as usize).collect();
        let scaled = if temperature == 1.0 {
            hidden.clone()
        } else {
            hidden.clone() / temperature
        };
        let logits = scaled.matmul(head.clone().transpose()); // [tokens, vocab]
        let (logprobs, probabilities) = log_softmax(logits, &targets);
        Self {
            logprobs,
            hidden,
            probabilities,
            targets,
            temperature,
        }
    }

    /// The log-probs, one per token.
    pub(crate) fn logprobs(&self) -> Vec<f32> {
        let data = self.logprobs.clone().into_data();
        data.try_into_vec().expect("log-probs are f32")
    }

    /// Gradients of `sum(upstream * logprobs)` by the hidden states and by the head.
    ///
    /// # Shapes
    /// - upstream: `[tokens]`
    /// - output: `[tokens, hidden]` and `[vocab, hidden]`
    pub(crate) fn backward(self, head: &Tensor<2>, upstream: Tensor<1>) -> (Tensor<2>, Tensor<2>) {
        let upstream = upstream / self.temperature;
        let by_logits = log_softmax_gradient(self.probabilities, &self.targets, upstream);
        let by_head = by_logits.clone().transpose().matmul(self.hidden);
        (by_logits.matmul(head.clone()), by_head)
    }
}

/// Log-probs of `targets`, without anything kept for a gradient.
pub(crate) fn logprobs(
    model: &Decoder,
    hidden: Tensor<2>,
    targets: &[u32],
    temperature: f64,
) -> Vec<f32> {
    let head = model.head().inner();
    let hidden = hidden.inner();
    let [_, width] = hidden.dims();
    let mut all = Vec::with_capacity(targets.len());
    let step = slice_tokens(head.dims()[0]);
    for (i, part) in targets.chunks(step).enumerate() {
        let rows = hidden
            .clone()
            .slice([i * step..i * step + part.len(), 0..width]);
        let slice = HeadSlice::new(rows, &head, part, temperature);
        all.extend(slice.logprobs());
    }
    all
}
