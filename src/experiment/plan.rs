//! What an experiment will take, computed before it runs.

use super::base::Base;
use super::config::{Dtype, Experiment, Overlong};
use super::models::Models;
use crate::kernels::{ActivationTensors, activation_tensors};
use crate::learn::logits_alive;
use crate::swarm::{Mix, Tasks};
use anyhow::{Result, anyhow, ensure};
use std::fmt;

/// Questions of each split looked at to learn how long prompts are.
const PROBES: u64 = 256;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights of all agents and of what they start from, which is the reference where beta is not 0.
    pub weights: f64,
    /// Gradients of the agents that learn at the same time.
    pub gradients: f64,
    /// Adam's two moments of all agents.
    pub optimizer: f64,
    /// Keys and values while the agents at work generate, and their copies of the weights in bf16.
    pub cache: f64,
    /// Activations of their forward and backward passes, estimated.
    pub activations: f64,
}

impl Memory {
    /// The sum; generating and learning do not happen at the same time.
    pub fn total(&self) -> f64 {
        self.weights + self.optimizer + self.cache.max(self.gradients + self.activations)
    }
}

/// Lengths of prompts, in tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Prompts {
    seen: u32,
    total: usize,
    longest: usize,
    overlong: u32,
}

/// The plan of an experiment.
#[derive(Clone, Debug)]
pub struct Plan {
    rounds: u32,
    seeds: usize,
    mixes: Vec<(Mix, usize)>,
    max_completion_length: usize,
    prompts: Prompts,
    /// Parameters of the model of each agent.
    parameters: Vec<usize>,
    device: String,
    threads: usize,
    /// What it needs.
    pub memory: Memory,
    /// What the device has, where that is known.
    available: Option<f64>,
}

impl Plan {
    /// Reads the model folders (without the values of their weights) and computes the plan.
    ///
    /// # Errors
    /// When a model folder cannot be used or prompts do not fit the model.
    pub fn new(experiment: &Experiment, threads: usize) -> Result<Self> {
        let models = Models::open(experiment)?;
        let kept = activation_tensors(&experiment.device.open()?);
        let tasks = experiment.tasks().map_err(|problem| anyhow!(problem))?;
        let mut prompts = Prompts::default();
        for base in models.bases() {
            prompts.look_at(experiment, base, &tasks)?;
        }
        let agents = experiment.swarm.agents;
        let completions = |mix: &Mix| agents * mix.local * experiment.generate.num_generations;
        Ok(Self {
            rounds: experiment.rounds,
            seeds: experiment.seeds.len(),
            mixes: experiment
                .mixes
                .iter()
                .map(|mix| (*mix, completions(mix)))
                .collect(),
            max_completion_length: experiment.generate.max_completion_length,
            prompts,
            parameters: (0..agents)
                .map(|agent| models.of(agent).config.parameters())
                .collect(),
            device: experiment.device.describe(),
            threads,
            memory: memory(experiment, &models, prompts.longest, threads, kept),
            available: experiment.device.memory(),
        })
    }

    /// # Errors
    /// When it needs more memory than the device has.
    pub fn fits(&self) -> Result<()> {
        let (needed, memory) = (self.memory.total(), &self.memory);
        let Some(available) = self.available.filter(|available| needed > *available) else {
            return Ok(());
        };
        Err(anyhow!(
            "the plan needs {}, {} has {}: weights {}, Adam {}, then gradients {} and activations {} while learning, or {} \
             while generating. A smaller train.micro_batch_size, train.gradient_checkpointing, fewer agents or threads need \
             less",
            size(needed),
            self.device,
            size(available),
            size(memory.weights),
            size(memory.optimizer),
            size(memory.gradients),
            size(memory.activations),
            size(memory.cache)
        ))
    }
}

impl Prompts {
    fn look_at(&mut self, experiment: &Experiment, base: &Base, tasks: &Tasks) -> Result<()> {
        let (most, completion) = (
            experiment.max_prompt_length(base),
            experiment.generate.max_completion_length,
        );
        ensure!(
            most > 0,
            "generate.max_completion_length: found {completion}, expected less than the model's {} positions",
            base.config.max_position_embeddings
        );
        for question in tasks.some_questions(PROBES) {
            let length = base
                .tokenizer
                .prompt(experiment.model.system_prompt.as_deref(), &question.text)?
                .len();
            self.seen += 1;
            if length > most {
                self.overlong += 1;
                ensure!(
                    experiment.generate.overlong_prompts == Overlong::Drop,
                    "generate.overlong_prompts: found \"error\", and a prompt of {} has {length} tokens, where {most} are \
                     allowed by generate.max_prompt_length and by the model's {} positions less {completion} for the \
                     completion",
                    question.task,
                    base.config.max_position_embeddings
                );
                continue;
            }
            self.total += length;
            self.longest = self.longest.max(length);
        }
        Ok(())
    }

    fn mean(&self) -> f64 {
        self.total as f64 / f64::from((self.seen - self.overlong).max(1))
    }
}

