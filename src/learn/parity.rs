//! How far two copies of a model on two devices agree: logits, greedy tokens, and whole updates.

use super::batch::Example;
use super::config::TrainConfig;
use super::decode::Decoding;
use super::generate::generate;
use super::metrics::UpdateStats;
use super::optimizer::Optimizer;
use super::update::Update;
use crate::model::{Decoder, weights};
use crate::seed::Seed;

/// Updates that are compared: the second of them uses what the optimizer remembers of the first.
const UPDATES: usize = 3;

/// What the two computed. Each pair has the first device's number first.
#[derive(Clone, Debug)]
pub struct Parity {
    /// Largest difference of two logits.
    pub logits: f32,
    /// Greedy tokens generated, and how many of them are the same.
    pub greedy: (usize, usize),
    /// Loss of the first update.
    pub loss: [f64; 2],
    /// Norm of its gradient.
    pub grad_norm: [f64; 2],
    /// How far apart the weights end, optimizer included, in proportion to how far they have moved:
    /// the norm of the difference by the norm of the move.
    pub weights: f64,
}

impl Parity {
    /// Compares models that should be the same, on autodiff devices, over prompts.
    pub fn of(models: [Decoder; 2], prompts: &[Vec<u32>], config: &TrainConfig) -> Self {
        let inference = models.each_ref().map(Decoder::inference);
        let logits = inference.each_ref().map(|model| {
            let of_prompt = |prompt: &Vec<u32>| logits(model, prompt);
            prompts.iter().flat_map(of_prompt).collect::<Vec<f32>>()
        });
        let differences = logits[0].iter().zip(&logits[1]).map(|(a, b)| (a - b).abs());
        let decoding = Decoding {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: 16,
        };
        let greedy = inference
            .each_ref()
            .map(|model| ids(model, prompts, 1, &decoding).concat());
        let pairs = greedy[0].iter().zip(&greedy[1]);
        let same = pairs.filter(|(a, b)| a == b).count();
        let examples = examples(&inference[0], prompts, &decoding);
        let before = values(&inference[0]);
        let [a, b] = models.map(|model| updated(model, &examples, config));
        let pair = |of: fn(&UpdateStats) -> Option<f64>| {
            [&a, &b].map(|(_, stats)| of(stats).unwrap_or(f64::NAN))
        };
        Self {
            logits: differences.fold(0.0, f32::max),
            greedy: (greedy[0].len().max(greedy[1].len()), same),
            loss: pair(|stats| stats.loss),
            grad_norm: pair(|stats| stats.grad_norm),
            weights: distance(&a.0, &b.0) / distance(&a.0, &before),
        }
    }
}

/// Logits after each token of a prompt.
fn logits(model: &Decoder, prompt: &[u32]) -> Vec<f32> {
    model
        .forward(prompt)
        .into_data()
        .try_into_vec()
        .expect("logits are f32")
}

/// `n` completions of each prompt.
fn ids(model: &Decoder, prompts: &[Vec<u32>], n: usize, decoding: &Decoding) -> Vec<Vec<u32>> {
    let groups = generate(model, prompts, n, decoding, &[], Seed::new(1));
    groups
        .iter()
        .flatten()
        .map(|row| row.tokens.iter().map(|token| token.id).collect())
        .collect()
}

/// Completions of the model itself with made-up advantages.
pub(super) fn examples(model: &Decoder, prompts: &[Vec<u32>], decoding: &Decoding) -> Vec<Example> {
    let warm = Decoding {
        temperature: 1.0,
        ..decoding.clone()
    };
    let example = |(row, completion): (usize, Vec<u32>)| Example {
        prompt: prompts[row / 4].clone(),
        completion,
        advantage: [1.0, -0.5, -1.0, 0.75][row % 4],
        truncated: false,
        foreign: false,
        author: crate::rollout::AuthorLogprobs::Untold,
    };
    ids(model, prompts, 4, &warm)
        .into_iter()
        .enumerate()
        .map(example)
        .collect()
}

/// The weights after some updates, and what the first of them did.
pub(super) fn updated(
    mut model: Decoder,
    examples: &[Example],
    config: &TrainConfig,
) -> (Vec<f32>, UpdateStats) {
    let update = Update {
        config,
        temperature: 1.0,
        max_completion_length: 16,
        reference: None,
        seed: Seed::new(1),
    };
    let mut optimizer = Optimizer::new(config.optimizer());
    let mut first = None;
    for _ in 0..UPDATES {
        let (moved, stats) = update.run(model, &mut optimizer, examples);
        model = moved;
        first.get_or_insert(stats);
    }
    (values(&model), first.expect("at least one update"))
}

/// All weights, one tensor after the other.
fn values(model: &Decoder) -> Vec<f32> {
    weights::tensors(model)
        .iter()
        .flat_map(|(_, tensor)| tensor.values())
        .collect()
}

/// The norm of the difference.
pub(super) fn distance(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
    squares.sum::<f64>().sqrt()
}
