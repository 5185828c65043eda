//! The memory that an arm will take, reckoned from the shapes of its models.

use super::config::Dtype;
use super::models::Models;
use super::resolved::Resolved;
use crate::kernels::ActivationTensors;
use crate::learn::logits_alive;
use crate::member::ModelFolder;
use anyhow::{Result, bail};
use std::fmt;

/// Bytes of a number.
const FLOAT: f64 = 4.0;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights of all agents and of what they start from, which is the reference where beta is not 0.
    pub weights: f64,
    /// Gradients of the agents that learn at the same time.
    pub gradients: f64,
    /// What the optimizers of all agents remember.
    pub optimizer: f64,
    /// Keys and values while the agents at work generate, and their copies of the weights in bf16.
    pub cache: f64,
    /// Activations of their forward and backward passes, estimated.
    pub activations: f64,
}

impl Memory {
    /// Of an arm whose longest prompt has so many tokens, with so many agents at work at a time.
    /// Reckoned in floating point, where absurd sizes only give absurd numbers.
    pub(super) fn of(
        arm: &Resolved,
        models: &Models,
        prompt: usize,
        threads: usize,
        tensors: ActivationTensors,
    ) -> Self {
        let agents = arm.keys.models();
        let at_work = threads.min(arm.keys.swarm.agents) as f64;
        let parameters = |folder: &ModelFolder| folder.config.parameters() as f64;
        let of_agents: f64 = agents.map(|agent| parameters(models.of(arm, agent))).sum();
        let folders = models.folders(arm);
        let of_folders: f64 = folders.iter().map(|folder| parameters(folder)).sum();
        let most = |of: &dyn Fn(&ModelFolder) -> f64| {
            folders.iter().map(|folder| of(folder)).fold(0.0, f64::max)
        };
        let half = match arm.keys.model.dtype {
            Dtype::Bf16 => 0.5,
            Dtype::F32 => 0.0,
        };
        let cache = |folder: &ModelFolder| half * parameters(folder) + keys(arm, folder, prompt);
        Self {
            weights: (of_agents + of_folders) * FLOAT,
            gradients: most(&parameters) * FLOAT * at_work,
            optimizer: arm.keys.train.optim.moments() as f64 * of_agents * FLOAT,
            cache: most(&cache) * FLOAT * at_work,
            activations: most(&|folder| activations(arm, folder, prompt, tensors))
                * FLOAT
                * at_work,
        }
    }

    /// The sum; generating and learning do not happen at the same time.
    pub fn total(&self) -> f64 {
        self.weights + self.optimizer + self.cache.max(self.gradients + self.activations)
    }

    /// # Errors
    /// When it is more than a device has.
    pub(super) fn fits(&self, device: &str, available: f64) -> Result<()> {
        let needed = self.total();
        if needed <= available {
            return Ok(());
        }
        bail!(
            "the plan needs {}, {device} has {}: weights {}, optimizer {}, then gradients {} and activations \
             {} while learning, or {} while generating. A smaller train.micro_batch_size, \
             train.gradient_checkpointing, fewer agents or threads need less",
            size(needed),
            size(available),
            size(self.weights),
            size(self.optimizer),
            size(self.gradients),
            size(self.activations),
            size(self.cache)
        )
    }
}

/// One line per part.
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, bytes) in [
            ("weights", self.weights),
            ("optimizer", self.optimizer),
            ("gradients", self.gradients),
            ("KV cache", self.cache),
            ("activations", self.activations),
            ("memory", self.total()),
        ] {
            writeln!(f, "{name:<12} {}", size(bytes))?;
        }
        Ok(())
    }
}

/// Bytes as people read them.
pub(super) fn size(bytes: f64) -> String {
    let mib = bytes / f64::from(1 << 20);
    if mib < 10240.0 {
        format!("{mib:.1} MiB")
    } else {
        format!("{:.1} GiB", mib / 1024.0)
    }
}

/// Numbers in the keys and values of one agent that generates.
fn keys(arm: &Resolved, folder: &ModelFolder, prompt: usize) -> f64 {
    let (config, generate) = (&folder.config, &arm.keys.generate);
    let completions = generate.num_generations as f64 * generate.max_completion_length as f64;
    let layer = 2.0 * config.num_key_value_heads() as f64 * config.head_dim() as f64;
    let tokens = arm.balance().most() as f64 * (completions + prompt as f64);
    tokens * layer * config.num_hidden_layers as f64
}

/// Numbers that the backward pass of one micro-batch keeps: by the tensors per token and layer, of one
/// layer and the inputs of the others where they are computed again; and a slice of logits.
fn activations(
    arm: &Resolved,
    folder: &ModelFolder,
    prompt: usize,
    tensors: ActivationTensors,
) -> f64 {
    let (config, keys, number) = (&folder.config, &arm.keys, |n: usize| n as f64);
    let group = number(keys.generate.num_generations);
    let (prompt, completion) = (number(prompt), number(keys.generate.max_completion_length));
    let all = number(arm.balance().most()) * group;
    let rows = match keys.train.micro_batch_size {
        0 => all,
        rows => number(rows).min(all),
    };
    let prompts = (rows / group).ceil();
    let tokens = rows * completion + prompts * prompt;
    let layers = number(config.num_hidden_layers);
    let hidden = number(config.hidden_size);
    let pairs = rows * completion * (prompt + completion) + prompts * prompt * prompt;
    let scores = number(config.num_attention_heads) * pairs;
    let wide = tensors.hidden * hidden + tensors.feed_forward * number(config.intermediate_size);
    let layer = tokens * wide + tensors.scores * scores;
    let kept = match keys.train.gradient_checkpointing {
        true => layers * tokens * hidden + layer,
        false => layers * layer,
    };
    let longest = keys.generate.max_completion_length;
    kept + tensors.logits * logits_alive(rows * completion, longest, config.vocab_size)
}
