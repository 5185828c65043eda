//! What an external completion counts for, by how likely its author and the learner would have written it.
//!
//! The paper trains on the completions of others as if the learner had written them. Where authors tell their
//! log-probs (`swarm.share_logprobs`), each token can instead be weighted by the ratio of the learner's probability
//! before the update to the author's, cut at a bound (truncated importance sampling), and completions that failed and
//! lie too far from the learner can be left out. Together these are F-TIS (arXiv 2605.22537). Without any word of
//! authors, completions that the learner finds too unlikely can be left out, a defence against text with a payload (arXiv
//! 2511.09780). Own completions are never weighted.

use super::batch::Example;
use super::config::{ImportanceSampling, TrainConfig};
use crate::rollout::AuthorLogprobs;

/// Log-ratios beyond this say no more than that the two policies have nothing in common.
const LARGEST_LOG_RATIO: f32 = 20.0;

/// How an external completion is weighted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Importance {
    /// Of each token; zeros where the completion is left out.
    pub(super) weights: Vec<f32>,
    /// The sum of the weights before it is left out.
    pub(super) sum: f64,
    /// Tokens whose ratio was larger than the bound.
    pub(super) truncated: usize,
    /// Whether it is left out.
    pub(super) filtered: bool,
}

impl Importance {
    /// Of a completion of so many tokens without a word of its author.
    fn left_out(tokens: usize) -> Self {
        Self {
            weights: vec![0.0; tokens],
            sum: tokens as f64,
            truncated: 0,
            filtered: true,
        }
    }

