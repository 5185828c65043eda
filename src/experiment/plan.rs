//! What an experiment will take, computed before it runs.

use super::base::Base;
use super::config::Experiment;
use crate::seed::Seed;
use crate::swarm::{Mix, Split};
use anyhow::{Result, anyhow, ensure};
use std::fmt;

/// Questions of each split looked at to learn how long prompts are.
const PROBES: u64 = 256;

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Weights of all agents, and of the frozen copies where beta is not 0.
    pub weights: usize,
    /// Gradients of the agents that learn at the same time.
    pub gradients: usize,
    /// Adam's two moments of all agents.
    pub optimizer: usize,
    /// Keys and values while the agents at work generate.
    pub cache: usize,
    /// Activations of their forward and backward passes, estimated.
    pub activations: usize,
}

impl Memory {
    /// The sum; generating and learning do not happen at the same time.
    pub fn total(&self) -> usize {
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
        let questions = (0..PROBES).flat_map(|i| {
            [Split::Training, Split::HeldOut]
                .map(|split| tasks.question(tasks.weights(), split, Seed::new(0).child("plan", i)))
        });
        let lengths = questions.map(|question| Ok(base.tokenizer.prompt(system_prompt, &question.text)?.len()));
        let lengths = lengths.collect::<Result<Vec<usize>>>()?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let completion = experiment.generate.max_completion_length;
        let room = base.config.max_position_embeddings;
        ensure!(
            longest + completion <= room,
            "generate.max_completion_length: found {completion}, expected at most {}: the longest prompt seen has \
             {longest} tokens and the model has {room} positions",
            room.saturating_sub(longest)
        );
        let completions = |mix: &Mix| experiment.swarm.agents * mix.local * experiment.generate.num_generations;
        Ok(Self {
            agents: experiment.swarm.agents,
            rounds: experiment.rounds,
            seeds: experiment.seeds.len(),
            mixes: experiment.mixes.iter().map(|mix| (*mix, completions(mix))).collect(),
            max_completion_length: completion,
            prompt: (lengths.iter().sum::<usize>() as f64 / lengths.len() as f64, longest),
            parameters: base.config.parameters(),
            device: experiment.device.describe(),
            threads,
            memory: memory(experiment, &base, longest, threads),
        })
    }
}

/// Four bytes a number; activations by the tensors that the backward pass keeps a token and layer.
fn memory(experiment: &Experiment, base: &Base, prompt: usize, threads: usize) -> Memory {
    const FLOAT: usize = 4;
    let config = &base.config;
    let parameters = config.parameters() * FLOAT;
    let agents = experiment.swarm.agents;
    let at_work = threads.min(agents);
    let copies = if experiment.train.beta == 0.0 { agents } else { 2 * agents };
    let group = experiment.generate.num_generations;
    let completion = experiment.generate.max_completion_length;
    let most = experiment.mixes.iter().map(|mix| mix.local + mix.external).max().unwrap_or(0);
    let kv = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim();
    let generated = most * (group * completion + prompt);
    let rows = match experiment.train.micro_batch_size {
        0 => most * group,
        rows => rows.min(most * group),
    };
    let (prompts, heads) = (rows.div_ceil(group), config.num_attention_heads);
    let tokens = rows * completion + prompts * prompt;
    let wide = 14 * config.hidden_size + 6 * config.intermediate_size;
    let scores = 4 * heads * (rows * completion * (prompt + completion) + prompts * prompt * prompt);
    let layers = config.num_hidden_layers * (tokens * wide + scores);
    let logits = 4 * (1 << 22).min(tokens * config.vocab_size).max(config.vocab_size);
    Memory {
        weights: parameters * copies,
        gradients: parameters * at_work,
        optimizer: 2 * parameters * agents,
        cache: generated * kv * FLOAT * at_work,
        activations: (layers + logits) * FLOAT * at_work,
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
            self.prompt.0,
            self.prompt.1,
            2 * PROBES
        )?;
        for (mix, completions) in &self.mixes {
            let all = completions * self.rounds as usize;
            let tokens = all * self.max_completion_length;
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

fn megabytes(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
