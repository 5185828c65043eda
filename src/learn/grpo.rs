//! The GRPO update: a clipped ratio a token, reduced over the batch in one of four ways.
//!
//! Advantages come in as plain numbers. Old log-probs are those of the policy before the update,
//! for own and external completions alike (paper, section 3), so with one step a round the ratio
//! is 1. A completion of advantage 0 adds nothing to the gradient when beta is 0 and is then not
//! computed, but it counts in every denominator.

use super::backward::Backward;
use super::batch::{Batch, Example};
use super::head;
use super::optimizer::{Optimizer, OptimizerConfig, is_finite};
use super::sums::{Sums, UpdateStats};
use crate::model::Decoder;
use crate::rollout::ScaleRewards;
use crate::seed::Seed;
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

/// How the losses of tokens become one number.
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

/// The `[train]` table of an experiment, under TRL's names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Step size of Adam.
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
    /// Passes over the training set a round.
    pub num_iterations: usize,
    /// Completions an optimizer step; 0 takes the whole training set.
    pub minibatch_size: usize,
    /// Completions a forward and backward pass; 0 takes the whole minibatch. Bounds memory, changes
    /// no gradient.
    pub micro_batch_size: usize,
    /// Compute the activations of a layer again when its gradient is due, instead of keeping those of
    /// all layers. Less memory for more time; changes no gradient.
    pub gradient_checkpointing: bool,
    /// Leave completions that were cut off out of the loss and of its denominators.
    pub mask_truncated_completions: bool,
    /// Largest global norm of a gradient; 0 never clips.
    pub max_grad_norm: f64,
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

fn max_bad_updates() -> usize {
    10
}

impl Default for TrainConfig {
    /// GRPO as the paper uses it, one step a round over the whole training set, Adam as it is by default. An
    /// experiment states every key itself; this is for tests and benches.
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            epsilon: 0.2,
            epsilon_high: 0.28,
            beta: 0.0,
            loss_type: LossType::Bnpo,
            scale_rewards: ScaleRewards::Group,
            num_iterations: 1,
            minibatch_size: 0,
            micro_batch_size: 0,
            gradient_checkpointing: false,
            mask_truncated_completions: false,
            max_grad_norm: 1.0,
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
        let check = |ok: bool, key: &str, found: f64, expected: &str| {
            if ok {
                Ok(())
            } else {
                Err(format!("train.{key}: found {found}, expected {expected}"))
            }
        };
        let rate = self.learning_rate;
        check(
            (0.0..=1.0).contains(&rate),
            "learning_rate",
            rate,
            "0 (never learns) to 1",
        )?;
        check(
            (0.0..1.0).contains(&self.epsilon),
            "epsilon",
            self.epsilon,
            "0 <= epsilon < 1",
        )?;
        check(
            (0.0..=1e6).contains(&self.epsilon_high),
            "epsilon_high",
            self.epsilon_high,
            "0 to 1e6",
        )?;
        check(
            (0.0..=1e6).contains(&self.beta),
            "beta",
            self.beta,
            "0 to 1e6",
        )?;
        let iterations = self.num_iterations;
        check(
            (1..=1000).contains(&iterations),
            "num_iterations",
            iterations as f64,
            "1 to 1000",
        )?;
        check(
            self.max_grad_norm >= 0.0,
            "max_grad_norm",
            self.max_grad_norm,
            ">= 0",
        )?;
        // as the optimizer sees them: a beta that rounds to 1 or an epsilon that rounds to 0 divides by 0
        let below_one = |beta: f64| (0.0..1.0).contains(&(beta as f32));
        check(
            below_one(self.adam_beta1),
            "adam_beta1",
            self.adam_beta1,
            "0 <= adam_beta1 < 1",
        )?;
        check(
            below_one(self.adam_beta2),
            "adam_beta2",
            self.adam_beta2,
            "0 <= adam_beta2 < 1",
        )?;
        let epsilon = self.adam_epsilon as f32;
        check(
            epsilon > 0.0 && epsilon.is_finite(),
            "adam_epsilon",
            self.adam_epsilon,
            "> 0 (at least 1e-45)",
        )
    }

    /// The part that the optimizer needs.
    pub fn optimizer(&self) -> OptimizerConfig {
        OptimizerConfig {
            learning_rate: self.learning_rate,
            adam_beta1: self.adam_beta1,
            adam_beta2: self.adam_beta2,
            adam_epsilon: self.adam_epsilon,
            max_grad_norm: self.max_grad_norm,
            warmup_steps: self.warmup_steps,
        }
    }
}

/// What an update needs to know besides its examples.
pub struct Update<'a> {
    /// The `[train]` table.
    pub config: &'a TrainConfig,
    /// The temperature of generation; log-probs are taken at it.
    pub temperature: f64,
    /// The longest completion allowed.
    pub max_completion_length: usize,
    /// The frozen first policy, needed when beta is not 0.
    pub reference: Option<&'a Decoder>,
    /// Shuffles minibatches.
    pub seed: Seed,
}

