//! Gradients and log-probs of the update against plain computations.

use super::backward::backpropagate;
use super::batch::{Batch, Example};
use super::grpo::{LossType, TrainConfig, Update, token_loss};
use super::{Decoding, Optimizer, OptimizerConfig, generate, head};
use crate::model::{Decoder, ModelConfig, padded_tokens, weights};
use crate::rollout::ScaleRewards;
use crate::seed::Seed;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};

const VOCAB: u32 = 32;

fn model(tied: bool) -> Decoder {
    let config: ModelConfig = serde_json::from_value(serde_json::json!({
        "model_type": "qwen2", "vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": tied, "max_position_embeddings": 64
    }))
    .unwrap();
    weights::random(&config, Seed::new(5), &Device::flex().autodiff())
}

/// A frozen policy that differs a little from `model(true)`.
fn other_model() -> Decoder {
    let model = model(true).valid();
    let drift: Vec<f32> = flatten_weights(&model).iter().map(|w| (w * 1e3).sin()).collect();
    shifted(&model, &drift, 0.02).valid()
}

fn tokens(seed: u64, len: usize) -> Vec<u32> {
    let mut rng = Seed::new(seed).rng();
    (0..len).map(|_| 1 + rng.below(u64::from(VOCAB) - 1) as u32).collect()
}

fn example(prompt: u64, prompt_len: usize, completion: u64, len: usize, advantage: f64) -> Example {
    Example {
        prompt: tokens(prompt, prompt_len),
        completion: tokens(completion, len),
        advantage,
        truncated: false,
        foreign: false,
    }
}

/// Two prompts of unequal length with completions of unequal length, some without advantage.
fn examples() -> Vec<Example> {
    vec![
        example(1, 3, 11, 2, 1.5),
        example(1, 3, 12, 8, -0.5),
        example(1, 3, 13, 5, 0.0),
        example(2, 11, 14, 4, 0.7),
        example(2, 11, 15, 1, -1.2),
        example(3, 6, 16, 3, 0.0),
        example(3, 6, 17, 7, 0.0),
        example(2, 11, 18, 6, 2.0),
    ]
}

fn config(loss_type: LossType) -> TrainConfig {
    TrainConfig {
        learning_rate: 1e-2,
        epsilon: 0.2,
        epsilon_high: 0.28,
        beta: 0.0,
        loss_type,
        scale_rewards: ScaleRewards::Group,
        num_iterations: 1,
        minibatch_size: 0,
        micro_batch_size: 0,
        mask_truncated_completions: false,
        max_grad_norm: 0.0,
        adam_beta1: 0.9,
        adam_beta2: 0.999,
        adam_epsilon: 1e-8,
        warmup_steps: 0,
    }
}

const LOSS_TYPES: [LossType; 4] = [LossType::Bnpo, LossType::Grpo, LossType::DrGrpo, LossType::Dapo];

fn update(config: &TrainConfig) -> Update<'_> {
    Update { config, temperature: 1.0, max_completion_length: 10, reference: None, seed: Seed::new(1) }
}

/// Every number of a gradient, by parameter.
fn flatten(model: &Decoder, gradients: &GradientsParams) -> Vec<f32> {
    struct Flat<'a>(&'a GradientsParams, Vec<f32>);
    impl ModuleVisitor for Flat<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(param.id).expect("every parameter has a gradient");
            self.1.extend(gradient.into_data().try_into_vec::<f32>().unwrap());
        }
    }
    let mut flat = Flat(gradients, Vec::new());
    model.visit(&mut flat);
    flat.1
}

fn assert_close(a: &[f32], b: &[f32], relative: f32, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = b.iter().fold(0f32, |m, x| m.max(x.abs()));
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= relative * scale, "{what}: entry {i}: {x} is not {y} (largest {scale})");
    }
}

