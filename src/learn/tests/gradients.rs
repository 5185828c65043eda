//! Log-probs and gradients against plain computations, numbers by hand and finite differences.

use super::*;
use crate::learn::backward::Backward;

#[test]
fn shared_prompts_give_the_logprobs_and_gradients_of_whole_rows() {
    for tied in [true, false] {
        let model = model(tied);
        let all = examples();
        let refs: Vec<&Example> = all.iter().collect();
        let batch = Batch::new(&refs);
        let owners = batch.owners();
        let weight = |i: usize| 0.3 + 0.1 * i as f32;

        let mut gradients = GradientsAccumulator::new();
        let mut shared = Vec::new();
        let backward = Backward {
            model: &model,
            batch: &batch,
            temperature: 1.0,
            checkpointing: false,
        };
        backward.run(&mut gradients, |range, logp| {
            shared.extend(values(logp.clone()));
            let upstream: Vec<f32> = owners[range].iter().map(|&i| weight(i)).collect();
            let len = upstream.len();
            Tensor::from_data(TensorData::new(upstream, [len]), &logp.device())
        });
        let shared_gradient = flatten(&model, &gradients.grads());

        let mut order: Vec<usize> = owners;
        order.dedup();
        let plain: Vec<Tensor<1>> = order
            .iter()
            .map(|&i| plain_logprobs(&model, &all[i], 1.0))
            .collect();
        let expected: Vec<f32> = plain
            .iter()
            .flat_map(|t| values(t.clone().inner()))
            .collect();
        for (a, b) in shared.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
        let sums = order
            .iter()
            .zip(plain)
            .map(|(&i, t)| t.sum() * weight(i))
            .collect();
        let grads = Tensor::cat(sums, 0).sum().backward();
        let expected = flatten(&model, &GradientsParams::from_grads(grads, &model));
        assert_close(&shared_gradient, &expected, 1e-4, "gradient");
    }
}

#[test]
fn generation_and_training_agree_on_logprobs() {
    let model = model(true);
    let prompts = vec![tokens(1, 3), tokens(2, 11), tokens(3, 1)];
    for temperature in [0.7, 1.0, 1.3] {
        let decoding = Decoding {
            temperature,
            top_k: 5,
            top_p: 0.9,
            max_completion_length: 9,
        };
        let groups = generate(
            &model.valid(),
            &prompts,
            4,
            &decoding,
            &[7, 9],
            Seed::new(3),
        );
        for (prompt, group) in prompts.iter().zip(&groups) {
            for generated in group {
                let example = Example {
                    prompt: prompt.clone(),
                    completion: generated.tokens.iter().map(|t| t.id).collect(),
                    ..example(1, 1, 1, 1, 1.0)
                };
                let trained = batch_logprobs(&model, &[&example], temperature);
                for (token, logprob) in generated.tokens.iter().zip(trained) {
                    assert!(
                        (token.logprob - logprob).abs() < 1e-4,
                        "{} is not {logprob}",
                        token.logprob
                    );
                }
            }
        }
    }
}

#[test]
fn gradient_checkpointing_changes_no_gradient() {
    for (tied, micro_batch_size) in [(true, 0), (false, 3)] {
        let model = model(tied);
        let all = examples();
        let at = |gradient_checkpointing| {
            let config = TrainConfig {
                micro_batch_size,
                gradient_checkpointing,
                ..config(LossType::Bnpo)
            };
            loss_and_gradient(&model, &config, &all, None)
        };
        let (kept, again) = (at(false), at(true));
        assert!((kept.0 - again.0).abs() < 1e-6);
        assert_close(&again.1, &kept.1, 1e-5, "gradient");
    }
    // a prompt of one token: nothing is left of it to be shared
    let all = [example(3, 1, 11, 2, 1.0), example(3, 1, 12, 4, -1.0)];
    let at = |gradient_checkpointing| {
        loss_and_gradient(
            &model(true),
            &TrainConfig {
                gradient_checkpointing,
                ..config(LossType::Bnpo)
            },
            &all,
            None,
        )
    };
    assert_close(&at(true).1, &at(false).1, 1e-5, "gradient");
}

#[test]
fn token_loss_by_hand() {
    let device = Device::flex().autodiff();
    let vector =
        |v: &[f32]| Tensor::<1>::from_data(TensorData::new(v.to_vec(), [v.len()]), &device);
    let ln = |x: f32| x.ln();
    // ratios 1, 1.5, 0.5, 1.5, 0.5; advantages of both signs
    let logp = vector(&[0.0, ln(1.5), ln(0.5), ln(1.5), ln(0.5)]).require_grad();
    let advantage = vector(&[2.0, 2.0, 2.0, -2.0, -2.0]);
    let loss = token_loss(
        logp.clone(),
        vector(&[0.0; 5]),
        None,
        advantage,
        &config(LossType::Bnpo),
    );
    assert_close(
        &values(loss.clone().inner()),
        &[-2.0, -2.56, -1.0, 3.0, 1.6],
        1e-5,
        "loss",
    );
    let gradient = logp.grad(&loss.sum().backward()).unwrap();
    // clipped where the ratio is high and the advantage positive, or low and negative
    assert_close(
        &values(gradient),
        &[-2.0, 0.0, -1.0, 3.0, 0.0],
        1e-5,
        "gradient",
    );
}

