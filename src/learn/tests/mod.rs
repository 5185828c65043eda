//! The update against direct computations: what the tests of gradients and of whole updates share.

mod gradients;
mod losses;
mod optimizers;
mod parities;
mod updates;

use super::batch::{Batch, Example};
use super::head;
use super::reduction::{Round, token_scales};
use super::update::Minibatch;
use super::{
    Decoding, LossType, Optim, Optimizer, OptimizerConfig, Parity, TrainConfig, Update,
    UpdateStats, generate,
};
use crate::kernels::tests::with_generic;
use crate::model::{Decoder, ModelConfig, weights};
use crate::seed::Seed;
use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::collections::HashMap;
use std::ops::Range;

const VOCAB: u32 = 32;

fn model(tied: bool) -> Decoder {
    model_of("qwen2", tied)
}

fn model_of(kind: &str, tied: bool) -> Decoder {
    let config: ModelConfig = serde_json::from_value(serde_json::json!({
        "model_type": kind, "vocab_size": VOCAB, "hidden_size": 16, "intermediate_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": tied, "max_position_embeddings": 64
    }))
    .unwrap();
    weights::random(&config, Seed::new(5), &Device::flex().autodiff())
}

/// A frozen policy that differs a little from `model(true)`.
fn other_model() -> Decoder {
    let model = model(true).valid();
    let drift: Vec<f32> = flatten_weights(&model)
        .iter()
        .map(|w| (w * 1e3).sin())
        .collect();
    shifted(&model, &drift, 0.02).valid()
}

fn tokens(seed: u64, len: usize) -> Vec<u32> {
    let mut rng = Seed::new(seed).rng();
    (0..len)
        .map(|_| 1 + rng.below(u64::from(VOCAB) - 1) as u32)
        .collect()
}

fn example(prompt: u64, prompt_len: usize, completion: u64, len: usize, advantage: f64) -> Example {
    Example {
        prompt: tokens(prompt, prompt_len),
        completion: tokens(completion, len),
        advantage,
        truncated: false,
        foreign: false,
        author: crate::rollout::AuthorLogprobs::Untold,
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
        loss_type,
        max_grad_norm: 0.0,
        ..TrainConfig::default()
    }
}

const LOSS_TYPES: [LossType; 4] = [
    LossType::Bnpo,
    LossType::Grpo,
    LossType::DrGrpo,
    LossType::Dapo,
];

fn update(config: &TrainConfig) -> Update<'_> {
    Update {
        config,
        temperature: 1.0,
        max_completion_length: 10,
        reference: None,
        seed: Seed::new(1),
    }
}

/// Every number of a gradient, by parameter.
fn flatten(model: &Decoder, gradients: &GradientsParams) -> Vec<f32> {
    struct Flat<'a>(&'a GradientsParams, Vec<f32>);
    impl ModuleVisitor for Flat<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self
                .0
                .get::<D>(param.id)
                .expect("every parameter has a gradient");
            self.1
                .extend(gradient.into_data().try_into_vec::<f32>().unwrap());
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
        assert!(
            (x - y).abs() <= relative * scale,
            "{what}: entry {i}: {x} is not {y} (largest {scale})"
        );
    }
}

/// Log-probs of one completion, computed the direct way: prompt and completion in one row.
fn direct_logprobs(model: &Decoder, example: &Example, temperature: f64) -> Tensor<1> {
    let row: Vec<u32> = example
        .prompt
        .iter()
        .chain(&example.completion)
        .copied()
        .collect();
    let device = model.device();
    let logits = model.forward(&row);
    let (from, len) = (example.prompt.len() - 1, example.completion.len());
    let logits = logits.slice([from..from + len, 0..VOCAB as usize]);
    let targets: Vec<i32> = example.completion.iter().map(|&t| t as i32).collect();
    let targets = Tensor::<2, Int>::from_data(TensorData::new(targets, [len, 1]), &device);
    log_softmax(logits / temperature, 1)
        .gather(1, targets)
        .reshape([len])
}

fn values(tensor: Tensor<1>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

fn batch_logprobs(model: &Decoder, examples: &[&Example], temperature: f64) -> Vec<f32> {
    let batch = Batch::new(examples);
    head::logprobs(model, batch.hidden(model), &batch.targets(), temperature)
}

/// Loss and gradient of one minibatch of all examples, without a step.
fn probe(
    update: &Update<'_>,
    model: &Decoder,
    examples: &[&Example],
    computed: impl Fn(&Example) -> bool,
    old: Option<&[Vec<f32>]>,
) -> (f64, Vec<f32>) {
    let round = Round {
        examples,
        minibatches: 1,
        max_completion_length: update.max_completion_length,
    };
    let indices: Vec<usize> = (0..examples.len()).collect();
    let minibatch = Minibatch {
        examples,
        computed: indices
            .iter()
            .copied()
            .filter(|&i| computed(examples[i]))
            .collect(),
        scales: token_scales(update.config.loss_type, &indices, &round),
        old,
        first_pass: true,
    };
    let (gradients, metrics) = update.gradients(model, &[minibatch]);
    (metrics.loss.loss, flatten(model, &gradients))
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
    let update = Update {
        reference: Some(&reference),
        ..update(config)
    };
    let signal = |example: &Example| example.advantage != 0.0 || config.beta != 0.0;
    probe(&update, model, &refs, signal, old)
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
                let value = t.inner();
                let moved = value.clone() + Tensor::from_data(own, &value.device()) * step;
                moved.autodiff().require_grad()
            })
        }
    }
    model.clone().map(&mut Shift(direction, step))
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
            self.1.register(
                param.id,
                Tensor::<D>::from_data(data, &param.val().device().inner()),
            );
        }
    }
    let mut fill = Fill(entries, GradientsParams::new());
    model.visit(&mut fill);
    fill.1
}

/// Each parameter under Hugging Face's name, with the place of its numbers in the order of the module's
/// parameters.
fn parameters(model: &Decoder) -> Vec<(String, Range<usize>)> {
    struct Places(Vec<(ParamId, Range<usize>)>);
    impl ModuleVisitor for Places {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let start = self.0.last().map_or(0, |(_, range)| range.end);
            let count = param.val().shape().num_elements();
            self.0.push((param.id, start..start + count));
        }
    }
    let mut places = Places(Vec::new());
    model.visit(&mut places);
    let names: HashMap<ParamId, String> = weights::tensors(model)
        .into_iter()
        .map(|(name, tensor)| (tensor.id(), name))
        .collect();
    places
        .0
        .into_iter()
        .map(|(id, range)| (names[&id].clone(), range))
        .collect()
}

/// All weights in the order of the module's parameters.
fn visit_order(model: &Decoder) -> Vec<f32> {
    struct Values(Vec<f32>);
    impl ModuleVisitor for Values {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0
                .extend(param.val().into_data().try_into_vec::<f32>().unwrap());
        }
    }
    let mut values = Values(Vec::new());
    model.visit(&mut values);
    values.0
}

fn flatten_weights(model: &Decoder) -> Vec<f32> {
    weights::tensors(model)
        .into_iter()
        .flat_map(|(_, tensor)| tensor.values())
        .collect()
}