/// Log-probs of one completion, computed the plain way: prompt and completion in one row.
fn plain_logprobs(model: &Decoder, example: &Example, temperature: f64) -> Tensor<1> {
    let row: Vec<u32> = example.prompt.iter().chain(&example.completion).copied().collect();
    let device = model.device();
    let tokens = padded_tokens(&[&row], row.len(), &device);
    let logits = model.forward(tokens, &[0], &mut model.cache(None, 1, 0));
    let (from, len) = (example.prompt.len() - 1, example.completion.len());
    let logits = logits.slice([0..1, from..from + len, 0..VOCAB as usize]).reshape([len, VOCAB as usize]);
    let targets: Vec<i32> = example.completion.iter().map(|&t| t as i32).collect();
    let targets = Tensor::<2, Int>::from_data(TensorData::new(targets, [len, 1]), &device);
    log_softmax(logits / temperature, 1).gather(1, targets).reshape([len])
}

fn values(tensor: Tensor<1>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

fn batch_logprobs(model: &Decoder, examples: &[&Example], temperature: f64) -> Vec<f32> {
    let batch = Batch::new(examples);
    head::logprobs(model, batch.hidden(model), &batch.targets(), temperature)
}

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
        backpropagate(&model, &batch, 1.0, &mut gradients, |range, logp| {
            shared.extend(values(logp.clone()));
            let upstream: Vec<f32> = owners[range].iter().map(|&i| weight(i)).collect();
            let len = upstream.len();
            Tensor::from_data(TensorData::new(upstream, [len]), &logp.device())
        });
        let shared_gradient = flatten(&model, &gradients.grads());

        let mut order: Vec<usize> = owners;
        order.dedup();
        let plain: Vec<Tensor<1>> = order.iter().map(|&i| plain_logprobs(&model, &all[i], 1.0)).collect();
        let expected: Vec<f32> = plain.iter().flat_map(|t| values(t.clone().inner())).collect();
        for (a, b) in shared.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-4, "{a} is not {b}");
        }
        let sums = order.iter().zip(plain).map(|(&i, t)| t.sum() * weight(i)).collect();
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
        let decoding = Decoding { temperature, top_k: 5, top_p: 0.9, max_completion_length: 9 };
        let groups = generate(&model.valid(), &prompts, 4, &decoding, &[7, 9], Seed::new(3));
        for (prompt, group) in prompts.iter().zip(&groups) {
            for generated in group {
                let example = Example {
                    prompt: prompt.clone(),
                    completion: generated.tokens.iter().map(|t| t.id).collect(),
                    ..example(1, 1, 1, 1, 1.0)
                };
                let trained = batch_logprobs(&model, &[&example], temperature);
                for (token, logprob) in generated.tokens.iter().zip(trained) {
                    assert!((token.logprob - logprob).abs() < 1e-4, "{} is not {logprob}", token.logprob);
                }
            }
        }
    }
}

#[test]
fn token_loss_by_hand() {
    let device = Device::flex().autodiff();
    let vector = |v: &[f32]| Tensor::<1>::from_data(TensorData::new(v.to_vec(), [v.len()]), &device);
    let ln = |x: f32| x.ln();
    // ratios 1, 1.5, 0.5, 1.5, 0.5; advantages of both signs
    let logp = vector(&[0.0, ln(1.5), ln(0.5), ln(1.5), ln(0.5)]).require_grad();
    let advantage = vector(&[2.0, 2.0, 2.0, -2.0, -2.0]);
    let loss = token_loss(logp.clone(), vector(&[0.0; 5]), None, advantage, &config(LossType::Bnpo));
    assert_close(&values(loss.clone().inner()), &[-2.0, -2.56, -1.0, 3.0, 1.6], 1e-5, "loss");
    let gradient = logp.grad(&loss.sum().backward()).unwrap();
    // clipped where the ratio is high and the advantage positive, or low and negative
    assert_close(&values(gradient), &[-2.0, 0.0, -1.0, 3.0, 0.0], 1e-5, "gradient");
}

