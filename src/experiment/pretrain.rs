//! Making a small base model from its recipe: tokenizer, decoder, and a measurement at the end.
//!
//! The folder is written beside its place and moved there when it is whole.

use super::base_model_score::Measured;
use super::recipe::{Content, Recipe};
use crate::learn::{Example, Optim, Optimizer, OptimizerConfig, sft};
use crate::model::weights::{self, Dtype};
use crate::model::{Decoder, Device, ModelConfig};
use crate::rollout::{AuthorLogprobs, Question};
use crate::seed::{Rng, Seed};
use crate::swarm::{Split, Tasks, Workers};
use crate::task::Scoring;
use crate::task::catalog::{self, TaskConfigs};
use crate::tokenizer::{self, ChatOptions, Tokenizer};
use anyhow::{Context, Result, anyhow};
use std::path::Path;

/// Parts that a batch is computed in, side by side, prompts of about one length in each. Fixed, so that
/// the order of additions and with it every byte is the same with any number of threads.
const SHARDS: usize = 4;

/// A finished model.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What it does on questions of each split.
    pub measured: Vec<(Split, Measured)>,
    /// Parameters of the decoder.
    pub parameters: usize,
}

impl Recipe {
    /// Makes the model and writes its folder. `watch` is told the step and the loss.
    ///
    /// # Errors
    /// When a file cannot be written or the parts do not fit together.
    pub fn pretrain(
        &self,
        device: &Device,
        workers: &Workers,
        mut watch: impl FnMut(usize, f64),
    ) -> Result<Outcome> {
        let tasks = self.tasks()?;
        let seed = Seed::new(self.seed);
        let beside = self.beside()?;
        let dir = beside.path();
        self.write_tokenizer(&tasks, seed.child("tokenizer", 0), dir)?;
        let tokenizer = Tokenizer::load(dir)?;
        let eos = tokenizer.token_id(tokenizer::END_OF_TEXT);
        let eos = eos.context("the tokenizer has its end token")?;
        let config = self.model_config(tokenizer.vocab_size(), eos)?;
        let mut model = weights::random(&config, seed.child("weights", 0), device);
        let mut optimizer = Optimizer::new(self.optimizer());
        for step in 0..self.train.steps {
            optimizer.set_learning_rate(self.learning_rate(step));
            let seed = seed.child("step", step as u64);
            let examples = self.examples(&tasks, &tokenizer, eos, seed)?;
            let loss;
            (model, loss) = train_step(model, &mut optimizer, examples, workers);
            watch(step + 1, loss);
        }
        weights::save(&model, dir, |_| Dtype::F32)?;
        config.save(dir)?;
        let model = model.inference();
        let mut measured = Vec::new();
        for split in [Split::Training, Split::HeldOut] {
            measured.push((split, self.measure(&model, split, &tasks, &tokenizer, eos)?));
        }
        self.move_from(dir)?;
        Ok(Outcome {
            measured,
            parameters: config.parameters(),
        })
    }

    /// A folder beside the one to make, gone again if the making fails.
    fn beside(&self) -> Result<tempfile::TempDir> {
        let out = self.out.display();
        let made = std::fs::create_dir_all(&self.out);
        made.with_context(|| format!("{out}: cannot be made"))?;
        let make = tempfile::Builder::new()
            .prefix(".making-")
            .tempdir_in(&self.out);
        make.with_context(|| format!("{out}: cannot be written"))
    }

    fn move_from(&self, dir: &Path) -> Result<()> {
        for name in [
            "tokenizer.json",
            "tokenizer_config.json",
            "config.json",
            "model.safetensors",
        ] {
            let to = self.out.join(name);
            let moved = std::fs::rename(dir.join(name), &to);
            moved.with_context(|| format!("{}: cannot be written", to.display()))?;
        }
        Ok(())
    }

