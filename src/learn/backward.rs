//! From a gradient by log-probs to a gradient by weights.
//!
//! The head is differentiated in closed form slice by slice; what it hands to the hidden states is
//! carried through the layers by one backward pass of the graph, prompts included, or by one a layer
//! where activations are computed again to save memory.

use super::batch::Batch;
use super::checkpointed::Layers;
use super::head::{HeadSlice, slice_tokens};
use crate::model::Decoder;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;
use std::ops::Range;

/// What a backward pass runs on.
pub(crate) struct Backward<'a> {
    pub(crate) model: &'a Decoder,
    pub(crate) batch: &'a Batch<'a>,
    /// Divides the logits.
    pub(crate) temperature: f64,
    /// Whether activations are computed again, a layer at a time, instead of being kept.
    pub(crate) checkpointing: bool,
}

impl Backward<'_> {
    /// Adds to `gradients` those of a function of the completion tokens' log-probs. `upstream` is
    /// given each slice of tokens (their range and log-probs `[tokens]`) and returns the derivative of
    /// the function by them, `[tokens]`. Neither carries a graph.
    pub(crate) fn run(
        &self,
        gradients: &mut GradientsAccumulator<Decoder>,
        upstream: impl FnMut(Range<usize>, Tensor<1>) -> Tensor<1>,
    ) {
        let targets = self.batch.targets();
        if targets.is_empty() {
            return;
        }
        if self.checkpointing {
            let layers = Layers::forward(self.model, self.batch);
            let by_hidden = self.head(&layers.hidden(), &targets, gradients, upstream);
            layers.backward(by_hidden, gradients);
            return;
        }
        let hidden = self.batch.hidden(self.model);
        let by_hidden = self.head(&hidden.clone().inner(), &targets, gradients, upstream);
        let carrier = (hidden * Tensor::from_inner(by_hidden)).sum();
        gradients.accumulate(
            self.model,
            GradientsParams::from_grads(carrier.backward(), self.model),
        );
    }

    /// Adds the gradients of the head and returns those by the hidden states.
    ///
    /// # Shapes
    /// - hidden and output: `[tokens, hidden]`, without a graph
    fn head(
        &self,
        hidden: &Tensor<2>,
        targets: &[u32],
        gradients: &mut GradientsAccumulator<Decoder>,
        mut upstream: impl FnMut(Range<usize>, Tensor<1>) -> Tensor<1>,
    ) -> Tensor<2> {
        let [tokens, width] = hidden.dims();
        let head = self.model.head().inner();
        let step = slice_tokens(head.dims()[0]);
        let mut by_hidden = Vec::new();
        for start in (0..tokens).step_by(step) {
            let range = start..(start + step).min(tokens);
            let rows = hidden.clone().slice([range.clone(), 0..width]);
            let slice = HeadSlice::new(rows, &head, &targets[range.clone()], self.temperature);
            let by_logprobs = upstream(range, slice.logprobs.clone());
            let (by_rows, by_head) = slice.backward(&head, by_logprobs);
            by_hidden.push(by_rows);
            let mut of_head = GradientsParams::new();
            of_head.register(self.model.head_param().id, by_head);
            gradients.accumulate(self.model, of_head);
        }
        Tensor::cat(by_hidden, 0)
    }
}
