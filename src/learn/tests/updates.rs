//! Whole updates: what counts, what is left out, what moves.

use super::*;

#[test]
fn completions_without_signal_change_no_gradient_but_count() {
    let model = model(true);
    let all = examples();
    let refs: Vec<&Example> = all.iter().collect();
    let config = config(LossType::Bnpo);
    let (_, skipped) = loss_and_gradient(&model, &config, &all, None);
    let (_, computed) = update(&config).probe_all(&model, &refs);
    assert_close(&skipped, &flatten(&model, &computed), 1e-5, "gradient");
    let with_signal: Vec<Example> = all.iter().filter(|e| e.advantage != 0.0).cloned().collect();
    let (_, alone) = loss_and_gradient(&model, &config, &with_signal, None);
    let (tokens, fewer) = (36.0, 21.0);
    let scaled: Vec<f32> = alone.iter().map(|g| g * fewer / tokens).collect();
    assert_close(&skipped, &scaled, 1e-5, "the denominator counts all");
}

#[test]
fn micro_batches_change_no_gradient_and_no_loss() {
    let model = model(true);
    let all = examples();
    for loss_type in LOSS_TYPES {
        let whole = loss_and_gradient(&model, &config(loss_type), &all, None);
        for micro_batch_size in [1, 2, 3, 8] {
            let parts = loss_and_gradient(
                &model,
                &TrainConfig {
                    micro_batch_size,
                    ..config(loss_type)
                },
                &all,
                None,
            );
            assert!(
                (parts.0 - whole.0).abs() < 1e-6,
                "{loss_type:?} {micro_batch_size}"
            );
            assert_close(&parts.1, &whole.1, 1e-5, "gradient");
        }
    }
}

#[test]
fn cut_off_completions_can_be_masked() {
    let masked = TrainConfig {
        mask_truncated_completions: true,
        ..config(LossType::Bnpo)
    };
    let run = |examples: &[Example]| {
        let mut optimizer = Optimizer::new(masked.optimizer());
        update(&masked).run(model(true), &mut optimizer, examples).1
    };
    let mut all = examples();
    for example in &mut all[..4] {
        example.truncated = true;
    }
    let half = run(&all);
    let without = run(&all[4..]);
    assert_eq!(half, without, "as if they were not there");
    for example in &mut all {
        example.truncated = true;
    }
    let none = run(&all);
    assert_eq!(
        (none.steps, none.loss, none.grad_norm),
        (0, None, None),
        "nothing to learn, and no NaN"
    );
}

#[test]
fn several_steps_move_the_ratio_and_every_setting_runs() {
    for loss_type in LOSS_TYPES {
        let config = TrainConfig {
            num_iterations: 2,
            minibatch_size: 3,
            micro_batch_size: 2,
            max_grad_norm: 1.0,
            warmup_steps: 2,
            beta: 0.1,
            learning_rate: 0.05,
            ..config(loss_type)
        };
        let start = model(true);
        let reference = start.valid();
        let before = flatten_weights(&reference);
        let update = Update {
            reference: Some(&reference),
            ..update(&config)
        };
        let (after, stats) =
            update.run(start, &mut Optimizer::new(config.optimizer()), &examples());
        assert_eq!(stats.steps, 6, "three minibatches twice");
        assert!(
            stats.clip_ratio.unwrap() > 0.0 && stats.kl.unwrap() > 0.0,
            "{stats:?}"
        );
        assert_eq!(
            flatten_weights(&reference),
            before,
            "the frozen copy stays as it was"
        );
        assert_ne!(flatten_weights(&after.valid()), before);
    }
}

#[test]
fn clip_ratio_counts_every_token_of_the_training_set() {
    // both steps see the same two completions; after the first, large one, the second is clipped
    let config = TrainConfig {
        num_iterations: 2,
        learning_rate: 0.05,
        ..config(LossType::Bnpo)
    };
    let signal = [example(1, 3, 11, 4, 1.0), example(1, 3, 12, 4, -1.0)];
    let run = |examples: &[Example]| {
        update(&config)
            .run(
                model(true),
                &mut Optimizer::new(config.optimizer()),
                examples,
            )
            .1
            .clip_ratio
            .unwrap()
    };
    let alone = run(&signal);
    assert!(alone > 0.0, "{alone}");
    let diluted = run(&[&signal[..], &[example(2, 5, 13, 8, 0.0)]].concat());
    assert!(
        (diluted - alone / 2.0).abs() < 1e-9,
        "{diluted} is not half of {alone}"
    );
}

#[test]
fn without_any_signal_nothing_moves() {
    let mut all = examples();
    all.iter_mut().for_each(|e| e.advantage = 0.0);
    let config = TrainConfig {
        num_iterations: 2,
        minibatch_size: 3,
        ..config(LossType::Grpo)
    };
    let start = model(true);
    let before = flatten_weights(&start.valid());
    let (after, stats) = update(&config).run(start, &mut Optimizer::new(config.optimizer()), &all);
    assert_eq!(flatten_weights(&after.valid()), before);
    assert_eq!(
        (stats.steps, stats.loss, stats.grad_norm, stats.clip_ratio),
        (0, None, None, Some(0.0))
    );
}

#[test]
fn kl_is_zero_at_the_start_and_counts_the_raw_gap() {
    let config = TrainConfig {
        beta: 0.1,
        ..config(LossType::Bnpo)
    };
    let run = |reference: &Decoder| {
        let update = Update {
            reference: Some(reference),
            ..update(&config)
        };
        update
            .run(
                model(true),
                &mut Optimizer::new(config.optimizer()),
                &examples(),
            )
            .1
            .kl
            .unwrap()
    };
    assert!(run(&model(true).valid()).abs() < 1e-9);
    assert!(run(&other_model()) > 1e-4);
}

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

#[test]
fn a_gradient_that_is_not_finite_changes_nothing() {
    let config = config(LossType::Bnpo);
    let mut all = examples();
    all[0].advantage = f64::NAN;
    let start = model(true);
    let before = flatten_weights(&start.valid());
    let (after, _) = update(&config).run(start, &mut Optimizer::new(config.optimizer()), &all);
    assert_eq!(flatten_weights(&after.valid()), before);
}

#[test]
fn one_example_can_be_learned_from_its_first_token_on() {
    let config = TrainConfig {
        learning_rate: 1e-2,
        max_grad_norm: 1.0,
        ..config(LossType::Bnpo)
    };
    let only = [example(1, 4, 12, 6, 1.0)];
    let mut optimizer = Optimizer::new(config.optimizer());
    let mut model = model(true);
    for _ in 0..60 {
        model = update(&config).run(model, &mut optimizer, &only).0;
    }
    let greedy = Decoding {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        max_completion_length: 6,
    };
    let generated = generate(
        &model.valid(),
        &[only[0].prompt.clone()],
        1,
        &greedy,
        &[0],
        Seed::new(1),
    );
    let ids: Vec<u32> = generated[0][0].tokens.iter().map(|t| t.id).collect();
    assert_eq!(ids, only[0].completion);
}
