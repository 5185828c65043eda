//! Steps of the optimizer on gradients that are given.

use super::*;
#[test]
fn steps_follow_adam_warm_up_and_the_clip() {
    // with a gradient that stays the same, Adam's step is the learning rate times its sign
    let config = OptimizerConfig {
        warmup_steps: 4,
        learning_rate: 1e-3,
        ..config(LossType::Bnpo).optimizer()
    };
    let mut optimizer = Optimizer::new(config.clone());
    let mut model = model(false);
    let direction: Vec<f32> = flatten_weights(&model.valid())
        .iter()
        .map(|w| if *w > 0.0 { 1e-3 } else { -1e-3 })
        .collect();
    for rate in [0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3] {
        assert!((optimizer.learning_rate() - rate).abs() < 1e-12);
        let before = visit_order(&model);
        let gradients = constant_gradient(&model, &direction);
        let (moved, norm) = optimizer.step(model, gradients);
        let expected = 1e-3 * (direction.len() as f64).sqrt();
        assert!(
            (norm / expected - 1.0).abs() < 1e-4,
            "{norm} is not {expected}"
        );
        model = moved;
        for ((a, b), g) in before.iter().zip(visit_order(&model)).zip(&direction) {
            assert!(
                (f64::from(a - b) - rate * f64::from(g.signum())).abs() < 2e-6,
                "{a} to {b} at {rate}"
            );
        }
    }
    let limited = OptimizerConfig {
        max_grad_norm: 0.5,
        warmup_steps: 0,
        adam_beta1: 0.0,
        adam_epsilon: 1.0,
        ..config
    };
    let size = |limit: f64| {
        let mut optimizer = Optimizer::new(OptimizerConfig {
            max_grad_norm: limit,
            ..limited.clone()
        });
        let before = visit_order(&model);
        let (moved, _) = optimizer.step(model.clone(), constant_gradient(&model, &direction));
        let squares = before
            .iter()
            .zip(visit_order(&moved))
            .map(|(a, b)| f64::from(a - b).powi(2));
        squares.sum::<f64>().sqrt()
    };
    // with epsilon far above the gradient, the step is in proportion to it
    let norm = 1e-3 * (direction.len() as f64).sqrt();
    assert!(
        (size(norm / 2.0) / size(0.0) - 0.5).abs() < 0.01
            && (size(norm * 2.0) / size(0.0) - 1.0).abs() < 1e-3
    );
}

/// Ten steps of one of PyTorch's optimizers, made by `tests/golden/make_optimizers.py`.
#[derive(serde::Deserialize)]
struct Golden {
    optim: Optim,
    learning_rate: f64,
    #[serde(default)]
    sgd_momentum: f64,
    #[serde(default)]
    adam_beta1: f64,
    #[serde(default)]
    adam_beta2: f64,
    #[serde(default)]
    adam_epsilon: f64,
    /// The steps whose gradient is zero.
    #[serde(default)]
    silent: Vec<usize>,
    /// Of each step.
    gradients: Vec<Vec<f32>>,
    /// How far each parameter has moved after each step.
    moved: Vec<Vec<f64>>,
}

fn golden() -> Vec<Golden> {
    let text = include_str!("../../../tests/golden/optimizers.json");
    let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
    serde_json::from_value(json["cases"].take()).unwrap()
}

/// The steps of a case, each parameter of the model taking one of its gradients.
fn check_against_pytorch(case: &Golden) {
    let mut optimizer = Optimizer::new(OptimizerConfig {
        optim: case.optim,
        sgd_momentum: case.sgd_momentum,
        learning_rate: case.learning_rate,
        adam_beta1: case.adam_beta1,
        adam_beta2: case.adam_beta2,
        adam_epsilon: case.adam_epsilon,
        max_grad_norm: 0.0,
        warmup_steps: 0,
    });
    let mut model = model(true);
    let start = visit_order(&model);
    for (step, (gradient, moved)) in case.gradients.iter().zip(&case.moved).enumerate() {
        let entries: Vec<f32> = gradient.iter().cycle().take(start.len()).copied().collect();
        model = if case.silent.contains(&step) {
            optimizer.step_without_gradient(model)
        } else {
            let gradients = constant_gradient(&model, &entries);
            optimizer.step(model, gradients).0
        };
        let expected = moved.iter().cycle();
        for ((from, to), expected) in start.iter().zip(visit_order(&model)).zip(expected) {
            let found = f64::from(to) - f64::from(*from);
            assert!(
                (found - expected).abs() < 3e-6,
                "{:?}, step {step}: moved {found}, expected {expected}",
                case.optim
            );
        }
    }
    assert_eq!(case.gradients.len(), 10);
}

#[test]
fn ten_steps_equal_those_of_pytorch_with_either_kernel() {
    let cases = golden();
    assert_eq!(
        cases.iter().filter(|case| !case.silent.is_empty()).count(),
        2
    );
    for case in &cases {
        check_against_pytorch(case);
        with_generic(|| check_against_pytorch(case));
    }
}
