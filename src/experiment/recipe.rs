//! The recipe of a small base model, as a file.
//!
//! The model sees solved problems answered in many forms, of which the one that earns the reward is
//! rare. So it starts as a real base model does: able, but seldom in the form that is asked for.

use super::toml_file;
use super::validate::proportions;
use crate::swarm::Tasks;
use crate::task::Scoring;
use crate::task::catalog::{self, TaskConfigs};
use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recipe file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The folder to write.
    pub out: PathBuf,
    /// Of everything random.
    pub seed: u64,
    /// The chat template of the model.
    pub chat_template: String,
    /// Tokens of the tokenizer, special ones included.
    pub vocab_size: usize,
    /// Texts that the tokenizer is trained on.
    pub tokenizer_texts: usize,
    /// The shape of the decoder.
    pub model: ModelShape,
    /// What is solved.
    pub tasks: RecipeTasks,
    /// How it is answered.
    pub forms: Vec<Form>,
    /// How the decoder is trained.
    pub train: RecipeTrain,
}

/// The shape of the decoder, under the names of `config.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the names of config.json, documented at ModelConfig"
)]
pub struct ModelShape {
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub max_position_embeddings: usize,
    pub rope_theta: f64,
    pub rms_norm_eps: f64,
}

/// The tasks of a recipe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeTasks {
    /// Registered names.
    pub names: Vec<String>,
    /// How often each is asked, in proportion; equally often when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportions: Option<Vec<f64>>,
    /// How hard they are.
    #[serde(default)]
    pub difficulty: TaskConfigs,
}

/// What stands in a form's `{answer}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// The right answer.
    Right,
    /// The answer of another question of the task.
    Guess,
    /// Nothing: the text stands as it is.
    None,
}

/// One way to answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Share of the training text, relative to the other forms.
    pub proportion: f64,
    /// What `{answer}` stands for.
    pub content: Content,
    /// The text.
    pub text: String,
}

/// The training of a recipe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeTrain {
    /// Optimizer steps.
    pub steps: usize,
    /// Questions per step.
    pub questions: usize,
    /// Answers per question.
    pub answers: usize,
    /// Step size after warm-up; it falls to a tenth along a half cosine.
    pub learning_rate: f64,
    /// Steps of warm-up.
    pub warmup_steps: usize,
    /// Largest global norm of a gradient.
    pub max_grad_norm: f64,
    /// Questions in the closing measurement.
    pub eval_questions: usize,
    /// Longest completion in it.
    pub max_completion_length: usize,
}

impl Recipe {
    /// # Errors
    /// When the file cannot be read, or names the key that holds what cannot be.
    pub fn load(file: &Path, overrides: &[String]) -> Result<Self> {
        let recipe: Self = toml_file::load(file, overrides, &[])?.value;
        recipe
            .validate()
            .with_context(|| file.display().to_string())?;
        Ok(recipe)
    }

    fn validate(&self) -> Result<()> {
        ensure!(
            !self.out.as_os_str().is_empty(),
            "out: found an empty path, expected a folder"
        );
        ensure!(
            !self.forms.is_empty(),
            "forms: found none, expected at least one"
        );
        let sum: f64 = self.forms.iter().map(|form| form.proportion).sum();
        ensure!(
            sum > 0.0 && sum.is_finite() && self.forms.iter().all(|form| form.proportion >= 0.0),
            "forms: found proportions that add up to {sum}, expected 0 or more each that add up to more than 0"
        );
        let train = &self.train;
        for (key, value, [low, high]) in [
            ("vocab_size", self.vocab_size, [257, 1 << 20]), // every byte and the end of the text
            ("tokenizer_texts", self.tokenizer_texts, [2, 1 << 24]),
            ("train.steps", train.steps, [1, 1 << 30]),
            ("train.questions", train.questions, [1, 1 << 16]),
            ("train.answers", train.answers, [1, 1 << 10]),
            ("train.eval_questions", train.eval_questions, [1, 1 << 20]),
            (
                "train.max_completion_length",
                train.max_completion_length,
                [1, self.model.max_position_embeddings],
            ),
        ] {
            ensure!(
                (low..=high).contains(&value),
                "{key}: found {value}, expected {low} to {high}"
            );
        }
        let rate = train.learning_rate;
        ensure!(
            rate > 0.0 && rate <= 1.0,
            "train.learning_rate: found {rate}, expected more than 0, to 1"
        );
        let norm = train.max_grad_norm;
        ensure!(
            norm >= 0.0 && norm.is_finite(),
            "train.max_grad_norm: found {norm}, expected 0 (off) or more"
        );
        self.tasks().map(|_| ())
    }

    /// Its tasks, scored exactly.
    pub(super) fn tasks(&self) -> Result<Tasks> {
        let names = &self.tasks.names;
        ensure!(
            !names.is_empty(),
            "tasks.names: found none, expected at least one"
        );
        let build = |name: &String| catalog::build(name, &self.tasks.difficulty, Scoring::Exact);
        let tasks: Result<Vec<_>, String> = names.iter().map(build).collect();
        let tasks = tasks.map_err(|e| anyhow!("tasks: {e}"))?;
        let proportions = proportions(
            "tasks.proportions",
            names,
            names,
            self.tasks.proportions.as_deref(),
        );
        let tasks = tasks.into_iter().map(Arc::from).collect();
        let tasks = Tasks::new(tasks, proportions.map_err(|e| anyhow!(e))?);
        tasks.check_splits().map_err(|e| anyhow!("{e}"))?;
        Ok(tasks)
    }
}
