//! One agent's part of a round, timed: what an experiment will take, measured instead of reckoned.

use super::arms::{Arm, Experiment};
use super::models::Models;
use super::preallocate::{own_rollout, update_with_signal};
use crate::member::{Asked, Responder};
use crate::rollout::{Prompt, Question, ScoredRollout};
use crate::seed::Seed;
use crate::swarm::Split;
use anyhow::{Context, Result};
use std::time::Instant;

/// What one agent did with as many rollouts as the largest training set has.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Rollouts.
    pub rollouts: usize,
    /// Completion tokens generated, and seconds for them.
    pub generated: (usize, f64),
    /// Prompt and completion tokens learned from, and seconds for them.
    pub learned: (usize, f64),
    /// Bytes that the device has reserved after both, where it tells.
    pub reserved: Option<u64>,
}

impl Benchmark {
    /// Generates and learns once to warm up and once by the clock, as an agent of the largest arm.
    /// Every rollout is given a signal, so that nothing is left out of the update.
    ///
    /// # Errors
    /// When the model or the device cannot be used.
    pub fn run(experiment: &Experiment) -> Result<Self> {
        let models = Models::open(experiment)?;
        let device = experiment.file.device.open()?;
        let arm = &experiment.largest().resolved;
        let weights = models.weights(&device)?;
        let mut members = models.members(arm, &weights).into_iter();
        let learner = members.find_map(|mut member| member.learner().is_some().then_some(member));
        let mut member = learner.context("found no agent that learns, expected one to be timed")?;
        let tasks = &arm.tasks;
        let seed = |i: u64| Seed::new(0).child("rehearsal", i);
        let question = |i| tasks.question(tasks.proportions(), Split::Training, seed(i));
        let read = |question| {
            member
                .prompt(&question)
                .ok()
                .map(|prompt| (question, prompt))
        };
        let rollouts = arm.balance().most();
        let questions: Vec<_> = (0..)
            .map(question)
            .filter_map(read)
            .take(rollouts)
            .collect();
        let mut timed = Self {
            rollouts,
            generated: (0, 0.0),
            learned: (0, 0.0),
            reserved: None,
        };
        for pass in 0..2 {
            timed.round(
                &mut member,
                &questions,
                arm.keys.generate.num_generations,
                pass,
            )?;
        }
        timed.reserved = device.memory_pool_usage().map(|usage| usage.bytes_reserved);
        Ok(timed)
    }

    /// Seconds that all rounds of an arm will take on one device, evaluation left out.
    pub fn seconds(&self, arm: &Arm) -> f64 {
        let share = arm.resolved.balance().most_local() as f64 / self.rollouts.max(1) as f64;
        let round = share * self.generated.1 + self.learned.1;
        let keys = &arm.resolved.keys;
        f64::from(keys.rounds) * keys.swarm.agents as f64 * round
    }

    fn round(
        &mut self,
        member: &mut dyn Responder,
        questions: &[(Question, Prompt)],
        n: usize,
        pass: u64,
    ) -> Result<()> {
        let start = Instant::now();
        let groups = member.complete(&Asked::all(questions), n, Seed::new(pass))?;
        let completions = groups.iter().flatten();
        let tokens: usize = completions.map(|completion| completion.tokens.len()).sum();
        self.generated = (tokens, start.elapsed().as_secs_f64());
        let prompts: usize = questions
            .iter()
            .map(|(_, prompt)| prompt.tokens.len())
            .sum();
        let own = questions.iter().cloned().zip(groups);
        let own = own.map(|((question, prompt), group)| own_rollout(question, prompt, group));
        let own: Vec<ScoredRollout> = own.collect();
        let start = Instant::now();
        if let Some(learner) = member.learner() {
            update_with_signal(learner, &own, Seed::new(pass));
        }
        self.learned = (tokens + prompts, start.elapsed().as_secs_f64());
        Ok(())
    }
}