/// Loss of each token, before reduction.
///
/// With ratio `r = exp(logp - old)` and advantage `A` it is
/// `-min(r A, clip(r, 1 - epsilon, 1 + epsilon_high) A) + beta k3`, where `k3` is the KL estimate
/// `exp(ref - logp) - (ref - logp) - 1`.
///
/// # Shapes
/// - all: `[tokens]`
pub fn token_loss(
    logp: Tensor<1>,
    old: Tensor<1>,
    reference: Option<Tensor<1>>,
    advantage: Tensor<1>,
    config: &TrainConfig,
) -> Tensor<1> {
    // beyond e^20 clipping has long decided; the bound keeps 0 * inf out of the backward pass
    let ratio = (logp.clone() - old).clamp(-20.0, 20.0).exp();
    let clipped = ratio
        .clone()
        .clamp(1.0 - config.epsilon, 1.0 + config.epsilon_high);
    let loss = (ratio * advantage.clone())
        .min_pair(clipped * advantage)
        .neg();
    match reference {
        Some(reference) => loss + k3(logp, reference) * config.beta,
        None => loss,
    }
}

fn k3(logp: Tensor<1>, reference: Tensor<1>) -> Tensor<1> {
    let gap = (reference - logp).clamp_max(20.0);
    gap.clone().exp() - gap - 1.0
}

