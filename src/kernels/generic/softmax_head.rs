//! Log-softmax over the vocabulary and its gradient, in Burn's own operations.

use super::indices::indices;
use burn::tensor::{IndexingUpdateOp, Tensor};

/// Log-probs of the targets and all probabilities.
///
/// # Shapes
/// - logits: `[tokens, vocab]`, output: `[tokens]` and `[tokens, vocab]`
pub(in crate::kernels) fn log_softmax(
    logits: Tensor<2>,
    targets: &[usize],
) -> (Tensor<1>, Tensor<2>) {
    let tokens = targets.len();
    let logits = logits.clone() - logits.max_dim(1);
    let index = indices(targets, &logits.device()).reshape([tokens, 1]);
    let chosen = logits.clone().gather(1, index);
    let exps = logits.exp();
    let total = exps.clone().sum_dim(1);
    (
        (chosen - total.clone().log()).reshape([tokens]),
        exps / total,
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
    let tokens = targets.len();
    let upstream = upstream.reshape([tokens, 1]);
    let index = indices(targets, &upstream.device()).reshape([tokens, 1]);
    (probabilities * upstream.clone().neg()).scatter(1, index, upstream, IndexingUpdateOp::Add)
}
