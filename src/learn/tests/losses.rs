//! Losses, their gradients by the log-probs and their reductions, against numbers by hand.

use super::*;
use crate::learn::loss::{LossInputs, LossMetrics, loss_gradient};

/// Loss of each token and its gradient, with a scale of 1, and the metrics of all.
fn by_token(
    logprobs: &[f32],
    old: &[f32],
    reference: Option<&[f32]>,
    advantages: &[f32],
    config: &TrainConfig,
) -> (Vec<f32>, Vec<f32>, LossMetrics) {
    let (mut losses, mut gradients) = (Vec::new(), Vec::new());
    let mut all = LossMetrics::default();
    for (t, &advantage) in advantages.iter().enumerate() {
        let mut metrics = LossMetrics::default();
        let inputs = LossInputs {
            logprobs: &logprobs[t..=t],
            old_logprobs: &old[t..=t],
            reference_logprobs: reference.map(|reference| &reference[t..=t]),
            advantage,
            weights: None,
            scale: 1.0,
        };
        gradients.extend(loss_gradient(inputs, config, &mut metrics));
        losses.push(metrics.loss as f32);
        all.tokens += metrics.tokens;
        all.loss += metrics.loss;
        all.clipped += metrics.clipped;
        all.kl += metrics.kl;
    }
    (losses, gradients, all)
}

#[test]
fn clipping_by_hand() {
    let ln = |x: f32| x.ln();
    // ratios 1, 1.5, 0.5, 1.5, 0.5; advantages of both signs
    let logprobs = [0.0, ln(1.5), ln(0.5), ln(1.5), ln(0.5)];
    let advantages = [2.0, 2.0, 2.0, -2.0, -2.0];
    let config = config(LossType::Bnpo);
    let (losses, gradients, metrics) = by_token(&logprobs, &[0.0; 5], None, &advantages, &config);
    assert_close(&losses, &[-2.0, -2.56, -1.0, 3.0, 1.6], 1e-5, "loss");
    // clipped where the ratio is high and the advantage positive, or low and negative
    assert_close(&gradients, &[-2.0, 0.0, -1.0, 3.0, 0.0], 1e-5, "gradient");
    assert_eq!((metrics.tokens, metrics.clipped, metrics.kl), (5, 2, 0.0));
}

#[test]
fn the_scale_multiplies_loss_and_gradient_of_a_whole_completion() {
    let config = config(LossType::Bnpo);
    let (logprobs, old) = ([-1.0, -2.0, -0.5], [-1.1, -1.9, -0.5]);
    let at = |scale: f32| {
        let mut metrics = LossMetrics::default();
        let inputs = LossInputs {
            logprobs: &logprobs,
            old_logprobs: &old,
            reference_logprobs: None,
            advantage: 0.5,
            weights: None,
            scale,
        };
        (loss_gradient(inputs, &config, &mut metrics), metrics.loss)
    };
    let ((gradient, loss), (double, twice)) = (at(1.0), at(2.0));
    let expected: Vec<f32> = gradient.iter().map(|g| 2.0 * g).collect();
    assert_eq!((double, twice), (expected, 2.0 * loss));
    assert_eq!(gradient[2], -0.5, "the ratio is 1");
}

#[test]
fn kl_is_k3_and_has_a_gradient() {
    let config = TrainConfig {
        beta: 0.5,
        ..config(LossType::Bnpo)
    };
    let (losses, gradients, metrics) = by_token(&[-1.0], &[-1.0], Some(&[-0.5]), &[0.0], &config);
    let gap = 0.5f32;
    let k3 = gap.exp() - gap - 1.0;
    assert_close(&losses, &[0.5 * k3], 1e-6, "loss");
    assert_close(
        &[metrics.kl as f32],
        &[k3],
        1e-6,
        "the metric is without beta",
    );
    assert_close(&gradients, &[0.5 * (1.0 - gap.exp())], 1e-6, "gradient");
}

#[test]
fn a_weight_multiplies_what_the_advantage_brings_and_not_the_kl() {
    let config = TrainConfig {
        beta: 0.5,
        ..config(LossType::Bnpo)
    };
    let (logprobs, old, reference) = ([-1.0, -1.0, -1.0], [-1.0, -0.9, -1.5], [-0.5; 3]);
    let at = |weights: Option<&[f32]>, config: &TrainConfig| {
        let mut metrics = LossMetrics::default();
        let inputs = LossInputs {
            logprobs: &logprobs,
            old_logprobs: &old,
            reference_logprobs: Some(&reference),
            advantage: 2.0,
            weights,
            scale: 1.0,
        };
        let gradient = loss_gradient(inputs, config, &mut metrics);
        (gradient, metrics)
    };
    let without_kl = TrainConfig {
        beta: 0.0,
        ..config.clone()
    };
    let (plain, with_kl) = (at(None, &without_kl).0, at(None, &config).0);
    let (weighted, metrics) = at(Some(&[0.0, 0.5, 2.0]), &config);
    for (t, weight) in [0.0, 0.5, 2.0].into_iter().enumerate() {
        let expected = with_kl[t] + (weight - 1.0) * plain[t];
        assert!((weighted[t] - expected).abs() < 1e-6, "{t}");
    }
    assert_eq!(metrics.clipped, 1, "a weight moves no ratio");
    assert_eq!(at(Some(&[1.0; 3]), &config).0, with_kl);
}

#[test]
fn far_ratios_stay_finite() {
    let config = TrainConfig {
        beta: 0.1,
        ..config(LossType::Bnpo)
    };
    let (logprobs, old) = ([0.0, -200.0, 0.0, -200.0], [-200.0, 0.0, -200.0, 0.0]);
    let advantages = [1.0, 1.0, -1.0, -1.0];
    let (losses, gradients, metrics) = by_token(&logprobs, &old, Some(&old), &advantages, &config);
    assert!(losses.iter().chain(&gradients).all(|x| x.is_finite()));
    assert!(metrics.loss.is_finite() && metrics.kl.is_finite());
}

#[test]
fn what_is_no_number_is_not_hidden() {
    let config = TrainConfig {
        beta: 0.1,
        ..config(LossType::Bnpo)
    };
    for place in 0..4 {
        let mut numbers = [-1.0, -1.0, -1.0, 1.0];
        numbers[place] = f32::NAN;
        let [logprob, old, reference, advantage] = numbers;
        let (losses, ..) = by_token(
            &[logprob],
            &[old],
            Some(&[reference]),
            &[advantage],
            &config,
        );
        assert!(losses[0].is_nan(), "{place}");
    }
}

#[test]
fn loss_of_every_type_by_hand() {
    // one step per round: every ratio is 1, so the loss is minus the scaled sum of advantages
    let all = [example(1, 3, 11, 2, 1.0), example(1, 3, 12, 8, -0.5)];
    let model = model(true);
    for (loss_type, expected) in [
        (LossType::Bnpo, -(2.0 - 4.0) / 10.0),
        (LossType::Dapo, -(2.0 - 4.0) / 10.0),
        (LossType::Grpo, -(1.0 - 0.5) / 2.0),
        (LossType::DrGrpo, -(2.0 - 4.0) / 20.0),
    ] {
        let (loss, _) = loss_and_gradient(&model, &config(loss_type), &all, None);
        assert!(
            (loss - expected).abs() < 1e-6,
            "{loss_type:?}: {loss} is not {expected}"
        );
    }
}
