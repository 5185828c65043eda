//! The `[train]` table of an experiment, under TRL's names.

use super::optimizer::{Optim, OptimizerConfig};
use crate::advantage::ScaleRewards;
use serde::{Deserialize, Serialize};

/// How the losses of tokens are reduced to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossType {
    /// Mean over the completion tokens of the minibatch.
    Bnpo,
    /// Mean over completions of the mean over their tokens.
    Grpo,
    /// Sum over tokens, divided by completions times the longest length allowed.
    DrGrpo,
    /// As `bnpo`, but with the mean number of tokens of the round's minibatches as divisor.
    Dapo,
}

/// What an importance weight is of (`train.importance_sampling`; TRL's `vllm_importance_sampling_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportanceSampling {
    /// There is none: all weights are 1, as in the paper.
    #[default]
    None,
    /// Of a token; where its author tells no log-probs of tokens, of the completion.
    TokenTruncate,
    /// Of a completion: the ratio of its probabilities weighs all its tokens.
    SequenceTruncate,
}

/// The `[train]` table of an experiment, under TRL's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// The optimizer.
    #[serde(default = "adam")]
    pub optim: Optim,
    /// Its step size.
    pub learning_rate: f64,
    /// Lower clipping range of the ratio.
    pub epsilon: f64,
    /// Upper clipping range of the ratio.
    pub epsilon_high: f64,
    /// Weight of the KL divergence to the frozen first policy; 0 leaves it out.
    pub beta: f64,
    /// The reduction.
    pub loss_type: LossType,
    /// The scaling of advantages.
    pub scale_rewards: ScaleRewards,
    /// What the importance weight of an external completion is of.
    #[serde(default, skip_serializing_if = "is_default")]
    pub importance_sampling: ImportanceSampling,
    /// The largest importance weight.
    #[serde(
        default = "importance_sampling_cap",
        skip_serializing_if = "is_usual_cap"
    )]
    pub importance_sampling_cap: f64,
    /// External completions without a positive advantage are left out where the learner finds them so much less likely
    /// than their author (the difference of the log-probs of the whole, nats); none are where the key is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_max_kl: Option<f64>,
    /// External completions of which the learner finds a token less likely than this in the mean (nats) are left out,
    /// whatever their advantage; none are where the key is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_min_logprob: Option<f64>,
    /// Added to the rewards of external rollouts with a signal, less their mean, before they are scaled: above 0 the
    /// successes of others count for more, and their failures for less.
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign_lean: f64,
    /// Passes over the training set per round.
    pub num_iterations: usize,
    /// Completions per optimizer step; 0 takes the whole training set.
    pub minibatch_size: usize,
    /// Minibatches per optimizer step, their gradients averaged; what is left at the end of a pass is a
    /// step of its own.
    #[serde(default = "one")]
    pub gradient_accumulation_steps: usize,
    /// Completions per forward and backward pass; 0 takes the whole minibatch. Bounds memory, changes
    /// no gradient.
    pub micro_batch_size: usize,
    /// Compute the activations of a layer again when its gradient is due, instead of keeping those of
    /// all layers. Less memory for more time; changes no gradient.
    pub gradient_checkpointing: bool,
    /// Leave completions that were cut off out of the loss and of its denominators.
    pub mask_truncated_completions: bool,
    /// Whether the optimizer steps where no completion has a gradient, as TRL and GenRL do: momentum
    /// moves the weights, and the moments decay. Otherwise such a minibatch is as if it had never been.
    pub step_without_signal: bool,
    /// Largest global norm of a gradient; 0 never clips.
    pub max_grad_norm: f64,
    /// Decay of the momentum of `sgd`.
    #[serde(default = "sgd_momentum")]
    pub sgd_momentum: f64,
    /// Decay of Adam's first moment.
    pub adam_beta1: f64,
    /// Decay of Adam's second moment.
    pub adam_beta2: f64,
    /// Added to the root of Adam's second moment.
    pub adam_epsilon: f64,
    /// Updates in a row that may be left out because loss or gradient is not finite; one more ends
    /// the run.
    #[serde(default = "max_bad_updates")]
    pub max_bad_updates: usize,
    /// Steps over which the step size rises in equal parts, the last taking all of it; 0 for none.
    pub warmup_steps: usize,
}

fn adam() -> Optim {
    Optim::Adam
}

fn one() -> usize {
    1
}

/// That of F-TIS.
fn importance_sampling_cap() -> f64 {
    2.0
}

