//! Log-probs of given tokens and their gradient, a slice of the vocabulary matrix at a time.
//!
//! The gradient of a log-softmax is known in closed form, so the head needs no graph: of the
//! `[tokens, vocab]` logits only some [`SLICE`] numbers are alive, and each costs one exponential. On the CPU
//! all else is done in place, a row at a time.

use crate::model::host::vector::{exp, largest, reduce_rows, rows_of, sum, widest};
use crate::model::host::{is_host, read, take};
use crate::model::{Decoder, indices};
use burn::tensor::{IndexingUpdateOp, Tensor, TensorData};

/// About as many logits are alive at a time. The tests' small batches must cross slices too.
const SLICE: usize = if cfg!(test) { 64 } else { 1 << 22 };

/// Fewest tokens in a slice: each slice of a large vocabulary adds a whole matrix to the gradient.
const FEWEST: usize = if cfg!(test) { 1 } else { 256 };

/// Tokens in a slice.
pub(crate) fn slice_tokens(vocab: usize) -> usize {
    (SLICE / vocab).max(FEWEST)
}

/// Numbers alive at a time in the logits of so many tokens.
pub fn logits_alive(tokens: f64, vocab: usize) -> f64 {
    tokens.min(slice_tokens(vocab) as f64) * vocab as f64
}

/// The log-probs of one slice of tokens, and what their gradient needs.
pub(crate) struct HeadSlice {
    /// `[tokens]`
    pub(crate) logprobs: Tensor<1>,
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
        assert_eq!(tokens, targets.len(), "one target a token");
        let targets: Vec<usize> = targets.iter().map(|&t| t as usize).collect();
        let scaled = if temperature == 1.0 {
            hidden.clone()
        } else {
            hidden.clone() / temperature
        };
        let logits = scaled.matmul(head.clone().transpose()); // [tokens, vocab]
        let (logprobs, probabilities) = if is_host(&logits.device()) {
            host_softmax(logits, &targets)
        } else {
            plain_softmax(logits, &targets)
        };
        Self {
            logprobs,
            hidden,
            probabilities,
            targets,
            temperature,
        }
    }

    /// Gradients of `sum(upstream * logprobs)` by the hidden states and by the head.
    ///
    /// # Shapes
    /// - upstream: `[tokens]`
    /// - output: `[tokens, hidden]` and `[vocab, hidden]`
    pub(crate) fn backward(self, head: &Tensor<2>, upstream: Tensor<1>) -> (Tensor<2>, Tensor<2>) {
        let upstream = upstream / self.temperature;
        let by_logits = if is_host(&upstream.device()) {
            host_by_logits(self.probabilities, &self.targets, upstream)
        } else {
            plain_by_logits(self.probabilities, &self.targets, upstream)
        }; // [tokens, vocab]
        let by_head = by_logits.clone().transpose().matmul(self.hidden);
        (by_logits.matmul(head.clone()), by_head)
    }
}

/// Log-probs of the targets and all probabilities.
///
/// # Shapes
/// - logits: `[tokens, vocab]`, output: `[tokens]` and `[tokens, vocab]`
fn plain_softmax(logits: Tensor<2>, targets: &[usize]) -> (Tensor<1>, Tensor<2>) {
    let tokens = targets.len();
    let logits = logits.clone() - logits.max_dim(1);
    let index = indices(targets, &logits.device()).reshape([tokens, 1]);
    let chosen = logits.clone().gather(1, index);
    let weights = logits.exp();
    let total = weights.clone().sum_dim(1);
    (
        (chosen - total.clone().log()).reshape([tokens]),
        weights / total,
    )
}

/// The same in one pass over each row.
fn host_softmax(logits: Tensor<2>, targets: &[usize]) -> (Tensor<1>, Tensor<2>) {
    let ([tokens, vocab], device) = (logits.dims(), logits.device());
    let mut rows = take(logits);
    let logprobs = reduce_rows(&mut rows, vocab, |token, row| {
        let chosen = row[targets[token]];
        widest(
            #[inline(always)]
            || {
                let top = largest(row);
                for z in row.iter_mut() {
                    *z = exp(*z - top);
                }
                let total = sum(row);
                let scale = 1.0 / total;
                for w in row {
                    *w *= scale;
                }
                chosen - top - total.ln()
            },
        )
    });
    let logprobs = Tensor::from_data(TensorData::new(logprobs, [tokens]), &device);
    (
        logprobs,
        Tensor::from_data(TensorData::new(rows, [tokens, vocab]), &device),
    )
}

/// The gradient by the logits: `upstream` at the target, less `upstream` times every probability.
///
/// # Shapes
/// - probabilities and output: `[tokens, vocab]`, upstream: `[tokens]`
fn plain_by_logits(probabilities: Tensor<2>, targets: &[usize], upstream: Tensor<1>) -> Tensor<2> {
    let tokens = targets.len();
    let upstream = upstream.reshape([tokens, 1]);
    let index = indices(targets, &upstream.device()).reshape([tokens, 1]);
    (probabilities * upstream.clone().neg()).scatter(1, index, upstream, IndexingUpdateOp::Add)
}

/// The same in place.
fn host_by_logits(probabilities: Tensor<2>, targets: &[usize], upstream: Tensor<1>) -> Tensor<2> {
    let ([tokens, vocab], device) = (probabilities.dims(), probabilities.device());
    let (mut rows, upstream) = (take(probabilities), take(upstream));
    rows_of(&mut rows, vocab, |first, rows| {
        for ((row, &by), &target) in rows
            .chunks_exact_mut(vocab)
            .zip(&upstream[first..])
            .zip(&targets[first..])
        {
            widest(
                #[inline(always)]
                || {
                    for p in row.iter_mut() {
                        *p *= -by;
                    }
                },
            );
            row[target] += by;
        }
    });
    Tensor::from_data(TensorData::new(rows, [tokens, vocab]), &device)
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
        read(slice.logprobs, |logprobs| all.extend_from_slice(logprobs));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn the_way_of_the_cpu_equals_the_plain_one() {
        let device = Device::flex();
        let targets = [3, 0, 36];
        let logits: Vec<f32> = (0..3 * 37).map(|i| (i as f32 * 1.7).sin() * 9.0).collect();
        let logits = Tensor::<2>::from_data(TensorData::new(logits, [3, 37]), &device);
        let upstream = Tensor::<1>::from_data([0.5f32, -2.0, 1.0], &device);
        let (a, b) = (
            plain_softmax(logits.clone(), &targets),
            host_softmax(logits, &targets),
        );
        let close = |x: Vec<f32>, y: Vec<f32>| {
            assert!(
                x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 2e-6),
                "{x:?} {y:?}"
            )
        };
        close(take(a.0), take(b.0));
        let by = plain_by_logits(a.1.clone(), &targets, upstream.clone());
        close(
            take(by),
            take(host_by_logits(b.1.clone(), &targets, upstream)),
        );
        close(take(a.1), take(b.1));
    }
}
