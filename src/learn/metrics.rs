//! What an update adds up over its tokens and steps.

use super::importance::Importance;
use super::loss::LossMetrics;

/// What an update did. Empty means that there was nothing to measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpdateStats {
    /// Mean loss of the optimizer steps.
    pub loss: Option<f64>,
    /// Mean global norm of their gradients before clipping.
    pub grad_norm: Option<f64>,
    /// Fraction of tokens whose ratio was clipped.
    pub clip_ratio: Option<f64>,
    /// Mean KL estimate of computed tokens, where beta is not 0.
    pub kl: Option<f64>,
    /// Mean log-prob of computed external tokens before the update.
    pub foreign_logp: Option<f64>,
    /// Mean importance weight of those of them whose author has told their log-probs.
    pub importance_weight: Option<f64>,
    /// Share of those whose weight was cut at its largest value.
    pub truncated_frac: Option<f64>,
    /// Share of computed external completions that were left out for lying too far from the policy.
    pub filtered_frac: Option<f64>,
    /// Optimizer steps taken.
    pub steps: usize,
    /// Those of them in which no completion had a gradient: with loss and norm 0.
    pub steps_without_signal: usize,
    /// Optimizer steps taken since the first update.
    pub global_step: usize,
    /// Minibatches left out because their loss or gradient was not finite. They count in nothing else.
    pub bad_steps: usize,
    /// True when a weight is not finite after the update.
    pub bad_weights: bool,
}

/// Sums over the tokens of one minibatch.
#[derive(Debug, Default)]
pub(super) struct MinibatchMetrics {
    /// Of the tokens that were computed.
    pub(super) loss: LossMetrics,
    /// External tokens among them in the first pass over the training set, and the sum of their
    /// log-probs before the update.
    foreign: usize,
    foreign_logp: f64,
    weights: Weights,
}

/// Sums over external completions whose authors have told their log-probs, in the first pass.
#[derive(Debug, Default)]
struct Weights {
    completions: usize,
    tokens: usize,
    /// Of the weights of their tokens.
    sum: f64,
    truncated: usize,
    filtered: usize,
}

impl Weights {
    fn add(&mut self, other: &Self) {
        self.completions += other.completions;
        self.tokens += other.tokens;
        self.sum += other.sum;
        self.truncated += other.truncated;
        self.filtered += other.filtered;
    }
}

impl MinibatchMetrics {
    /// Counts the weights of an external completion.
    pub(super) fn add_importance(&mut self, importance: &Importance) {
        self.weights.add(&Weights {
            completions: 1,
            tokens: importance.weights.len(),
            sum: importance.sum,
            truncated: importance.truncated,
            filtered: usize::from(importance.filtered),
        });
    }

    /// Counts the tokens of an external completion.
    pub(super) fn add_foreign(&mut self, old_logprobs: &[f32]) {
        self.foreign += old_logprobs.len();
        for &logprob in old_logprobs {
            self.foreign_logp += f64::from(logprob);
        }
    }
}

/// Sums over minibatches.
#[derive(Debug, Default)]
pub(super) struct UpdateMetrics {
    steps: usize,
    steps_without_signal: usize,
    bad_steps: usize,
    /// All tokens, computed or not.
    tokens: usize,
    grad_norm: f64,
    all: MinibatchMetrics,
}

impl UpdateMetrics {
    /// Minibatches of so many tokens without any signal, and whether the optimizer has stepped.
    pub(super) fn add_without_signal(&mut self, tokens: usize, stepped: bool) {
        self.tokens += tokens;
        self.steps += usize::from(stepped);
        self.steps_without_signal += usize::from(stepped);
    }

    /// Minibatches of so many tokens, by whose gradient the optimizer has taken a step.
    pub(super) fn add_step(&mut self, tokens: usize, minibatch: &MinibatchMetrics, norm: f64) {
        self.steps += 1;
        self.tokens += tokens;
        self.grad_norm += norm;
        let (all, one) = (&mut self.all, minibatch);
        all.loss.tokens += one.loss.tokens;
        all.loss.loss += one.loss.loss;
        all.loss.clipped += one.loss.clipped;
        all.loss.kl += one.loss.kl;
        all.foreign += one.foreign;
        all.foreign_logp += one.foreign_logp;
        all.weights.add(&one.weights);
    }

    /// A minibatch that was left out.
    pub(super) fn add_bad(&mut self) {
        self.bad_steps += 1;
    }

    /// Optimizer steps taken.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// The means.
    pub(super) fn stats(&self, beta: f64, bad_weights: bool) -> UpdateStats {
        let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
        let MinibatchMetrics {
            loss,
            foreign,
            foreign_logp,
            weights,
        } = &self.all;
        UpdateStats {
            loss: mean(loss.loss, self.steps),
            grad_norm: mean(self.grad_norm, self.steps),
            clip_ratio: mean(loss.clipped as f64, self.tokens),
            kl: mean(loss.kl, loss.tokens).filter(|_| beta != 0.0),
            foreign_logp: mean(*foreign_logp, *foreign),
            importance_weight: mean(weights.sum, weights.tokens),
            truncated_frac: mean(weights.truncated as f64, weights.tokens),
            filtered_frac: mean(weights.filtered as f64, weights.completions),
            steps: self.steps,
            steps_without_signal: self.steps_without_signal,
            global_step: self.steps,
            bad_steps: self.bad_steps,
            bad_weights,
        }
    }
}