fn is_usual_cap(cap: &f64) -> bool {
    *cap == importance_sampling_cap()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn sgd_momentum() -> f64 {
    0.9
}

fn max_bad_updates() -> usize {
    10
}

impl Default for TrainConfig {
    /// GRPO as the paper uses it, one step per round over the whole training set, Adam as it is by default. An
    /// experiment states every key itself; this is for tests and benches.
    fn default() -> Self {
        Self {
            optim: adam(),
            learning_rate: 1e-3,
            epsilon: 0.2,
            epsilon_high: 0.28,
            beta: 0.0,
            loss_type: LossType::Bnpo,
            scale_rewards: ScaleRewards::Group,
            importance_sampling: ImportanceSampling::None,
            importance_sampling_cap: importance_sampling_cap(),
            foreign_max_kl: None,
            foreign_min_logprob: None,
            foreign_lean: 0.0,
            num_iterations: 1,
            minibatch_size: 0,
            gradient_accumulation_steps: one(),
            micro_batch_size: 0,
            gradient_checkpointing: false,
            mask_truncated_completions: false,
            step_without_signal: true,
            max_grad_norm: 1.0,
            sgd_momentum: sgd_momentum(),
            adam_beta1: 0.9,
            adam_beta2: 0.999,
            adam_epsilon: 1e-8,
            warmup_steps: 0,
            max_bad_updates: max_bad_updates(),
        }
    }
}

impl TrainConfig {
    /// # Errors
    /// Names the key, what it holds and what it may hold.
    pub fn validate(&self) -> Result<(), String> {
        // as the optimizer sees them: a beta that rounds to 1 or an epsilon that rounds to 0 divides by 0
        let below_one = |beta: f64| (0.0..1.0).contains(&(beta as f32));
        let adam_epsilon = self.adam_epsilon as f32;
        #[rustfmt::skip]
        let keys = [
            ("learning_rate", self.learning_rate, (0.0..=1.0).contains(&self.learning_rate), "0 (never learns) to 1"),
            ("epsilon", self.epsilon, (0.0..1.0).contains(&self.epsilon), "0 <= epsilon < 1"),
            ("epsilon_high", self.epsilon_high, (0.0..=1e6).contains(&self.epsilon_high), "0 to 1e6"),
            ("beta", self.beta, (0.0..=1e6).contains(&self.beta), "0 to 1e6"),
            ("importance_sampling_cap", self.importance_sampling_cap, self.importance_sampling_cap > 0.0 && self.importance_sampling_cap <= 1e6, "more than 0, up to 1e6"),
            ("foreign_min_logprob", self.foreign_min_logprob.unwrap_or(0.0), self.foreign_min_logprob.is_none_or(|bound| (-1e6..=0.0).contains(&bound)), "-1e6 to 0"),
            ("foreign_max_kl", self.foreign_max_kl.unwrap_or(0.0), self.foreign_max_kl.is_none_or(|kl| (0.0..=1e6).contains(&kl)), "0 to 1e6"),
            ("foreign_lean", self.foreign_lean, (0.0..=1.0).contains(&self.foreign_lean), "0 to 1"),
            ("num_iterations", self.num_iterations as f64, (1..=1000).contains(&self.num_iterations), "1 to 1000"),
            ("gradient_accumulation_steps", self.gradient_accumulation_steps as f64, (1..=4096).contains(&self.gradient_accumulation_steps), "1 to 4096"),
            ("sgd_momentum", self.sgd_momentum, below_one(self.sgd_momentum), "0 <= sgd_momentum < 1"),
            ("max_grad_norm", self.max_grad_norm, self.max_grad_norm >= 0.0, ">= 0"),
            ("adam_beta1", self.adam_beta1, below_one(self.adam_beta1), "0 <= adam_beta1 < 1"),
            ("adam_beta2", self.adam_beta2, below_one(self.adam_beta2), "0 <= adam_beta2 < 1"),
            ("adam_epsilon", self.adam_epsilon, adam_epsilon > 0.0 && adam_epsilon.is_finite(), "> 0 (at least 1e-45)"),
        ];
        match keys.into_iter().find(|(_, _, ok, _)| !ok) {
            Some((key, found, _, expected)) => {
                Err(format!("train.{key}: found {found}, expected {expected}"))
            }
            None => Ok(()),
        }
    }

    /// Whether it needs the log-probs of authors.
    pub fn needs_logprobs(&self) -> bool {
        self.importance_sampling != ImportanceSampling::None || self.foreign_max_kl.is_some()
    }

    /// Whether external completions are weighted or left out by what the learner makes of them.
    pub fn weighs_foreign(&self) -> bool {
        self.needs_logprobs() || self.foreign_min_logprob.is_some()
    }

    /// The part that the optimizer needs.
    pub fn optimizer(&self) -> OptimizerConfig {
        OptimizerConfig {
            optim: self.optim,
            sgd_momentum: self.sgd_momentum,
            learning_rate: self.learning_rate,
            adam_beta1: self.adam_beta1,
            adam_beta2: self.adam_beta2,
            adam_epsilon: self.adam_epsilon,
            max_grad_norm: self.max_grad_norm,
            warmup_steps: self.warmup_steps,
        }
    }
}