    /// Of an example whose tokens have these log-probs under the learner before the update. None where it is the
    /// learner's own, or its author has told nothing.
    pub(super) fn of(example: &Example, logprobs: &[f32], config: &TrainConfig) -> Option<Self> {
        if !example.foreign {
            return None;
        }
        let sum = |all: &[f32]| all.iter().map(|&logprob| f64::from(logprob)).sum::<f64>();
        let unlikely = config
            .foreign_min_logprob
            .is_some_and(|bound| sum(logprobs) < bound * logprobs.len() as f64);
        let told = match &example.author {
            AuthorLogprobs::Untold if unlikely => return Some(Self::left_out(logprobs.len())),
            AuthorLogprobs::Untold => return None,
            AuthorLogprobs::Sequence(logprob) => f64::from(*logprob),
            AuthorLogprobs::Token { logprobs, .. } => sum(logprobs),
        };
        let of_sequence = (sum(logprobs) - told) as f32;
        let log_ratios: Vec<f32> = match (config.importance_sampling, &example.author) {
            (ImportanceSampling::None, _) => vec![0.0; logprobs.len()],
            (ImportanceSampling::TokenTruncate, AuthorLogprobs::Token { logprobs: told, .. }) => {
                logprobs
                    .iter()
                    .zip(told)
                    .map(|(own, told)| own - told)
                    .collect()
            }
            _ => vec![of_sequence; logprobs.len()],
        };
        let cap = config.importance_sampling_cap as f32;
        let ratio = |log: &f32| log.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp();
        let ratios: Vec<f32> = log_ratios.iter().map(ratio).collect();
        let truncated = ratios.iter().filter(|ratio| **ratio > cap).count();
        let mut weights: Vec<f32> = ratios.iter().map(|ratio| ratio.min(cap)).collect();
        let too_far = config
            .foreign_max_kl
            .is_some_and(|bound| f64::from(-of_sequence) >= bound);
        let filtered = unlikely || too_far && example.advantage <= 0.0;
        let total = sum(&weights);
        if filtered {
            weights.fill(0.0);
        }
        Some(Self {
            weights,
            sum: total,
            truncated,
            filtered,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(author: AuthorLogprobs, foreign: bool, advantage: f64) -> Example {
        Example {
            prompt: vec![1],
            completion: vec![2, 3, 4],
            advantage,
            truncated: false,
            foreign,
            author,
        }
    }

    fn per_token(logprobs: [f32; 3]) -> AuthorLogprobs {
        AuthorLogprobs::Token {
            tokenizer: 1,
            logprobs: logprobs.into(),
        }
    }

    fn config(importance_sampling: ImportanceSampling, foreign_max_kl: Option<f64>) -> TrainConfig {
        TrainConfig {
            importance_sampling,
            foreign_max_kl,
            ..TrainConfig::default()
        }
    }

    const OWN: [f32; 3] = [-1.0, -2.0, -0.5];

    #[test]
    fn weights_by_hand() {
        let told = per_token([-1.0, -4.0, 0.0]);
        let of = |mode, told| {
            let found =
                Importance::of(&example(told, true, 1.0), &OWN, &config(mode, None)).unwrap();
            (found.weights, found.truncated)
        };
        let (weights, truncated) = of(ImportanceSampling::TokenTruncate, told.clone());
        assert_eq!((weights[0], weights[1], truncated), (1.0, 2.0, 1));
        assert!((weights[2] - (-0.5f32).exp()).abs() < 1e-6);
        // e^1.5 is cut too
        let whole = (vec![2.0; 3], 3);
        assert_eq!(
            of(ImportanceSampling::SequenceTruncate, told.clone()),
            whole
        );
        assert_eq!(
            of(
                ImportanceSampling::TokenTruncate,
                AuthorLogprobs::Sequence(-5.0)
            ),
            whole
        );
        assert_eq!(of(ImportanceSampling::None, told), (vec![1.0; 3], 0));
        let (weights, truncated) = of(
            ImportanceSampling::SequenceTruncate,
            AuthorLogprobs::Sequence(-3.0),
        );
        assert!(truncated == 0 && weights.iter().all(|w| (w - (-0.5f32).exp()).abs() < 1e-6));
    }

    #[test]
    fn what_the_learner_finds_too_unlikely_is_left_out() {
        // the mean of OWN is -7/6
        for (author, bound, left_out) in [
            (AuthorLogprobs::Untold, -1.1, true),
            (AuthorLogprobs::Untold, -1.2, false),
            (per_token(OWN), -1.1, true),
            (per_token(OWN), -1.2, false),
        ] {
            let config = TrainConfig {
                foreign_min_logprob: Some(bound),
                ..TrainConfig::default()
            };
            let of =
                |foreign| Importance::of(&example(author.clone(), foreign, 1.0), &OWN, &config);
            let weights = of(true).map_or(vec![1.0; 3], |found| found.weights);
            assert_eq!(
                weights,
                vec![if left_out { 0.0 } else { 1.0 }; 3],
                "{author:?} {bound}"
            );
            assert_eq!(of(false), None);
        }
    }

    #[test]
    fn own_completions_and_silent_authors_are_not_weighted() {
        let config = config(ImportanceSampling::TokenTruncate, Some(0.0));
        let told = per_token([-9.0; 3]);
        assert_eq!(
            Importance::of(&example(told, false, -1.0), &OWN, &config),
            None
        );
        let untold = example(AuthorLogprobs::Untold, true, -1.0);
        assert_eq!(Importance::of(&untold, &OWN, &config), None);
    }

    #[test]
    fn failures_that_lie_too_far_are_left_out() {
        let filtered = |advantage, told: f32, bound| {
            let example = example(AuthorLogprobs::Sequence(told), true, advantage);
            let config = config(ImportanceSampling::TokenTruncate, bound);
            let found = Importance::of(&example, &OWN, &config).unwrap();
            assert_eq!(found.weights == [0.0; 3], found.filtered);
            found.filtered
        };
        // the learner finds it e^3 times less likely than its author
        assert!(filtered(-1.0, -0.5, Some(3.0)));
        assert!(!filtered(-1.0, -0.5, Some(3.1)));
        assert!(!filtered(1.0, -0.5, Some(3.0)));
        assert!(!filtered(-1.0, -0.5, None));
        assert!(!filtered(-1.0, -9.0, Some(3.0)));
    }

    #[test]
    fn what_no_policy_would_write_makes_no_infinity() {
        let config = config(ImportanceSampling::TokenTruncate, Some(1.0));
        for told in [
            per_token([0.0, -1e30, -3e38]),
            AuthorLogprobs::Sequence(-3e38),
        ] {
            let found = Importance::of(&example(told, true, 1.0), &OWN, &config).unwrap();
            assert!(
                found.weights.iter().all(|w| (0.0..=2.0).contains(w)),
                "{found:?}"
            );
        }
    }
}
