//! What an experiment will take, computed before it runs.

use super::base::Base;
use super::config::Experiment;
use crate::swarm::Mix;
use anyhow::{Result, anyhow, ensure};
use std::fmt;

/// Questions of each split looked at to learn how long prompts are.
const PROBES: u64 = 256;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights of all agents, and of the frozen copies where beta is not 0.
    pub weights: f64,
    /// Gradients of the agents that learn at the same time.
    pub gradients: f64,
    /// Adam's two moments of all agents.
    pub optimizer: f64,
    /// Keys and values while the agents at work generate.
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

/// The plan of an experiment.
#[derive(Clone, Debug)]
pub struct Plan {
    agents: usize,
    rounds: u32,
    seeds: usize,
    mixes: Vec<(Mix, usize)>,
    max_completion_length: usize,
    /// Mean and greatest tokens of a prompt.
    prompt: (f64, usize),
    /// Questions that those come from.
    seen: u32,
    parameters: usize,
    device: &'static str,
    threads: usize,
    /// What it needs.
    pub memory: Memory,
}

impl Plan {
    /// Reads the model folder (without its weights) and computes the plan.
    ///
    /// # Errors
    /// When the model folder cannot be used or prompts do not fit the model.
    pub fn new(experiment: &Experiment, threads: usize) -> Result<Self> {
        let base = Base::open(&experiment.model.path)?;
        experiment.device.open()?;
        let tasks = experiment.tasks().map_err(|problem| anyhow!(problem))?;
        let system_prompt = experiment.model.system_prompt.as_deref();
        let completion = experiment.generate.max_completion_length;
        let room = base.config.max_position_embeddings;
        let (mut total, mut count, mut longest) = (0, 0u32, 0);
        for question in tasks.some_questions(PROBES) {
            let length = base.tokenizer.prompt(system_prompt, &question.text)?.len();
            (total, count, longest) = (total + length, count + 1, longest.max(length));
            ensure!(
                length + completion <= room,
                "generate.max_completion_length: found {completion}, but a prompt of {} has {length} tokens and the model \
                 {room} positions for both",
                question.task
            );
        }
        let completions = |mix: &Mix| experiment.swarm.agents * mix.local * experiment.generate.num_generations;
        Ok(Self {
            agents: experiment.swarm.agents,
            rounds: experiment.rounds,
            seeds: experiment.seeds.len(),
            mixes: experiment.mixes.iter().map(|mix| (*mix, completions(mix))).collect(),
            max_completion_length: completion,
            prompt: (total as f64 / f64::from(count), longest),
            seen: count,
            parameters: base.config.parameters(),
            device: experiment.device.describe(),
            threads,
            memory: memory(experiment, &base, longest, threads),
        })
    }
}

/// Four bytes a number; activations by the tensors that the backward pass keeps a token and layer.
/// Reckoned in floating point, where absurd sizes only give absurd numbers.
fn memory(experiment: &Experiment, base: &Base, prompt: usize, threads: usize) -> Memory {
    const FLOAT: f64 = 4.0;
    let config = &base.config;
    let number = |n: usize| n as f64;
    let parameters = number(config.parameters()) * FLOAT;
    let agents = number(experiment.swarm.agents);
    let at_work = number(threads).min(agents);
    let copies = if experiment.train.beta == 0.0 { agents } else { 2.0 * agents };
    let group = number(experiment.generate.num_generations);
    let (prompt, completion) = (number(prompt), number(experiment.generate.max_completion_length));
    let most = number(experiment.mixes.iter().map(|mix| mix.local + mix.external).max().unwrap_or(0));
    let layers = number(config.num_hidden_layers);
    let kv = 2.0 * layers * number(config.num_key_value_heads * config.head_dim());
    let rows = match experiment.train.micro_batch_size {
        0 => most * group,
        rows => number(rows).min(most * group),
    };
    let (prompts, heads) = ((rows / group).ceil(), number(config.num_attention_heads));
    let tokens = rows * completion + prompts * prompt;
    let wide = number(14 * config.hidden_size + 6 * config.intermediate_size);
    let scores = 4.0 * heads * (rows * completion * (prompt + completion) + prompts * prompt * prompt);
    let vocab = number(config.vocab_size);
    let logits = 4.0 * f64::from(1 << 22).min(tokens * vocab).max(vocab);
    Memory {
        weights: parameters * copies,
        gradients: parameters * at_work,
        optimizer: 2.0 * parameters * agents,
        cache: most * (group * completion + prompt) * kv * FLOAT * at_work,
        activations: (layers * (tokens * wide + scores) + logits) * FLOAT * at_work,
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.mixes.len() * self.seeds;
        writeln!(f, "device       {}, {} agents at a time", self.device, self.threads.min(self.agents))?;
        writeln!(f, "swarm        {} agents of {} parameters", self.agents, self.parameters)?;
        writeln!(
            f,
            "runs         {runs} ({} mixes x {} seeds), {} rounds each",
            self.mixes.len(),
            self.seeds,
            self.rounds
        )?;
        writeln!(
            f,
            "prompts      {:.1} tokens on average, {} at most (of {} seen)",
            self.prompt.0, self.prompt.1, self.seen
        )?;
        for (mix, completions) in &self.mixes {
            let all = *completions as u128 * u128::from(self.rounds);
            let tokens = all * self.max_completion_length as u128;
            let name = format!("{} / {}", mix.local, mix.external);
            writeln!(f, "mix {name:<8} {completions} completions a round, {all} a run, {tokens} tokens at most")?;
            if mix.external > 0 && (mix.local == 0 || self.agents == 1) {
                writeln!(f, "             note: nobody else generates, so there is nothing to draw")?;
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
            writeln!(f, "{name:<12} {}", megabytes(bytes))?;
        }
        Ok(())
    }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}
