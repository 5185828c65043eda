//! What an update adds up over its tokens and steps.

use super::batch::Example;
use super::grpo::TrainConfig;
use burn::tensor::Tensor;

/// What an update did. Empty means that there was nothing to measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateStats {
    /// Mean loss of the optimizer steps.
    pub loss: Option<f64>,
    /// Mean global norm of their gradients before clipping.
    pub grad_norm: Option<f64>,
    /// Share of tokens whose ratio was clipped.
    pub clip_ratio: Option<f64>,
    /// Mean KL estimate of computed tokens, where beta is not 0.
    pub kl: Option<f64>,
    /// Mean log-prob of computed external tokens before the update.
    pub foreign_logp: Option<f64>,
    /// Optimizer steps taken.
    pub steps: usize,
    /// Steps left out because loss or gradient was not finite.
    pub bad_steps: usize,
    /// True when a weight is not finite after the update.
    pub bad_weights: bool,
}

/// Sums over tokens and steps.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) first_pass: bool,
    pub(super) steps: usize,
    pub(super) bad_steps: usize,
    pub(super) tokens: usize,
    computed: usize,
    clipped: usize,
    foreign: usize,
    pub(super) loss: f64,
    pub(super) grad_norm: f64,
    kl: f64,
    foreign_logp: f64,
}

impl Sums {
    pub(super) fn add<'a>(
        &mut self,
        logp: &Tensor<1>,
        old: Tensor<1>,
        reference: Option<Tensor<1>>,
        loss: Tensor<1>,
        config: &TrainConfig,
        examples: impl Iterator<Item = &'a Example>,
    ) {
        let logp = logp.clone().inner();
        let log_ratio = logp.clone() - old.inner();
        let gap = reference.map_or_else(
            || logp.zeros_like(),
            |reference| reference.inner() - logp.clone(),
        );
        let stacked = Tensor::cat(vec![logp, log_ratio, loss.inner(), gap], 0);
        let values: Vec<f32> = stacked.into_data().try_into_vec().expect("losses are f32");
        let count = values.len() / 4;
        for (token, example) in examples.enumerate() {
            let value = |row: usize| f64::from(values[row * count + token]);
            let (logp, ratio) = (value(0), value(1).exp());
            let below = ratio < 1.0 - config.epsilon && example.advantage < 0.0;
            let above = ratio > 1.0 + config.epsilon_high && example.advantage > 0.0;
            self.clipped += usize::from(below || above);
            self.computed += 1;
            self.loss += value(2);
            self.kl += value(3).exp() - value(3) - 1.0;
            if self.first_pass && example.foreign {
                self.foreign += 1;
                // with several steps a round, `old` is the policy before the first of them
                self.foreign_logp += logp - value(1);
            }
        }
    }

    pub(super) fn stats(self, beta: f64) -> UpdateStats {
        let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
        UpdateStats {
            loss: mean(self.loss, self.steps),
            grad_norm: mean(self.grad_norm, self.steps),
            clip_ratio: mean(self.clipped as f64, self.tokens),
            kl: mean(self.kl, self.computed).filter(|_| beta != 0.0),
            foreign_logp: mean(self.foreign_logp, self.foreign),
            steps: self.steps,
            bad_steps: self.bad_steps,
            bad_weights: false,
        }
    }
}