#[test]
fn kl_is_k3_and_has_a_gradient() {
    let device = Device::flex().autodiff();
    let one = |x: f32| Tensor::<1>::from_data(TensorData::new(vec![x], [1]), &device);
    let config = TrainConfig { beta: 0.5, ..config(LossType::Bnpo) };
    let logp = one(-1.0).require_grad();
    let loss = token_loss(logp.clone(), one(-1.0), Some(one(-0.5)), one(0.0), &config);
    let gap = 0.5f32;
    assert!((loss.clone().into_scalar::<f32>() - 0.5 * (gap.exp() - gap - 1.0)).abs() < 1e-6);
    let gradient = values(logp.grad(&loss.backward()).unwrap())[0];
    assert!((gradient - 0.5 * (1.0 - gap.exp())).abs() < 1e-6, "{gradient}");
}

#[test]
fn far_ratios_stay_finite() {
    let device = Device::flex().autodiff();
    let vector = |v: &[f32]| Tensor::<1>::from_data(TensorData::new(v.to_vec(), [v.len()]), &device);
    let config = TrainConfig { beta: 0.1, ..config(LossType::Bnpo) };
    let logp = vector(&[0.0, -200.0, 0.0, -200.0]).require_grad();
    let old = vector(&[-200.0, 0.0, -200.0, 0.0]);
    let loss = token_loss(logp.clone(), old.clone(), Some(old), vector(&[1.0, 1.0, -1.0, -1.0]), &config);
    assert!(values(loss.clone().inner()).iter().all(|l| l.is_finite()));
    assert!(values(logp.grad(&loss.sum().backward()).unwrap()).iter().all(|g| g.is_finite()));
}

/// The loss of a whole update and its gradient, without a step.
fn loss_and_gradient(
    model: &Decoder,
    config: &TrainConfig,
    all: &[Example],
    old: Option<&[Vec<f32>]>,
) -> (f64, Vec<f32>) {
    let refs: Vec<&Example> = all.iter().collect();
    let reference = other_model();
    let update = Update { reference: Some(&reference), ..update(config) };
    let (loss, gradients) = update.probe(model, &refs, old);
    (loss, flatten(model, &gradients))
}

#[test]
fn gradients_match_finite_differences_for_every_loss_type() {
    let model = model(true);
    let all = examples();
    let refs: Vec<&Example> = all.iter().collect();
    for (loss_type, beta) in LOSS_TYPES.into_iter().flat_map(|l| [(l, 0.0), (l, 0.2)]) {
        let config = TrainConfig { beta, epsilon: 0.05, epsilon_high: 0.07, micro_batch_size: 3, ..config(loss_type) };
        // old log-probs off by up to 0.09: ratios differ from 1, some are clipped, none is on the kink
        let mut old = vec![Vec::new(); all.len()];
        for (i, example) in refs.iter().enumerate() {
            let logp = batch_logprobs(&model, &[example], 1.0);
            old[i] = logp.iter().enumerate().map(|(t, l)| l + 0.05 * ((t + i) % 4) as f32 - 0.09).collect();
        }
        let (_, gradient) = loss_and_gradient(&model, &config, &all, Some(&old));
        let squared: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum();
        let at = |step: f64| loss_and_gradient(&shifted(&model, &gradient, step), &config, &all, Some(&old)).0;
        let step = 5e-4 / squared.sqrt();
        let slope = (at(step) - at(-step)) / (2.0 * step);
        assert!((slope / squared - 1.0).abs() < 0.02, "{loss_type:?} {beta}: slope {slope}, squared norm {squared}");
    }
}