#[test]
fn kl_is_k3_and_has_a_gradient() {
    let device = Device::flex().autodiff();
    let one = |x: f32| Tensor::<1>::from_data(TensorData::new(vec![x], [1]), &device);
    let config = TrainConfig {
        beta: 0.5,
        ..config(LossType::Bnpo)
    };
    let logp = one(-1.0).require_grad();
    let loss = token_loss(logp.clone(), one(-1.0), Some(one(-0.5)), one(0.0), &config);
    let gap = 0.5f32;
    assert!((loss.clone().into_scalar::<f32>() - 0.5 * (gap.exp() - gap - 1.0)).abs() < 1e-6);
    let gradient = values(logp.grad(&loss.backward()).unwrap())[0];
    assert!(
        (gradient - 0.5 * (1.0 - gap.exp())).abs() < 1e-6,
        "{gradient}"
    );
}

#[test]
fn far_ratios_stay_finite() {
    let device = Device::flex().autodiff();
    let vector =
        |v: &[f32]| Tensor::<1>::from_data(TensorData::new(v.to_vec(), [v.len()]), &device);
    let config = TrainConfig {
        beta: 0.1,
        ..config(LossType::Bnpo)
    };
    let logp = vector(&[0.0, -200.0, 0.0, -200.0]).require_grad();
    let old = vector(&[-200.0, 0.0, -200.0, 0.0]);
    let loss = token_loss(
        logp.clone(),
        old.clone(),
        Some(old),
        vector(&[1.0, 1.0, -1.0, -1.0]),
        &config,
    );
    assert!(values(loss.clone().inner()).iter().all(|l| l.is_finite()));
    assert!(
        values(logp.grad(&loss.sum().backward()).unwrap())
            .iter()
            .all(|g| g.is_finite())
    );
}

#[test]
fn gradients_match_finite_differences_for_every_loss_type() {
    let model = model(true);
    let all = examples();
    let refs: Vec<&Example> = all.iter().collect();
    for (loss_type, beta) in LOSS_TYPES.into_iter().flat_map(|l| [(l, 0.0), (l, 0.2)]) {
        let config = TrainConfig {
            beta,
            epsilon: 0.05,
            epsilon_high: 0.07,
            micro_batch_size: 3,
            ..config(loss_type)
        };
        // old log-probs off by up to 0.09: ratios differ from 1, some are clipped, none is on the kink
        let mut old = vec![Vec::new(); all.len()];
        for (i, example) in refs.iter().enumerate() {
            let logp = batch_logprobs(&model, &[example], 1.0);
            old[i] = logp
                .iter()
                .enumerate()
                .map(|(t, l)| l + 0.05 * ((t + i) % 4) as f32 - 0.09)
                .collect();
        }
        let (_, gradient) = loss_and_gradient(&model, &config, &all, Some(&old));
        let squared: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum();
        let at = |step: f64| {
            loss_and_gradient(&shifted(&model, &gradient, step), &config, &all, Some(&old)).0
        };
        let step = 5e-4 / squared.sqrt();
        let slope = (at(step) - at(-step)) / (2.0 * step);
        assert!(
            (slope / squared - 1.0).abs() < 0.02,
            "{loss_type:?} {beta}: slope {slope}, squared norm {squared}"
        );
    }
}

#[test]
fn loss_of_every_type_by_hand() {
    // one step a round: every ratio is 1, so the loss is minus the weighted sum of advantages
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

#[test]
fn padding_is_never_looked_at() {
    // rows are filled up with tokens of their own, so an embedding that no example has may even be
    // NaN; the head is another matrix in an untied model
    let model = model(false);
    let all = examples();
    let mut poisoned = model.clone();
    poisoned.embed_tokens = poisoned.embed_tokens.map(|table| {
        let [_, hidden] = table.dims();
        let garbage = Tensor::full([1, hidden], f32::NAN, &table.device().inner());
        table
            .inner()
            .slice_assign([0..1, 0..hidden], garbage)
            .autodiff()
            .require_grad()
    });
    let clean = loss_and_gradient(&model, &config(LossType::Bnpo), &all, None);
    let dirty = loss_and_gradient(&poisoned, &config(LossType::Bnpo), &all, None);
    assert_eq!(clean, dirty, "bit for bit");
}
