//! From a gradient by log-probs to a gradient by weights.
//!
//! The head is differentiated in closed form, some completions at a time; what it hands to the hidden
//! states is carried through the layers by one backward pass of the graph, prompts included, or by one
//! per layer where activations are computed again to save memory.

use super::activation_checkpointing::Layers;
use super::batch::Batch;
use super::head::{HeadSlice, slice_tokens};
use crate::model::Decoder;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Tensor, TensorData};
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
    /// Adds to `gradients` those of a function of the completions' log-probs. `upstream` is given one
    /// completion after the other, whole (the example that it belongs to, the place of its tokens among
    /// [`Batch::targets`], its log-probs), and returns the derivatives of the function by those log-probs.
    pub(crate) fn run(
        &self,
        gradients: &mut GradientsAccumulator<Decoder>,
        upstream: impl FnMut(usize, Range<usize>, &[f32]) -> Vec<f32>,
    ) {
        if self.batch.targets().is_empty() {
            return;
        }
        if self.checkpointing {
            let layers = Layers::forward(self.model, self.batch);
            let by_hidden = self.head(&layers.hidden(), gradients, upstream);
            layers.backward(by_hidden, gradients);
            return;
        }
        let hidden = self.batch.hidden(self.model);
        let by_hidden = self.head(&hidden.clone().inner(), gradients, upstream);
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
        gradients: &mut GradientsAccumulator<Decoder>,
        mut upstream: impl FnMut(usize, Range<usize>, &[f32]) -> Vec<f32>,
    ) -> Tensor<2> {
        let [_, width] = hidden.dims();
        let (head, targets) = (self.model.head().inner(), self.batch.targets());
        let mut by_hidden = Vec::new();
        for completions in slices(&self.batch.completions(), slice_tokens(head.dims()[0])) {
            let start = completions[0].1.start;
            let range = start..completions[completions.len() - 1].1.end;
            let rows = hidden.clone().slice([range.clone(), 0..width]);
            let slice = HeadSlice::new(rows, &head, &targets[range], self.temperature);
            let logprobs = slice.logprobs();
            let by_logprobs: Vec<f32> = completions
                .iter()
                .flat_map(|(owner, tokens)| {
                    let own = &logprobs[tokens.start - start..tokens.end - start];
                    upstream(*owner, tokens.clone(), own)
                })
                .collect();
            let count = by_logprobs.len();
            let by_logprobs =
                Tensor::from_data(TensorData::new(by_logprobs, [count]), &hidden.device());
            let (by_rows, by_head) = slice.backward(&head, by_logprobs);
            by_hidden.push(by_rows);
            let mut of_head = GradientsParams::new();
            of_head.register(self.model.head_param().id, by_head);
            gradients.accumulate(self.model, of_head);
        }
        Tensor::cat(by_hidden, 0)
    }
}

/// Completions in runs of whole ones, each run as short as it can be with `tokens` tokens or more.
fn slices(
    completions: &[(usize, Range<usize>)],
    tokens: usize,
) -> impl Iterator<Item = &[(usize, Range<usize>)]> {
    let mut rest = completions;
    std::iter::from_fn(move || {
        let start = rest.first()?.1.start;
        let enough = rest
            .iter()
            .position(|(_, range)| range.end - start >= tokens);
        let (slice, after) = rest.split_at(enough.map_or(rest.len(), |last| last + 1));
        rest = after;
        Some(slice)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_hold_whole_completions() {
        let all = [(0, 0..1), (2, 1..4), (1, 4..6), (3, 6..7)];
        let lengths = |tokens: usize| slices(&all, tokens).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(1), [1, 1, 1, 1]);
        assert_eq!(lengths(2), [2, 1, 1]);
        assert_eq!(lengths(4), [2, 2]);
        assert_eq!(lengths(5), [3, 1]);
        assert_eq!(lengths(100), [4]);
        assert_eq!(slices(&[], 2).count(), 0);
    }
}
