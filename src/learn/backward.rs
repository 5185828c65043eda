//! From a gradient by log-probs to a gradient by weights.
//!
//! The head is differentiated in closed form slice by slice; what it hands to the hidden states is
//! carried through the layers by one backward pass of the graph, prompts included.

use super::batch::Batch;
use super::head::{HeadSlice, slice_tokens};
use crate::model::Decoder;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;
use std::ops::Range;

/// Adds to `gradients` those of a function of the completion tokens' log-probs. `upstream` is
/// given each slice of tokens (their range and log-probs `[tokens]`) and returns the derivative of
/// the function by them, `[tokens]`. Neither carries a graph.
pub(crate) fn backpropagate(
    model: &Decoder,
    batch: &Batch<'_>,
    temperature: f64,
    gradients: &mut GradientsAccumulator<Decoder>,
    mut upstream: impl FnMut(Range<usize>, Tensor<1>) -> Tensor<1>,
) {
    let targets = batch.targets();
    if targets.is_empty() {
        return;
    }
    let hidden = batch.hidden(model);
    let plain = hidden.clone().inner();
    let [tokens, width] = plain.dims();
    let head = model.head().inner();
    let step = slice_tokens(head.dims()[0]);
    let mut by_hidden = Vec::new();
    for start in (0..tokens).step_by(step) {
        let range = start..(start + step).min(tokens);
        let rows = plain.clone().slice([range.clone(), 0..width]);
        let slice = HeadSlice::new(rows, &head, &targets[range.clone()], temperature);
        let by_logprobs = upstream(range, slice.logprobs.clone());
        let (by_rows, by_head) = slice.backward(&head, by_logprobs);
        by_hidden.push(by_rows);
        let mut of_head = GradientsParams::new();
        of_head.register(model.head_param().id, by_head);
        gradients.accumulate(model, of_head);
    }
    let by_hidden = Tensor::from_inner(Tensor::cat(by_hidden, 0));
    let carrier = (hidden * by_hidden).sum();
    gradients.accumulate(model, GradientsParams::from_grads(carrier.backward(), model));
}
