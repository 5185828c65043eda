//! An update: the training set in minibatches, one optimizer step for each, or for some of them together.
//!
//! Advantages come in as plain numbers. A completion of advantage 0 adds nothing to the gradient when
//! beta is 0 and is then not computed, but it counts in every denominator. A minibatch whose loss or
//! gradient is not finite takes no step; whether one without any gradient does is the experiment's choice.

use super::backward::Backward;
use super::batch::{Batch, Example, minibatches};
use super::config::TrainConfig;
use super::head;
use super::importance::Importance;
use super::loss::{LossInputs, loss_gradient};
use super::metrics::{MinibatchMetrics, UpdateMetrics, UpdateStats};
use super::optimizer::{Optimizer, is_finite};
use super::reduction::{Round, token_scales};
use crate::model::Decoder;
use crate::seed::Seed;
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};

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

/// Examples of a minibatch that are computed, and what the loss needs to know of them.
pub(super) struct Minibatch<'a> {
    /// All examples of the round.
    pub(super) examples: &'a [&'a Example],
    /// The indices of those that are computed.
    pub(super) computed: Vec<usize>,
    /// The reduction's factor of each example's tokens.
    pub(super) scales: Vec<f64>,
    /// Each example's log-probs before the update, where the policy may have moved since.
    pub(super) old: Option<&'a [Vec<f32>]>,
    /// Whether it belongs to the first pass over the training set.
    pub(super) first_pass: bool,
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
        let order = minibatches(&used, self.config.minibatch_size, self.seed);
        let round = Round {
            examples: &used,
            minibatches: order.len(),
            max_completion_length: self.max_completion_length,
        };
        let steps: Vec<&[Vec<usize>]> = order
            .chunks(self.config.gradient_accumulation_steps)
            .collect();
        let single = steps.len() * self.config.num_iterations == 1;
        let old = (!single).then(|| self.old_logprobs(&model.valid(), &used));
        let mut metrics = UpdateMetrics::default();
        for iteration in 0..self.config.num_iterations {
            for step in &steps {
                let tokens = step.iter().flatten().map(|&i| used[i].completion.len());
                let tokens = tokens.sum();
                let minibatch = |indices: &Vec<usize>| Minibatch {
                    examples: &used,
                    computed: self.with_gradient(&used, indices),
                    scales: self.scales(indices, &round, step.len()),
                    old: old.as_deref(),
                    first_pass: iteration == 0,
                };
                let mut minibatches: Vec<Minibatch<'_>> = step.iter().map(minibatch).collect();
                minibatches.retain(|minibatch| !minibatch.computed.is_empty());
                if minibatches.is_empty() {
                    let stepping = self.config.step_without_signal && !examples.is_empty();
                    metrics.add_without_signal(tokens, stepping);
                    if stepping {
                        model = optimizer.step_without_gradient(model);
                    }
                    continue;
                }
                let (gradients, found) = self.gradients(&model, &minibatches);
                if !found.loss.loss.is_finite() {
                    metrics.add_bad();
                    continue;
                }
                let (updated, norm) = optimizer.step(model, gradients);
                model = updated;
                if norm.is_finite() {
                    metrics.add_step(tokens, &found, norm);
                } else {
                    metrics.add_bad();
                }
            }
        }
        let bad_weights = metrics.steps() > 0 && !is_finite(&model);
        let stats = UpdateStats {
            global_step: optimizer.state().steps,
            ..metrics.stats(self.config.beta, bad_weights)
        };
        (model, stats)
    }

    /// The factor of each example's tokens in one of so many minibatches of a step.
    fn scales(&self, indices: &[usize], round: &Round<'_>, minibatches: usize) -> Vec<f64> {
        let mut scales = token_scales(self.config.loss_type, indices, round);
        scales.iter_mut().for_each(|s| *s /= minibatches as f64);
        scales
    }

    /// Those of the examples at `indices` that have a gradient.
    fn with_gradient(&self, examples: &[&Example], indices: &[usize]) -> Vec<usize> {
        let has_gradient = |i: &usize| examples[*i].advantage != 0.0 || self.config.beta != 0.0;
        indices.iter().copied().filter(has_gradient).collect()
    }

    /// Log-probs of the completions that have a gradient; empty for the others.
    fn old_logprobs(&self, model: &Decoder, examples: &[&Example]) -> Vec<Vec<f32>> {
        let mut all = vec![Vec::new(); examples.len()];
        let indices: Vec<usize> = (0..examples.len()).collect();
        let computed = self.with_gradient(examples, &indices);
        for part in computed.chunks(self.micro_batch_size(computed.len())) {
            let of_part: Vec<&Example> = part.iter().map(|&i| examples[i]).collect();
            let batch = Batch::new(&of_part);
            let logprobs = self.logprobs(model, &batch);
            for (owner, logprob) in batch.owners().into_iter().zip(logprobs) {
                all[part[owner]].push(logprob);
            }
        }
        all
    }

    /// Log-probs of all completion tokens of a batch.
    fn logprobs(&self, model: &Decoder, batch: &Batch<'_>) -> Vec<f32> {
        let (hidden, targets) = (batch.hidden(model), batch.targets());
        head::logprobs(model, hidden, &targets, self.temperature)
    }

    fn micro_batch_size(&self, all: usize) -> usize {
        if self.config.micro_batch_size == 0 {
            all.max(1)
        } else {
            self.config.micro_batch_size
        }
    }

    /// The gradient by the weights of the loss of a step's minibatches, a micro-batch at a time.
    pub(super) fn gradients(
        &self,
        model: &Decoder,
        minibatches: &[Minibatch<'_>],
    ) -> (GradientsParams, MinibatchMetrics) {
        let mut gradients = GradientsAccumulator::new();
        let mut metrics = MinibatchMetrics::default();
        for minibatch in minibatches {
            let size = self.micro_batch_size(minibatch.computed.len());
            for part in minibatch.computed.chunks(size) {
                self.add_gradients(model, minibatch, part, &mut gradients, &mut metrics);
            }
        }
        (gradients.grads(), metrics)
    }

    /// Adds the gradient of a micro-batch, given by the indices of its examples.
    fn add_gradients(
        &self,
        model: &Decoder,
        minibatch: &Minibatch<'_>,
        part: &[usize],
        gradients: &mut GradientsAccumulator<Decoder>,
        metrics: &mut MinibatchMetrics,
    ) {
        let examples: Vec<&Example> = part.iter().map(|&i| minibatch.examples[i]).collect();
        let batch = Batch::new(&examples);
        let reference = self
            .reference
            .filter(|_| self.config.beta != 0.0)
            .map(|reference| self.logprobs(reference, &batch));
        let backward = Backward {
            model,
            batch: &batch,
            temperature: self.temperature,
            checkpointing: self.config.gradient_checkpointing,
        };
        backward.run(gradients, |owner, tokens, logprobs| {
            let index = part[owner];
            let example = minibatch.examples[index];
            let old_logprobs = minibatch.old.map_or(logprobs, |old| &old[index]);
            if minibatch.first_pass && example.foreign {
                metrics.add_foreign(old_logprobs);
            }
            let importance = Importance::of(example, old_logprobs, self.config);
            if let Some(importance) = importance.as_ref().filter(|_| minibatch.first_pass) {
                metrics.add_importance(importance);
            }
            let inputs = LossInputs {
                logprobs,
                old_logprobs,
                reference_logprobs: reference.as_ref().map(|all| &all[tokens]),
                advantage: example.advantage as f32,
                weights: importance
                    .as_ref()
                    .map(|importance| &importance.weights[..]),
                scale: minibatch.scales[index] as f32,
            };
            loss_gradient(inputs, self.config, &mut metrics.loss)
        });
    }
}
