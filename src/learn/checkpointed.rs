//! Activation checkpointing: only the inputs of the layers are kept, and a layer's activations are
//! computed again when its gradient is due (TRL's `gradient_checkpointing`).

use super::batch::Batch;
use crate::model::{Cache, Decoder, Layer, Pass, Prefix, padded_tokens};
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Int, Tensor};

/// Tokens of a forward pass and what its layers have in common.
struct Side {
    tokens: Tensor<2, Int>,
    pass: Pass,
}

impl Side {
    fn new(model: &Decoder, tokens: Tensor<2, Int>, starts: &[usize]) -> Self {
        let seq = tokens.dims()[1];
        Self { pass: model.pass(starts, seq, 0), tokens }
    }
}

/// A finished forward pass of a batch, without a graph.
pub(crate) struct Layers<'a> {
    model: &'a Decoder,
    batch: &'a Batch<'a>,
    /// The same weights without a graph.
    plain: Decoder,
    /// Lengths of the shortened prompts.
    lengths: Vec<usize>,
    /// The prompts, unless all of them are empty.
    prompts: Option<Side>,
    rows: Side,
    /// Input of each layer, and the output of the last one: of the prompts and of the rows.
    states: Vec<(Option<Tensor<3>>, Tensor<3>)>,
}

impl<'a> Layers<'a> {
    pub(crate) fn forward(model: &'a Decoder, batch: &'a Batch<'a>) -> Self {
        let (plain, device) = (model.valid(), model.device());
        let shortened = batch.shortened_prompts();
        let lengths: Vec<usize> = shortened.iter().map(|prompt| prompt.len()).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let prompts = (longest > 0)
            .then(|| Side::new(&plain, padded_tokens(&shortened, longest, &device), &vec![0; shortened.len()]));
        let (tokens, starts) = batch.inputs(&device);
        let rows = Side::new(&plain, tokens, &starts);
        let first = (prompts.as_ref().map(|side| plain.embed(side.tokens.clone())), plain.embed(rows.tokens.clone()));
        let mut layers = Self { model, batch, plain, lengths, prompts, rows, states: vec![first] };
        for layer in &layers.plain.layers {
            let (prompts, rows) = layers.states.last().expect("the embeddings come first").clone();
            let next = layers.layer(layer, prompts, rows);
            layers.states.push(next);
        }
        layers
    }

    /// A layer over prompts and rows, the rows seeing the prompts.
    fn layer(&self, layer: &Layer, prompts: Option<Tensor<3>>, rows: Tensor<3>) -> (Option<Tensor<3>>, Tensor<3>) {
        let mut prefix: Option<Prefix> = None;
        let mut after = None;
        if let Some((x, side)) = prompts.zip(self.prompts.as_ref()) {
            let mut cache = Cache::new(1, None, 1, 0);
            let device = x.device();
            after = Some(layer.forward(0, x, &side.pass, &mut cache));
            let whole = cache.into_prefix(&self.lengths, &device);
            prefix = Some(if self.batch.repeats_prompts() { whole.select(self.batch.blocks()) } else { whole });
        }
        let mut cache = Cache::new(1, prefix, self.batch.group(), 0);
        (after, layer.forward(0, rows, &self.rows.pass, &mut cache))
    }

    /// The hidden state that predicts each completion token.
    ///
    /// # Shapes
    /// - output: `[tokens, hidden]`
    pub(crate) fn hidden(&self) -> Tensor<2> {
        let (_, last) = self.states.last().expect("the embeddings come first");
        self.batch.predicting(self.plain.final_norm(last.clone()))
    }

    /// Adds the gradients of all weights, given those by [`Layers::hidden`].
    pub(crate) fn backward(mut self, by_hidden: Tensor<2>, gradients: &mut GradientsAccumulator<Decoder>) {
        let model = self.model;
        let leaf = |x: Tensor<3>| Tensor::from_inner(x).require_grad();
        let mut add = |carrier: Tensor<1>, leaves: [Option<&Tensor<3>>; 2]| {
            let mut grads = carrier.backward();
            let by_leaves = leaves.map(|leaf| leaf.and_then(|leaf| leaf.grad_remove(&mut grads)));
            gradients.accumulate(model, GradientsParams::from_grads(grads, model));
            by_leaves
        };
        let dot = |x: Tensor<3>, by: Tensor<3>| (x * Tensor::from_inner(by)).sum();

        let (_, last) = self.states.pop().expect("one state more than layers");
        let last = leaf(last);
        let hidden = self.batch.predicting(model.final_norm(last.clone()));
        let [_, by_rows] = add((hidden * Tensor::from_inner(by_hidden)).sum(), [None, Some(&last)]);
        let mut by_rows = by_rows.expect("the norm depends on its input");
        let mut by_prompts: Option<Tensor<3>> = None;
        for layer in model.layers.iter().rev() {
            let (prompts, rows) = self.states.pop().expect("one state more than layers");
            let (prompts, rows) = (prompts.map(leaf), leaf(rows));
            let (prompts_after, rows_after) = self.layer(layer, prompts.clone(), rows.clone());
            let mut carrier = dot(rows_after, by_rows);
            if let Some((after, by)) = prompts_after.zip(by_prompts) {
                carrier = carrier + dot(after, by);
            }
            let [of_prompts, of_rows] = add(carrier, [prompts.as_ref(), Some(&rows)]);
            by_rows = of_rows.expect("a layer depends on its input");
            by_prompts = of_prompts;
        }
        let mut carrier = dot(model.embed(self.rows.tokens.clone()), by_rows);
        if let Some((side, by)) = self.prompts.as_ref().zip(by_prompts) {
            carrier = carrier + dot(model.embed(side.tokens.clone()), by);
        }
        add(carrier, [None, None]);
    }
}
