//! One agent's part of a round, timed: what an experiment will take, measured instead of reckoned.

use super::config::Experiment;
use super::models::Models;
use super::reserve::with_signal;
use crate::rollout::{AgentId, Rollout};
use crate::seed::Seed;
use crate::swarm::Split;
use anyhow::{Result, anyhow};
use std::time::Instant;

/// What one agent did with as many rollouts as the largest training set has.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsal {
    /// Rollouts.
    pub rollouts: usize,
    /// Completion tokens generated, and seconds for them.
    pub generated: (usize, f64),
    /// Prompt and completion tokens learned from, and seconds for them.
    pub learned: (usize, f64),
    /// Bytes that the device has reserved after both, where it tells.
    pub reserved: Option<u64>,
}

impl Rehearsal {
    /// Seconds that all rounds of a mix will take on one device, evaluation left out.
    pub fn seconds(&self, experiment: &Experiment, local: usize) -> f64 {
        let share = local as f64 / self.rollouts.max(1) as f64;
        let round = share * self.generated.1 + self.learned.1;
        f64::from(experiment.rounds) * experiment.swarm.agents as f64 * round
    }
}

/// Generates and learns once to warm up and once by the clock. Every rollout is given a signal, so that
/// nothing is left out of the update.
///
/// # Errors
/// When the model or the device cannot be used.
pub fn rehearse(experiment: &Experiment) -> Result<Rehearsal> {
    let models = Models::open(experiment)?;
    let device = experiment.device.open()?;
    let weights = models.weights(&device)?;
    let mut policy = models.policies(experiment, &weights).swap_remove(0);
    let tasks = experiment.tasks().map_err(|problem| anyhow!(problem))?;
    let rollouts = experiment
        .mixes
        .iter()
        .map(|mix| mix.local + mix.external)
        .max()
        .unwrap_or(0);
    let (n, decoding) = (experiment.generate.num_generations, experiment.decoding());
    let question = |i: u64| {
        tasks.question(
            tasks.weights(),
            Split::Training,
            Seed::new(0).child("rehearsal", i),
        )
    };
    let questions: Vec<_> = (0..)
        .map(question)
        .filter(|q| policy.prompt_length(q).is_some())
        .take(rollouts)
        .collect();
    let mut rehearsal = Rehearsal {
        rollouts,
        generated: (0, 0.0),
        learned: (0, 0.0),
        reserved: None,
    };
    for pass in 0..2 {
        let start = Instant::now();
        let groups = policy.complete(&questions, n, &decoding, Seed::new(pass));
        let tokens: usize = groups
            .iter()
            .flatten()
            .map(|completion| completion.tokens.len())
            .sum();
        rehearsal.generated = (tokens, start.elapsed().as_secs_f64());
        let prompts: usize = questions
            .iter()
            .filter_map(|question| policy.prompt_length(question))
            .sum();
        let own: Vec<Rollout> = questions
            .iter()
            .zip(groups)
            .map(|(question, completions)| Rollout {
                author: AgentId(0),
                index: 0,
                question: question.clone(),
                completions,
                rewards: Vec::new(),
            })
            .collect();
        let start = Instant::now();
        policy.update(&with_signal(&own), &decoding, Seed::new(pass));
        rehearsal.learned = (tokens + prompts, start.elapsed().as_secs_f64());
    }
    rehearsal.reserved = device.memory_pool_usage().map(|usage| usage.bytes_reserved);
    Ok(rehearsal)
}
