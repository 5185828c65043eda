//! Activation checkpointing: only the inputs of the layers are kept, and a layer's activations are
//! computed again when its gradient is due (TRL's `gradient_checkpointing`).

use super::batch::Batch;
use crate::model::{Decoder, ForwardContext};
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Tensor;

/// A finished forward pass of a batch, without a graph.
pub(crate) struct Layers<'a> {
    model: &'a Decoder,
    batch: &'a Batch<'a>,
    context: ForwardContext,
    /// Input of each layer, and the output of the last one.
    states: Vec<Tensor<2>>,
}

impl<'a> Layers<'a> {
    pub(crate) fn forward(model: &'a Decoder, batch: &'a Batch<'a>) -> Self {
        let inference = model.valid();
        let context = model.forward_context(batch.packing());
        let mut states = vec![inference.embed(batch.tokens())];
        for (index, layer) in inference.layers.iter().enumerate() {
            let x = states[index].clone();
            states.push(
                context
                    .layer(layer, x, index + 1 == inference.layers.len())
                    .0,
            );
        }
        Self {
            model,
            batch,
            context,
            states,
        }
    }

    /// The hidden state that predicts each completion token.
    ///
    /// # Shapes
    /// - output: `[tokens, hidden]`
    pub(crate) fn hidden(&self) -> Tensor<2> {
        let last = self.states.last().expect("the embeddings come first");
        self.model.valid().final_norm(last.clone())
    }

    /// Adds the gradients of all weights, given those by [`Layers::hidden`].
    pub(crate) fn backward(
        mut self,
        by_hidden: Tensor<2>,
        gradients: &mut GradientsAccumulator<Decoder>,
    ) {
        let model = self.model;
        let mut carry = |output: Tensor<2>, by_output: Tensor<2>, input: Option<Tensor<2>>| {
            let mut grads = (output * Tensor::from_inner(by_output)).sum().backward();
            let by_input = input.map(|input| {
                input
                    .grad_remove(&mut grads)
                    .expect("the output depends on it")
            });
            gradients.accumulate(model, GradientsParams::from_grads(grads, model));
            by_input
        };
        let mut input = || {
            Tensor::from_inner(self.states.pop().expect("one state more than layers"))
                .require_grad()
        };
        let x = input();
        let mut by = carry(model.final_norm(x.clone()), by_hidden, Some(x)).expect("asked for");
        for (index, layer) in model.layers.iter().enumerate().rev() {
            let x = input();
            let (after, _) = self
                .context
                .layer(layer, x.clone(), index + 1 == model.layers.len());
            by = carry(after, by, Some(x)).expect("asked for");
        }
        carry(model.embed(self.batch.tokens()), by, None);
    }
}