/// The model moved along a direction.
fn shifted(model: &Decoder, direction: &[f32], step: f64) -> Decoder {
    struct Shift<'a>(&'a [f32], f64);
    impl burn::module::ModuleMapper for Shift<'_> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let count = param.val().shape().num_elements();
            let (own, rest) = self.0.split_at(count);
            self.0 = rest;
            let step = self.1;
            param.map(|t| {
                let own = TensorData::new(own.to_vec(), t.dims());
                let plain = t.inner();
                let moved = plain.clone() + Tensor::from_data(own, &plain.device()) * step;
                moved.autodiff().require_grad()
            })
        }
    }
    model.clone().map(&mut Shift(direction, step))
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
        assert!((loss - expected).abs() < 1e-6, "{loss_type:?}: {loss} is not {expected}");
    }
}

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
            let parts = loss_and_gradient(&model, &TrainConfig { micro_batch_size, ..config(loss_type) }, &all, None);
            assert!((parts.0 - whole.0).abs() < 1e-6, "{loss_type:?} {micro_batch_size}");
            assert_close(&parts.1, &whole.1, 1e-5, "gradient");
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
        table.inner().slice_assign([0..1, 0..hidden], garbage).autodiff().require_grad()
    });
    let clean = loss_and_gradient(&model, &config(LossType::Bnpo), &all, None);
    let dirty = loss_and_gradient(&poisoned, &config(LossType::Bnpo), &all, None);
    assert_eq!(clean, dirty, "bit for bit");
}

#[test]
fn cut_off_completions_can_be_masked() {
    let masked = TrainConfig { mask_truncated_completions: true, ..config(LossType::Bnpo) };
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
    assert_eq!((none.steps, none.loss, none.grad_norm), (0, None, None), "nothing to learn, and no NaN");
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
        let update = Update { reference: Some(&reference), ..update(&config) };
        let (after, stats) = update.run(start, &mut Optimizer::new(config.optimizer()), &examples());
        assert_eq!(stats.steps, 6, "three minibatches twice");
        assert!(stats.clip_ratio.unwrap() > 0.0 && stats.kl.unwrap() > 0.0, "{stats:?}");
        assert_eq!(flatten_weights(&reference), before, "the frozen copy stays as it was");
        assert_ne!(flatten_weights(&after.valid()), before);
    }
}

#[test]
fn clip_ratio_counts_every_token_of_the_training_set() {
    // both steps see the same two completions; after the first, large one, the second is clipped
    let config = TrainConfig { num_iterations: 2, learning_rate: 0.05, ..config(LossType::Bnpo) };
    let signal = [example(1, 3, 11, 4, 1.0), example(1, 3, 12, 4, -1.0)];
    let run = |examples: &[Example]| {
        update(&config).run(model(true), &mut Optimizer::new(config.optimizer()), examples).1.clip_ratio.unwrap()
    };
    let alone = run(&signal);
    assert!(alone > 0.0, "{alone}");
    let diluted = run(&[&signal[..], &[example(2, 5, 13, 8, 0.0)]].concat());
    assert!((diluted - alone / 2.0).abs() < 1e-9, "{diluted} is not half of {alone}");
}

#[test]
fn without_any_signal_nothing_moves() {
    let mut all = examples();
    all.iter_mut().for_each(|e| e.advantage = 0.0);
    let config = TrainConfig { num_iterations: 2, minibatch_size: 3, ..config(LossType::Grpo) };
    let start = model(true);
    let before = flatten_weights(&start.valid());
    let (after, stats) = update(&config).run(start, &mut Optimizer::new(config.optimizer()), &all);
    assert_eq!(flatten_weights(&after.valid()), before);
    assert_eq!((stats.steps, stats.loss, stats.grad_norm, stats.clip_ratio), (0, None, None, Some(0.0)));
}

#[test]
fn kl_is_zero_at_the_start_and_counts_the_raw_gap() {
    let config = TrainConfig { beta: 0.1, ..config(LossType::Bnpo) };
    let run = |reference: &Decoder| {
        let update = Update { reference: Some(reference), ..update(&config) };
        update.run(model(true), &mut Optimizer::new(config.optimizer()), &examples()).1.kl.unwrap()
    };
    assert!(run(&model(true).valid()).abs() < 1e-9);
    assert!(run(&other_model()) > 1e-4);
}

