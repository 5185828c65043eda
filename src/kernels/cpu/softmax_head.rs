//! Log-softmax over the vocabulary and its gradient in place, one pass over each row.

use super::op::take;
use crate::kernels::simd::{dispatch, exp, largest, sum};
use crate::kernels::threads::{reduce_rows, rows_of};
use burn::tensor::{Tensor, TensorData};

/// Log-probs of the targets and all probabilities.
///
/// # Shapes
/// - logits: `[tokens, vocab]`, output: `[tokens]` and `[tokens, vocab]`
pub(in crate::kernels) fn log_softmax(
    logits: Tensor<2>,
    targets: &[usize],
) -> (Tensor<1>, Tensor<2>) {
    let ([tokens, vocab], device) = (logits.dims(), logits.device());
    let mut rows = take(logits);
    let logprobs = reduce_rows(&mut rows, vocab, |token, row| {
        let chosen = row[targets[token]];
        dispatch(
            #[inline(always)]
            || {
                let top = largest(row);
                for z in row.iter_mut() {
                    *z = exp(*z - top);
                }
                let total = sum(row);
                let scale = 1.0 / total;
                for p in row {
                    *p *= scale;
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
pub(in crate::kernels) fn log_softmax_gradient(
    probabilities: Tensor<2>,
    targets: &[usize],
    upstream: Tensor<1>,
) -> Tensor<2> {
    let ([tokens, vocab], device) = (probabilities.dims(), probabilities.device());
    let (mut rows, upstream) = (take(probabilities), take(upstream));
    rows_of(&mut rows, vocab, |first, rows| {
        for ((row, &by), &target) in rows
            .chunks_exact_mut(vocab)
            .zip(&upstream[first..])
            .zip(&targets[first..])
        {
            dispatch(
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
