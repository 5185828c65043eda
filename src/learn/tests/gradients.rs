//! Log-probs and gradients against direct computations and finite differences.

use super::*;
use crate::learn::backward::Backward;
use crate::learn::config::ImportanceSampling;
use crate::rollout::AuthorLogprobs;

#[test]
fn shared_prompts_give_the_logprobs_and_gradients_of_whole_rows() {
    for tied in [true, false] {
        let model = model(tied);
        let all = examples();
        let refs: Vec<&Example> = all.iter().collect();
        let batch = Batch::new(&refs);
        let owners = batch.owners();
        let upstream = |i: usize| 0.3 + 0.1 * i as f32;

        let mut gradients = GradientsAccumulator::new();
        let mut shared = Vec::new();
        let backward = Backward {
            model: &model,
            batch: &batch,
            temperature: 1.0,
            checkpointing: false,
        };
        backward.run(&mut gradients, |owner, tokens, logprobs| {
            assert_eq!(tokens.len(), logprobs.len());
            shared.extend_from_slice(logprobs);
            vec![upstream(owner); logprobs.len()]
        });
        let shared_gradient = flatten(&model, &gradients.grads());

        let mut order: Vec<usize> = owners;
        order.dedup();
        let direct: Vec<Tensor<1>> = order
            .iter()
            .map(|&i| direct_logprobs(&model, &all[i], 1.0))
            .collect();
        let expected: Vec<f32> = direct
            .iter()
            .flat_map(|t| values(t.clone().inner()))
            .collect();
        for (a, b) in shared.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
        let sums = order
            .iter()
            .zip(direct)
            .map(|(&i, t)| t.sum() * upstream(i))
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

/// Log-probs before the update that are off by up to 0.2: with the clipping of [`clipping`] some ratios are
/// clipped, and none is near the kink.
fn old_logprobs(model: &Decoder, examples: &[Example]) -> Vec<Vec<f32>> {
    let of = |(i, example): (usize, &Example)| {
        let now = batch_logprobs(model, &[example], 1.0);
        let off = |t: usize| [-0.2, -0.02, 0.02, 0.2][(t + i) % 4];
        now.iter().enumerate().map(|(t, l)| l + off(t)).collect()
    };
    examples.iter().enumerate().map(of).collect()
}

fn clipping(loss_type: LossType, beta: f64) -> TrainConfig {
    TrainConfig {
        beta,
        epsilon: 0.1,
        epsilon_high: 0.1,
        micro_batch_size: 3,
        ..config(loss_type)
    }
}

/// The slope of the loss along a direction of length 1, by finite differences.
fn slope(
    model: &Decoder,
    config: &TrainConfig,
    (all, old): (&[Example], &[Vec<f32>]),
    direction: &[f32],
) -> f64 {
    const STEP: f64 = 4e-3;
    let at =
        |step: f64| loss_and_gradient(&shifted(model, direction, step), config, all, Some(old)).0;
    (at(STEP) - at(-STEP)) / (2.0 * STEP)
}

/// A random direction of length 1 that moves the parameters in `range` alone.
fn direction(seed: u64, parameters: usize, range: &Range<usize>) -> Vec<f32> {
    let mut rng = Seed::new(seed).rng();
    let numbers: Vec<f64> = range.clone().map(|_| rng.normal()).collect();
    let length = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut all = vec![0.0; parameters];
    for (to, x) in all[range.clone()].iter_mut().zip(numbers) {
        *to = (x / length) as f32;
    }
    all
}

/// The slopes along random directions within `range` are those that the gradient says.
fn check_slopes(
    model: &Decoder,
    config: &TrainConfig,
    gradient: &[f32],
    batch: (&[Example], &[Vec<f32>]),
    range: &Range<usize>,
    what: &str,
) {
    let (mut error, mut size) = (0.0, 0.0);
    for seed in 0..3 {
        let direction = direction(seed, gradient.len(), range);
        let products = gradient.iter().zip(&direction);
        let expected: f64 = products.map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let found = slope(model, config, batch, &direction);
        error += (found - expected).powi(2);
        size += found.powi(2);
    }
    let error = (error / size).sqrt();
    assert!(error < 0.03, "{what}: {error} of the slopes is wrong");
}

#[test]
fn gradients_match_finite_differences_for_every_loss_type() {
    let model = model(true);
    let all = examples();
    for (loss_type, beta) in LOSS_TYPES.into_iter().flat_map(|l| [(l, 0.0), (l, 0.2)]) {
        let config = clipping(loss_type, beta);
        let old = old_logprobs(&model, &all);
        let (_, gradient) = loss_and_gradient(&model, &config, &all, Some(&old));
        let length = gradient
            .iter()
            .map(|g| f64::from(*g).powi(2))
            .sum::<f64>()
            .sqrt();
        let along: Vec<f32> = gradient
            .iter()
            .map(|g| (f64::from(*g) / length) as f32)
            .collect();
        let found = slope(&model, &config, (&all, &old), &along);
        assert!(
            (found / length - 1.0).abs() < 0.01,
            "{loss_type:?} {beta}: slope {found}, length of the gradient {length}"
        );
        let what = format!("{loss_type:?} {beta}");
        let range = 0..gradient.len();
        check_slopes(&model, &config, &gradient, (&all, &old), &range, &what);
    }
}

/// The same, half of it by authors whose log-probs differ from the learner's: some weights are cut, and a failure that
/// lies too far is left out.
fn of_others(old: &[Vec<f32>]) -> Vec<Example> {
    let mut all = examples();
    for (i, example) in all.iter_mut().enumerate().skip(1) {
        let off = |t: usize| [-0.9, 0.4, -0.1, 1.5][(t + i) % 4];
        let logprobs: Vec<f32> = (0..).zip(&old[i]).map(|(t, own)| own + off(t)).collect();
        example.foreign = true;
        example.author = match i {
            3 => AuthorLogprobs::Untold,
            4 => AuthorLogprobs::Sequence(logprobs.iter().sum()),
            _ => AuthorLogprobs::Token {
                tokenizer: 0,
                logprobs,
            },
        };
    }
    all
}

#[test]
fn gradients_match_finite_differences_with_importance_weights() {
    let model = model(true);
    let old = old_logprobs(&model, &examples());
    let all = of_others(&old);
    let plain = clipping(LossType::Bnpo, 0.2);
    let mut seen = vec![loss_and_gradient(&model, &plain, &all, Some(&old)).1];
    for (importance_sampling, foreign_max_kl) in [
        (ImportanceSampling::TokenTruncate, None),
        (ImportanceSampling::SequenceTruncate, None),
        (ImportanceSampling::TokenTruncate, Some(0.5)),
        (ImportanceSampling::None, Some(0.5)),
    ] {
        let config = TrainConfig {
            importance_sampling,
            foreign_max_kl,
            ..plain.clone()
        };
        let (_, gradient) = loss_and_gradient(&model, &config, &all, Some(&old));
        let what = format!("{importance_sampling:?} {foreign_max_kl:?}");
        let range = 0..gradient.len();
        check_slopes(&model, &config, &gradient, (&all, &old), &range, &what);
        assert!(!seen.contains(&gradient), "{what} changes the gradient");
        seen.push(gradient);
        // own examples alone are not touched
        let own = examples();
        let untouched = loss_and_gradient(&model, &config, &own, Some(&old));
        assert_eq!(
            untouched,
            loss_and_gradient(&model, &plain, &own, Some(&old)),
            "{what}"
        );
    }
}

#[test]
fn the_gradient_of_every_parameter_matches_finite_differences() {
    for (kind, tied) in [("qwen2", true), ("qwen2", false), ("qwen3", false)] {
        let fresh = model_of(kind, tied);
        // biases that are not 0 and norms that are not 1
        let drift: Vec<f32> = visit_order(&fresh)
            .iter()
            .map(|w| (w * 1e3 + 1.0).sin())
            .collect();
        let model = shifted(&fresh, &drift, 0.1);
        let (config, all) = (clipping(LossType::Bnpo, 0.2), examples());
        let old = old_logprobs(&model, &all);
        let (_, gradient) = loss_and_gradient(&model, &config, &all, Some(&old));
        let parameters = parameters(&model);
        let per_layer = if kind == "qwen2" { 12 } else { 11 };
        assert_eq!(parameters.len(), 2 * per_layer + if tied { 2 } else { 3 });
        for (name, range) in parameters {
            let what = format!("{kind}, tied {tied}: {name}");
            check_slopes(&model, &config, &gradient, (&all, &old), &range, &what);
        }
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