impl Update<'_> {
    /// Updates the policy on the training set, given in order of its rollouts.
    pub fn run(
        &self,
        mut model: Decoder,
        optimizer: &mut Optimizer,
        examples: &[Example],
    ) -> (Decoder, UpdateStats) {
        let masked = |e: &Example| self.config.mask_truncated_completions && e.truncated;
        let used: Vec<&Example> = examples
            .iter()
            .filter(|e| !masked(e) && !e.completion.is_empty())
            .collect();
        let order = self.minibatches(&used);
        let single = order.len() * self.config.num_iterations == 1;
        let old = if single {
            None
        } else {
            Some(self.all_logprobs(&model.valid(), &used))
        };
        let mut sums = Sums::default();
        for iteration in 0..self.config.num_iterations {
            for minibatch in &order {
                let weights = self.token_weights(&used, minibatch, order.len());
                let computed: Vec<usize> = minibatch
                    .iter()
                    .copied()
                    .filter(|&i| self.has_gradient(used[i]))
                    .collect();
                sums.tokens += minibatch
                    .iter()
                    .map(|&i| used[i].completion.len())
                    .sum::<usize>();
                if computed.is_empty() {
                    continue;
                }
                sums.first_pass = iteration == 0;
                let loss_before = sums.loss;
                let gradients = self.gradients(
                    &model,
                    &used,
                    &computed,
                    &weights,
                    old.as_deref(),
                    &mut sums,
                );
                let (updated, norm) = optimizer.step(model, gradients);
                model = updated;
                if norm.is_finite() && sums.loss.is_finite() {
                    sums.steps += 1;
                    sums.grad_norm += norm;
                } else {
                    sums.loss = loss_before;
                    sums.bad_steps += 1;
                }
            }
        }
        let stats = sums.stats(self.config.beta);
        let bad_weights = stats.steps > 0 && !is_finite(&model);
        (
            model,
            UpdateStats {
                bad_weights,
                ..stats
            },
        )
    }

    /// Loss and gradient of one minibatch of all examples, without a step.
    #[cfg(test)]
    pub(super) fn probe(
        &self,
        model: &Decoder,
        used: &[&Example],
        old: Option<&[Vec<f32>]>,
    ) -> (f64, GradientsParams) {
        let computed: Vec<usize> = (0..used.len())
            .filter(|&i| self.has_gradient(used[i]))
            .collect();
        self.probe_some(model, used, &computed, old)
    }

    /// The same, computing those without signal too.
    #[cfg(test)]
    pub(super) fn probe_all(&self, model: &Decoder, used: &[&Example]) -> (f64, GradientsParams) {
        self.probe_some(model, used, &(0..used.len()).collect::<Vec<_>>(), None)
    }

    #[cfg(test)]
    fn probe_some(
        &self,
        model: &Decoder,
        used: &[&Example],
        computed: &[usize],
        old: Option<&[Vec<f32>]>,
    ) -> (f64, GradientsParams) {
        let weights = self.token_weights(used, &(0..used.len()).collect::<Vec<_>>(), 1);
        let mut sums = Sums::default();
        let gradients = self.gradients(model, used, computed, &weights, old, &mut sums);
        (sums.loss, gradients)
    }

    fn has_gradient(&self, example: &Example) -> bool {
        example.advantage != 0.0 || self.config.beta != 0.0
    }

    /// Indices of the completions of each optimizer step. Rows of one prompt stay together; with
    /// more than one step a round, the prompts come in random order.
    fn minibatches(&self, used: &[&Example]) -> Vec<Vec<usize>> {
        let size = self.config.minibatch_size;
        if size == 0 || size >= used.len() {
            return vec![(0..used.len()).collect()];
        }
        let indices: Vec<usize> = (0..used.len()).collect();
        let mut groups: Vec<&[usize]> = indices
            .chunk_by(|&a, &b| used[a].prompt == used[b].prompt)
            .collect();
        self.seed.child("minibatches", 0).rng().shuffle(&mut groups);
        groups
            .concat()
            .chunks(size)
            .map(<[usize]>::to_vec)
            .collect()
    }

    /// The weight of each completion's tokens in the loss of a minibatch.
    fn token_weights(
        &self,
        used: &[&Example],
        minibatch: &[usize],
        minibatches: usize,
    ) -> Vec<f64> {
        let tokens = |indices: &mut dyn Iterator<Item = usize>| {
            indices.map(|i| used[i].completion.len()).sum::<usize>()
        };
        let sequences = minibatch.len() as f64;
        let in_minibatch = tokens(&mut minibatch.iter().copied()) as f64;
        let in_round = tokens(&mut (0..used.len())) as f64;
        let weight = |example: &&Example| match self.config.loss_type {
            LossType::Bnpo => 1.0 / in_minibatch,
            LossType::Grpo => 1.0 / (sequences * example.completion.len() as f64),
            LossType::DrGrpo => 1.0 / (sequences * self.max_completion_length as f64),
            LossType::Dapo => minibatches as f64 / in_round,
        };
        used.iter().map(weight).collect()
    }

    /// Log-probs of the completions that have a gradient; empty for the others.
    fn all_logprobs(&self, model: &Decoder, used: &[&Example]) -> Vec<Vec<f32>> {
        let mut all = vec![Vec::new(); used.len()];
        let computed: Vec<usize> = (0..used.len())
            .filter(|&i| self.has_gradient(used[i]))
            .collect();
        for part in computed.chunks(self.micro_batch_size(computed.len())) {
            let examples: Vec<&Example> = part.iter().map(|&i| used[i]).collect();
            let batch = Batch::new(&examples);
            let logprobs = head::logprobs(
                model,
                batch.hidden(model),
                &batch.targets(),
                self.temperature,
            );
            for (owner, logprob) in batch.owners().into_iter().zip(logprobs) {
                all[part[owner]].push(logprob);
            }
        }
        all
    }

    fn micro_batch_size(&self, all: usize) -> usize {
        if self.config.micro_batch_size == 0 {
            all.max(1)
        } else {
            self.config.micro_batch_size
        }
    }

    fn gradients(
        &self,
        model: &Decoder,
        used: &[&Example],
        computed: &[usize],
        weights: &[f64],
        old: Option<&[Vec<f32>]>,
        sums: &mut Sums,
    ) -> GradientsParams {
        let device = model.device();
        let mut gradients = GradientsAccumulator::new();
        for part in computed.chunks(self.micro_batch_size(computed.len())) {
            let examples: Vec<&Example> = part.iter().map(|&i| used[i]).collect();
            let batch = Batch::new(&examples);
            let owners: Vec<usize> = batch
                .owners()
                .into_iter()
                .map(|owner| part[owner])
                .collect();
            let old = old.map(|old| by_token(old, &owners));
            let reference = self.reference_logprobs(&batch);
            let (temperature, checkpointing) =
                (self.temperature, self.config.gradient_checkpointing);
            let backward = Backward {
                model,
                batch: &batch,
                temperature,
                checkpointing,
            };
            backward.run(&mut gradients, |range, logp| {
                let of_owners = |value: &dyn Fn(usize) -> f64| {
                    vector(
                        owners[range.clone()]
                            .iter()
                            .map(|&i| value(i) as f32)
                            .collect(),
                        &device,
                    )
                };
                let slice = |all: &Vec<f32>| vector(all[range.clone()].to_vec(), &device);
                let leaf = Tensor::from_inner(logp).require_grad();
                let old = old.as_ref().map_or_else(|| leaf.clone().detach(), slice);
                let reference = reference.as_ref().map(slice);
                let advantage = of_owners(&|i| used[i].advantage);
                let loss = token_loss(
                    leaf.clone(),
                    old.clone(),
                    reference.clone(),
                    advantage,
                    self.config,
                );
                let loss = loss * of_owners(&|i| weights[i]);
                let mut grads = loss.clone().sum().backward();
                sums.add(
                    &leaf,
                    old,
                    reference,
                    loss,
                    self.config,
                    owners[range.clone()].iter().map(|&i| used[i]),
                );
                leaf.grad_remove(&mut grads)
                    .expect("the loss depends on the log-probs")
            });
        }
        gradients.grads()
    }

    fn reference_logprobs(&self, batch: &Batch<'_>) -> Option<Vec<f32>> {
        let reference = self.reference.filter(|_| self.config.beta != 0.0)?;
        Some(head::logprobs(
            reference,
            batch.hidden(reference),
            &batch.targets(),
            self.temperature,
        ))
    }
}

/// One value a token, given lists a completion and the completion of each token.
fn by_token(lists: &[Vec<f32>], owners: &[usize]) -> Vec<f32> {
    let tokens = owners.chunk_by(|a, b| a == b);
    tokens
        .flat_map(|run| lists[run[0]].iter().copied())
        .collect()
}

fn vector(values: Vec<f32>, device: &Device) -> Tensor<1> {
    let len = values.len();
    Tensor::from_data(TensorData::new(values, [len]), device)
}
