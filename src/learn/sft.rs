//! Supervised training: the mean negative log-prob of given completions. It makes the base model.

use super::backward::Backward;
use super::batch::{Batch, Example};
use crate::model::Decoder;
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};

/// Loss and gradient of examples (their advantages are not looked at): the sum of the negative
/// log-probs of all completion tokens, divided by `tokens`. Parts of a batch that are given the
/// tokens of the whole add up to its mean.
///
/// # Panics
/// When there is no example.
pub fn gradients(model: &Decoder, examples: &[Example], tokens: usize) -> (f64, GradientsParams) {
    // leaves of its own, so that parts can be computed side by side
    let model = model.clone().fork(&model.device());
    let examples: Vec<&Example> = examples.iter().collect();
    let batch = Batch::new(&examples);
    let mut gradients = GradientsAccumulator::new();
    let mut loss = 0.0;
    let backward = Backward {
        model: &model,
        batch: &batch,
        temperature: 1.0,
        checkpointing: false,
    };
    backward.run(&mut gradients, |_, _, logprobs| {
        let sum: f64 = logprobs.iter().copied().map(f64::from).sum();
        loss -= sum / tokens as f64;
        vec![(-1.0 / tokens as f64) as f32; logprobs.len()]
    });
    (loss, gradients.grads())
}

/// The sum of gradients of the same model.
pub fn sum(model: &Decoder, parts: impl IntoIterator<Item = GradientsParams>) -> GradientsParams {
    let mut total = GradientsAccumulator::new();
    parts
        .into_iter()
        .for_each(|part| total.accumulate(model, part));
    total.grads()
}
