//! Whole updates: what counts, what is left out, what moves.

use super::*;

#[test]
fn completions_without_signal_change_no_gradient_but_count() {
    let model = model(true);
    let all = examples();
    let refs: Vec<&Example> = all.iter().collect();
    let config = config(LossType::Bnpo);
    let (_, skipped) = loss_and_gradient(&model, &config, &all, None);
    let (_, computed) = probe(&update(&config), &model, &refs, |_| true, None);
    assert_close(&skipped, &computed, 1e-5, "gradient");
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
        (none.steps_without_signal, none.loss, none.grad_norm),
        (1, Some(0.0), Some(0.0)),
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
fn without_any_signal_nothing_moves_or_momentum_alone_does() {
    let mut all = examples();
    all.iter_mut().for_each(|e| e.advantage = 0.0);
    for optim in [Optim::Adam, Optim::Sgd] {
        let skipping = TrainConfig {
            optim,
            num_iterations: 2,
            minibatch_size: 3,
            step_without_signal: false,
            ..config(LossType::Grpo)
        };
        let mut optimizer = Optimizer::new(skipping.optimizer());
        let (start, stats) = update(&skipping).run(model(true), &mut optimizer, &examples());
        assert!(stats.steps > 0 && stats.steps_without_signal == 0);
        let (before, steps) = (flatten_weights(&start.valid()), optimizer.state().steps);
        let (after, stats) = update(&skipping).run(start, &mut optimizer, &all);
        assert_eq!(flatten_weights(&after.valid()), before);
        assert_eq!((stats.global_step, optimizer.state().steps), (steps, steps));
        assert_eq!(
            (stats.steps, stats.loss, stats.grad_norm, stats.clip_ratio),
            (0, None, None, Some(0.0))
        );

        let stepping = TrainConfig {
            step_without_signal: true,
            ..skipping
        };
        let (moved, stats) = update(&stepping).run(after, &mut optimizer, &all);
        assert_ne!(flatten_weights(&moved.valid()), before);
        assert_eq!((stats.steps, stats.steps_without_signal), (6, 6));
        assert_eq!((stats.loss, stats.grad_norm), (Some(0.0), Some(0.0)));
        assert_eq!(stats.global_step, steps + 6);
        let nobody = update(&stepping).run(moved, &mut optimizer, &[]).1;
        assert_eq!((nobody.steps, nobody.loss), (0, None), "no training set");
    }
}

#[test]
fn steps_without_signal_before_the_first_signal_move_nothing_but_count() {
    let mut silent = examples();
    silent.iter_mut().for_each(|e| e.advantage = 0.0);
    let config = config(LossType::Bnpo);
    let mut optimizer = Optimizer::new(config.optimizer());
    let before = flatten_weights(&model(true).valid());
    let (same, stats) = update(&config).run(model(true), &mut optimizer, &silent);
    assert_eq!(flatten_weights(&same.valid()), before);
    assert_eq!((stats.steps, stats.global_step), (1, 1));
}

#[test]
fn minibatches_of_one_step_are_averaged() {
    // of equally large minibatches, the mean of the gradients is that of all
    let all: Vec<Example> = examples().into_iter().take(6).collect();
    for loss_type in [LossType::Grpo, LossType::DrGrpo, LossType::Dapo] {
        let whole = config(loss_type);
        let parts = TrainConfig {
            minibatch_size: 3,
            gradient_accumulation_steps: 2,
            ..whole.clone()
        };
        let [a, b] = [&whole, &parts].map(|config| {
            let mut optimizer = Optimizer::new(config.optimizer());
            let (moved, stats) = update(config).run(model(true), &mut optimizer, &all);
            (flatten_weights(&moved.valid()), stats)
        });
        assert_eq!((a.1.steps, b.1.steps), (1, 1));
        assert_close(&a.0, &b.0, 1e-4, "weights");
        let [a, b] = [a.1.loss, b.1.loss].map(Option::unwrap);
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }
    // what is left of a pass is a step of its own
    let left = TrainConfig {
        minibatch_size: 2,
        gradient_accumulation_steps: 2,
        ..config(LossType::Bnpo)
    };
    let mut optimizer = Optimizer::new(left.optimizer());
    let (_, stats) = update(&left).run(model(true), &mut optimizer, &all);
    assert_eq!(stats.steps, 2);
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
fn a_gradient_that_is_not_finite_changes_nothing() {
    let config = config(LossType::Bnpo);
    let mut all = examples();
    all[0].advantage = f64::NAN;
    let start = model(true);
    let before = flatten_weights(&start.valid());
    let mut optimizer = Optimizer::new(config.optimizer());
    let (after, stats) = update(&config).run(start, &mut optimizer, &all);
    assert_eq!(flatten_weights(&after.valid()), before);
    assert_eq!((stats.steps, stats.bad_steps, stats.loss), (0, 1, None));
    assert_eq!(optimizer.state().steps, 0);
}

/// Rows of a matrix replaced.
fn with_rows(
    matrix: Param<Tensor<2>>,
    rows: Range<usize>,
    value: impl Fn(Tensor<2>) -> Tensor<2>,
) -> Param<Tensor<2>> {
    matrix.map(|matrix| {
        let [_, width] = matrix.dims();
        let (matrix, place) = (matrix.inner(), [rows.clone(), 0..width]);
        let changed = value(matrix.clone().slice(place.clone()));
        matrix
            .slice_assign(place, changed)
            .autodiff()
            .require_grad()
    })
}

#[test]
fn a_bad_minibatch_takes_no_step_and_leaves_the_metrics_of_the_others() {
    // one prompt holds a token whose embedding is no number; the head of an untied model is another matrix
    let mut model = model(false);
    model.embed_tokens = with_rows(model.embed_tokens, 0..1, |row| row * f32::NAN);
    let mut bad = [example(1, 3, 11, 4, 1.0), example(1, 3, 12, 4, -1.0)];
    bad.iter_mut().for_each(|example| example.prompt[0] = 0);
    let mut good = vec![
        example(2, 5, 13, 3, 0.5),
        example(2, 5, 14, 6, -0.5),
        example(3, 4, 15, 2, 1.0),
        example(3, 4, 16, 5, -1.0),
    ];
    good.iter_mut().for_each(|example| example.foreign = true);
    bad.iter_mut().for_each(|example| example.foreign = true);
    let config = TrainConfig {
        minibatch_size: 2,
        beta: 0.1,
        // so small that a step changes nothing that can be seen
        learning_rate: 1e-9,
        ..config(LossType::Bnpo)
    };
    let reference = other_model();
    let run = |examples: &[Example]| {
        let update = Update {
            reference: Some(&reference),
            ..update(&config)
        };
        let mut optimizer = Optimizer::new(config.optimizer());
        update.run(model.clone(), &mut optimizer, examples).1
    };
    let (alone, mixed) = (run(&good), run(&[&bad[..], &good].concat()));
    assert_eq!((alone.steps, alone.bad_steps), (2, 0));
    assert_eq!((mixed.steps, mixed.bad_steps), (2, 1));
    let numbers = |stats: &UpdateStats| {
        let all = [stats.loss, stats.grad_norm, stats.kl, stats.foreign_logp];
        all.map(|number| number.unwrap() as f32)
    };
    assert_close(&numbers(&mixed), &numbers(&alone), 1e-5, "metrics");
    assert_eq!(mixed.clip_ratio, alone.clip_ratio);
}

#[test]
fn a_finite_gradient_of_a_loss_that_is_not_finite_takes_no_step() {
    // a reference that thinks most tokens impossible: k3 is infinite, its slope is 1
    let mut reference = model(false);
    reference.lm_head = reference
        .lm_head
        .map(|head| with_rows(head, 0..VOCAB as usize, |rows| rows * 1e38));
    let reference = reference.valid();
    let only = [example(1, 3, 11, 4, 1.0), example(1, 3, 12, 4, -1.0)];
    let refs: Vec<&Example> = only.iter().collect();
    let config = TrainConfig {
        beta: 0.1,
        ..config(LossType::Bnpo)
    };
    let update = Update {
        reference: Some(&reference),
        ..update(&config)
    };
    let start = model(false);
    let (loss, gradient) = probe(&update, &start, &refs, |_| true, None);
    assert!(loss.is_infinite() && gradient.iter().all(|g| g.is_finite()));
    let before = flatten_weights(&start.valid());
    let mut optimizer = Optimizer::new(config.optimizer());
    let (after, stats) = update.run(start, &mut optimizer, &only);
    assert_eq!(flatten_weights(&after.valid()), before);
    assert_eq!((stats.steps, stats.bad_steps), (0, 1));
    assert_eq!((stats.loss, stats.kl), (None, None));
    assert_eq!(optimizer.state().steps, 0);
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
