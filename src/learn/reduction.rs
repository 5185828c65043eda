//! What the loss of each token is multiplied by, so that the sum over tokens is the loss of a minibatch.

use super::batch::Example;
use super::config::LossType;

/// What a reduction needs to know of the round that a minibatch is part of.
pub(super) struct Round<'a> {
    /// All examples of the round.
    pub(super) examples: &'a [&'a Example],
    pub(super) minibatches: usize,
    /// The longest completion allowed.
    pub(super) max_completion_length: usize,
}

/// The factor of each example's tokens in a minibatch, which is given by the indices of its examples.
///
/// The names are TRL's: with `|o|` tokens in a completion, `G` completions and `N` tokens in the minibatch,
///
/// | `loss_type` | factor |
/// |---|---|
/// | `bnpo` | `1 / N` |
/// | `grpo` | `1 / (G |o|)` |
/// | `dr_grpo` | `1 / (G max_completion_length)` |
/// | `dapo` | `minibatches / tokens of the round` |
pub(super) fn token_scales(
    loss_type: LossType,
    minibatch: &[usize],
    round: &Round<'_>,
) -> Vec<f64> {
    let length = |example: &Example| example.completion.len();
    let completions = minibatch.len() as f64;
    let tokens: usize = minibatch.iter().map(|&i| length(round.examples[i])).sum();
    let of_round: usize = round.examples.iter().map(|example| length(example)).sum();
    let scale = |example: &&Example| match loss_type {
        LossType::Bnpo => 1.0 / tokens as f64,
        LossType::Grpo => 1.0 / (completions * length(example) as f64),
        LossType::DrGrpo => 1.0 / (completions * round.max_completion_length as f64),
        LossType::Dapo => round.minibatches as f64 / of_round as f64,
    };
    round.examples.iter().map(scale).collect()
}