#[test]
fn steps_follow_adam_warm_up_and_the_clip() {
    // with a gradient that stays the same, Adam's step is the learning rate times its sign
    let config = OptimizerConfig { warmup_steps: 4, learning_rate: 1e-3, ..config(LossType::Bnpo).optimizer() };
    let mut optimizer = Optimizer::new(config.clone());
    let mut model = model(false);
    let direction: Vec<f32> =
        flatten_weights(&model.valid()).iter().map(|w| if *w > 0.0 { 1e-3 } else { -1e-3 }).collect();
    for rate in [0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3] {
        assert!((optimizer.learning_rate() - rate).abs() < 1e-12);
        let before = visit_order(&model);
        let gradients = constant_gradient(&model, &direction);
        let (moved, norm) = optimizer.step(model, gradients);
        let expected = 1e-3 * (direction.len() as f64).sqrt();
        assert!((norm / expected - 1.0).abs() < 1e-4, "{norm} is not {expected}");
        model = moved;
        for ((a, b), g) in before.iter().zip(visit_order(&model)).zip(&direction) {
            assert!((f64::from(a - b) - rate * f64::from(g.signum())).abs() < 2e-6, "{a} to {b} at {rate}");
        }
    }
    let limited = OptimizerConfig { max_grad_norm: 0.5, warmup_steps: 0, adam_beta1: 0.0, adam_epsilon: 1.0, ..config };
    let size = |limit: f64| {
        let mut optimizer = Optimizer::new(OptimizerConfig { max_grad_norm: limit, ..limited.clone() });
        let before = visit_order(&model);
        let (moved, _) = optimizer.step(model.clone(), constant_gradient(&model, &direction));
        let squares = before.iter().zip(visit_order(&moved)).map(|(a, b)| f64::from(a - b).powi(2));
        squares.sum::<f64>().sqrt()
    };
    // with epsilon far above the gradient, the step is in proportion to it
    let norm = 1e-3 * (direction.len() as f64).sqrt();
    assert!((size(norm / 2.0) / size(0.0) - 0.5).abs() < 0.01 && (size(norm * 2.0) / size(0.0) - 1.0).abs() < 1e-3);
}

/// A gradient with these entries, in the order of the module's parameters.
fn constant_gradient(model: &Decoder, entries: &[f32]) -> GradientsParams {
    struct Fill<'a>(&'a [f32], GradientsParams);
    impl ModuleVisitor for Fill<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let shape = param.val().dims();
            let (own, rest) = self.0.split_at(shape.iter().product());
            self.0 = rest;
            let data = TensorData::new(own.to_vec(), shape);
            self.1.register(param.id, Tensor::<D>::from_data(data, &param.val().device().inner()));
        }
    }
    let mut fill = Fill(entries, GradientsParams::new());
    model.visit(&mut fill);
    fill.1
}

/// All weights in the order of the module's parameters.
fn visit_order(model: &Decoder) -> Vec<f32> {
    struct Values(Vec<f32>);
    impl ModuleVisitor for Values {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.extend(param.val().into_data().try_into_vec::<f32>().unwrap());
        }
    }
    let mut values = Values(Vec::new());
    model.visit(&mut values);
    values.0
}

fn flatten_weights(model: &Decoder) -> Vec<f32> {
    weights::tensors(model).into_iter().flat_map(|(_, _, values)| values).collect()
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
    let config = TrainConfig { learning_rate: 1e-2, max_grad_norm: 1.0, ..config(LossType::Bnpo) };
    let only = [example(1, 4, 12, 6, 1.0)];
    let mut optimizer = Optimizer::new(config.optimizer());
    let mut model = model(true);
    for _ in 0..60 {
        model = update(&config).run(model, &mut optimizer, &only).0;
    }
    let greedy = Decoding { temperature: 0.0, top_k: 0, top_p: 1.0, max_completion_length: 6 };
    let generated = generate(&model.valid(), &[only[0].prompt.clone()], 1, &greedy, &[0], Seed::new(1));
    let ids: Vec<u32> = generated[0][0].tokens.iter().map(|t| t.id).collect();
    assert_eq!(ids, only[0].completion);
}
