//! How far two copies of a model on two devices agree: logits, greedy tokens, and one update.

use super::{Decoding, Example, Optimizer, TrainConfig, Update, UpdateStats, generate};
use crate::model::Decoder;
use crate::seed::Seed;

/// What the two computed. Each pair has the first device's number first.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Largest difference of two logits.
    pub logits: f32,
    /// Greedy tokens generated, and how many of them are the same.
    pub greedy: (usize, usize),
    /// Loss of one update.
    pub loss: [f64; 2],
    /// Norm of its gradient.
    pub grad_norm: [f64; 2],
}

impl Agreement {
    /// Compares models that should be the same, on autodiff devices, over prompts.
    pub fn of(models: [Decoder; 2], prompts: &[Vec<u32>], config: &TrainConfig) -> Self {
        let plain = models.each_ref().map(Decoder::inference);
        let logits = plain.each_ref().map(|model| {
            prompts
                .iter()
                .flat_map(|p| logits(model, p))
                .collect::<Vec<f32>>()
        });
        let differences = logits[0].iter().zip(&logits[1]).map(|(a, b)| (a - b).abs());
        let decoding = Decoding {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            max_completion_length: 16,
        };
        let greedy = plain
            .each_ref()
            .map(|model| ids(model, prompts, 1, &decoding).concat());
        let same = greedy[0]
            .iter()
            .zip(&greedy[1])
            .filter(|(a, b)| a == b)
            .count();
        let warm = Decoding {
            temperature: 1.0,
            ..decoding
        };
        let completions = ids(&plain[0], prompts, 4, &warm);
        let examples: Vec<Example> = completions
            .into_iter()
            .enumerate()
            .map(|(row, completion)| Example {
                prompt: prompts[row / 4].clone(),
                completion,
                advantage: [1.0, -0.5, -1.0, 0.75][row % 4],
                truncated: false,
                foreign: false,
            })
            .collect();
        let [a, b] = models.map(|model| update(model, &examples, config));
        let pair = |of: fn(&UpdateStats) -> Option<f64>| {
            [&a, &b].map(|stats| of(stats).unwrap_or(f64::NAN))
        };
        Self {
            logits: differences.fold(0.0, f32::max),
            greedy: (greedy[0].len().max(greedy[1].len()), same),
            loss: pair(|stats| stats.loss),
            grad_norm: pair(|stats| stats.grad_norm),
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

fn update(model: Decoder, examples: &[Example], config: &TrainConfig) -> UpdateStats {
    let update = Update {
        config,
        temperature: 1.0,
        max_completion_length: 16,
        reference: None,
        seed: Seed::new(1),
    };
    update
        .run(model, &mut Optimizer::new(config.optimizer()), examples)
        .1
}