/// Four bytes a number. Reckoned in floating point, where absurd sizes only give absurd numbers.
fn memory(
    experiment: &Experiment,
    models: &Models,
    prompt: usize,
    threads: usize,
    kept: ActivationTensors,
) -> Memory {
    const FLOAT: f64 = 4.0;
    let agents = experiment.swarm.agents;
    let at_work = threads.min(agents) as f64;
    let parameters = |base: &Base| base.config.parameters() as f64;
    let of_agents: f64 = (0..agents).map(|agent| parameters(models.of(agent))).sum();
    let of_bases: f64 = models.bases().iter().map(parameters).sum();
    let most = |of: &dyn Fn(&Base) -> f64| models.bases().iter().map(of).fold(0.0, f64::max);
    let half = if experiment.model.dtype == Dtype::Bf16 {
        0.5
    } else {
        0.0
    };
    Memory {
        weights: (of_agents + of_bases) * FLOAT,
        gradients: most(&parameters) * FLOAT * at_work,
        optimizer: 2.0 * of_agents * FLOAT,
        cache: most(&|base| half * parameters(base) + keys(experiment, base, prompt))
            * FLOAT
            * at_work,
        activations: most(&|base| activations(experiment, base, prompt, kept)) * FLOAT * at_work,
    }
}

/// Rollouts of the largest training set.
fn rollouts(experiment: &Experiment) -> f64 {
    experiment
        .mixes
        .iter()
        .map(|mix| mix.local + mix.external)
        .max()
        .unwrap_or(0) as f64
}

/// Numbers in the keys and values of one agent that generates.
fn keys(experiment: &Experiment, base: &Base, prompt: usize) -> f64 {
    let generate = &experiment.generate;
    let tokens =
        generate.num_generations as f64 * generate.max_completion_length as f64 + prompt as f64;
    let layer = 2.0 * base.config.num_key_value_heads as f64 * base.config.head_dim() as f64;
    rollouts(experiment) * tokens * layer * base.config.num_hidden_layers as f64
}

/// Numbers that the backward pass of one micro-batch keeps: by the tensors a token and layer, of one
/// layer and the inputs of the others where they are computed again; and a slice of logits.
fn activations(
    experiment: &Experiment,
    base: &Base,
    prompt: usize,
    tensors: ActivationTensors,
) -> f64 {
    let (config, number) = (&base.config, |n: usize| n as f64);
    let group = number(experiment.generate.num_generations);
    let (prompt, completion) = (
        number(prompt),
        number(experiment.generate.max_completion_length),
    );
    let all = rollouts(experiment) * group;
    let rows = match experiment.train.micro_batch_size {
        0 => all,
        rows => number(rows).min(all),
    };
    let prompts = (rows / group).ceil();
    let tokens = rows * completion + prompts * prompt;
    let (layers, heads, hidden) = (
        number(config.num_hidden_layers),
        number(config.num_attention_heads),
        number(config.hidden_size),
    );
    let scores = heads * (rows * completion * (prompt + completion) + prompts * prompt * prompt);
    let wide = tensors.hidden * hidden + tensors.feed_forward * number(config.intermediate_size);
    let layer = tokens * wide + tensors.scores * scores;
    let kept = if experiment.train.gradient_checkpointing {
        layers * tokens * hidden + layer
    } else {
        layers * layer
    };
    let longest = experiment.generate.max_completion_length;
    kept + tensors.logits * logits_alive(rows * completion, longest, config.vocab_size)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, agents, prompts) = (
            self.mixes.len() * self.seeds,
            self.parameters.len(),
            &self.prompts,
        );
        writeln!(
            f,
            "device       {}, {} agents at a time",
            self.device,
            self.threads.min(agents)
        )?;
        let mut sizes = self.parameters.clone();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        writeln!(
            f,
            "swarm        {agents} agents of {} parameters",
            sizes.join(", ")
        )?;
        let (mixes, seeds) = (self.mixes.len(), self.seeds);
        writeln!(
            f,
            "runs         {runs} ({mixes} mixes x {seeds} seeds), {} rounds each",
            self.rounds
        )?;
        let (mean, longest, seen) = (prompts.mean(), prompts.longest, prompts.seen);
        writeln!(
            f,
            "prompts      {mean:.1} tokens on average, {longest} at most (of {seen} seen)"
        )?;
        if prompts.overlong > 0 {
            writeln!(
                f,
                "             note: {} of them are too long and will be left out",
                prompts.overlong
            )?;
        }
        for (mix, completions) in &self.mixes {
            let all = *completions as u128 * u128::from(self.rounds);
            let tokens = all * self.max_completion_length as u128;
            let name = format!("{} / {}", mix.local, mix.external);
            writeln!(
                f,
                "mix {name:<8} {completions} completions a round, {all} a run, {tokens} tokens at most"
            )?;
            if mix.external > 0 && (mix.local == 0 || agents == 1) {
                writeln!(
                    f,
                    "             note: nobody else generates, so there is nothing to draw"
                )?;
            }
        }
        let memory = &self.memory;
        for (name, bytes) in [
            ("weights", memory.weights),
            ("Adam", memory.optimizer),
            ("gradients", memory.gradients),
            ("KV cache", memory.cache),
            ("activations", memory.activations),
            ("memory", memory.total()),
        ] {
            writeln!(f, "{name:<12} {}", size(bytes))?;
        }
        match self.available {
            Some(available) => writeln!(f, "{:<12} {}", "of", size(available)),
            None => Ok(()),
        }
    }
}

fn size(bytes: f64) -> String {
    let mib = bytes / f64::from(1 << 20);
    if mib < 10240.0 {
        format!("{mib:.1} MiB")
    } else {
        format!("{:.1} GiB", mib / 1024.0)
    }
}