    /// Trains the tokenizer on the recipe's own text and, in equal parts, on that of every task as
    /// it is by default, so that no question is wholly foreign to it.
    fn write_tokenizer(&self, tasks: &Tasks, seed: Seed, dir: &Path) -> Result<()> {
        let mut rng = seed.child("forms", 0).rng();
        let own = |i: usize| {
            let seed = |label| seed.child(label, i as u64);
            let question = tasks.question(tasks.proportions(), Split::Training, seed("text"));
            let answer = self.answer(&question, tasks, seed("guess"), &mut rng);
            format!("{}\n{answer}", question.text)
        };
        let mut texts: Vec<String> = (0..self.tokenizer_texts / 2).map(own).collect();
        let default = |name: &&str| catalog::build(name, &TaskConfigs::default(), Scoring::Exact);
        let all: Result<Vec<_>, String> = catalog::NAMES.iter().map(default).collect();
        let all = all.map_err(|e| anyhow!(e))?;
        for i in 0..self.tokenizer_texts / 2 {
            let question = all[i % all.len()].question(seed.child("default", i as u64));
            let answer = question.answer.unwrap_or_default();
            texts.push(format!("{}\n{answer}", question.text));
        }
        tokenizer::train(&texts, self.vocab_size, dir)?;
        let config = serde_json::json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": tokenizer::END_OF_TEXT,
            "pad_token": tokenizer::END_OF_TEXT,
            "chat_template": self.chat_template,
        });
        let file = dir.join("tokenizer_config.json");
        std::fs::write(&file, serde_json::to_string_pretty(&config)? + "\n")
            .with_context(|| format!("{}: cannot be written", file.display()))
    }

    fn model_config(&self, vocab_size: usize, eos: u32) -> Result<ModelConfig> {
        let mut json = serde_json::to_value(&self.model)?;
        json["model_type"] = "qwen2".into();
        json["vocab_size"] = vocab_size.into();
        json["tie_word_embeddings"] = true.into();
        json["eos_token_id"] = eos.into();
        let config: ModelConfig = serde_json::from_value(json)?;
        config.validate(&self.out.join("config.json"))?;
        Ok(config)
    }

    fn optimizer(&self) -> OptimizerConfig {
        OptimizerConfig {
            optim: Optim::Adam,
            sgd_momentum: 0.0,
            learning_rate: self.train.learning_rate,
            adam_beta1: 0.9,
            adam_beta2: 0.98,
            adam_epsilon: 1e-8,
            max_grad_norm: self.train.max_grad_norm,
            warmup_steps: self.train.warmup_steps,
        }
    }

    fn learning_rate(&self, step: usize) -> f64 {
        let done = step as f64 / self.train.steps as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
        self.train.learning_rate * (0.1 + 0.9 * cosine)
    }

    fn examples(
        &self,
        tasks: &Tasks,
        tokenizer: &Tokenizer,
        eos: u32,
        seed: Seed,
    ) -> Result<Vec<Example>> {
        let mut rng = seed.child("forms", 0).rng();
        let mut examples = Vec::new();
        for i in 0..self.train.questions as u64 {
            let seed_of = seed.child("question", i);
            let question = tasks.question(tasks.proportions(), Split::Training, seed_of);
            let prompt = tokenizer.prompt(&ChatOptions::default(), &question.text)?;
            for j in 0..self.train.answers as u64 {
                let guess = seed.child("guess", i * 1000 + j);
                let text = self.answer(&question, tasks, guess, &mut rng);
                let mut completion = tokenizer.encode_completion(&text);
                completion.push(eos);
                examples.push(Example {
                    prompt: prompt.clone(),
                    completion,
                    advantage: 1.0,
                    truncated: false,
                    foreign: false,
                    author: AuthorLogprobs::Untold,
                });
            }
        }
        Ok(examples)
    }

    /// An answer in one of the forms, by their proportions.
    fn answer(&self, question: &Question, tasks: &Tasks, guess: Seed, rng: &mut Rng) -> String {
        let sum: f64 = self.forms.iter().map(|form| form.proportion).sum();
        let mut left = rng.uniform() * sum;
        let chosen = self.forms.iter().find(|form| {
            left -= form.proportion;
            left < 0.0
        });
        let form = chosen.unwrap_or(&self.forms[0]);
        let other = || {
            let seed = |i| guess.child("other", i);
            let mut others =
                (0..).map(|i| tasks.question(tasks.proportions(), Split::Training, seed(i)));
            let other = others.find(|other| other.task == question.task);
            other.and_then(|other| right_answer(&other))
        };
        let answer = match form.content {
            Content::Right => right_answer(question),
            Content::Guess => other(),
            Content::None => None,
        };
        form.text.replace("{answer}", &answer.unwrap_or_default())
    }
}

/// One step on a batch, its parts computed side by side: the model after it, and the loss.
fn train_step(
    model: Decoder,
    optimizer: &mut Optimizer,
    mut examples: Vec<Example>,
    workers: &Workers,
) -> (Decoder, f64) {
    examples.sort_by_key(|example| example.prompt.len());
    let tokens = examples.iter().map(|e| e.completion.len()).sum();
    let size = examples.len().div_ceil(SHARDS);
    let shards = examples.chunks_mut(size);
    let mut work: Vec<_> = shards.map(|shard| (shard, model.clone())).collect();
    let parts = workers.map(&mut work, |(shard, model)| {
        sft::gradients(model, shard, tokens)
    });
    drop(work);
    let loss = parts.iter().map(|(loss, _)| loss).sum();
    let gradients = sft::sum(&model, parts.into_iter().map(|(_, gradients)| gradients));
    (optimizer.step(model, gradients).0, loss)
}

/// The answer of a question, or an example where many are right.
fn right_answer(question: &Question) -> Option<String> {
    let example = || {
        let example = question.metadata.get("example_answer")?;
        example.as_str().map(ToOwned::to_owned)
    };
    question.answer.clone().or_else(example)
}
