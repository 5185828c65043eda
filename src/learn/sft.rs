//! Supervised training: the mean negative log-prob of given completions. It makes the base model.

use super::backward::backpropagate;
use super::batch::{Batch, Example};
use super::optimizer::Optimizer;
use crate::model::Decoder;
use burn::optim::GradientsAccumulator;
use burn::tensor::Tensor;

/// One step on examples (their advantages are not looked at). Returns the loss before it, the mean
/// over all completion tokens.
///
/// # Panics
/// When there is no example.
pub fn step(model: Decoder, optimizer: &mut Optimizer, examples: &[Example]) -> (Decoder, f64) {
    let examples: Vec<&Example> = examples.iter().collect();
    let batch = Batch::new(&examples);
    let tokens = batch.targets().len().max(1) as f64;
    let mut gradients = GradientsAccumulator::new();
    let mut loss = 0.0;
    backpropagate(&model, &batch, 1.0, &mut gradients, |_, logp: Tensor<1>| {
        loss -= f64::from(logp.clone().sum().into_scalar::<f32>()) / tokens;
        logp.zeros_like() - 1.0 / tokens
    });
    let (model, _) = optimizer.step(model, gradients.grads());
    (model, loss)
}
