//! The swarm: agents, the bus between them, and the round (Algorithm 1 of the paper).
//!
//! Nothing here knows a tensor, a file or a clock. Agents work side by side within a phase; between
//! phases all of them wait, so their order never matters.

mod admit;
mod agent;
mod asking;
mod balance;
mod config;
mod memory;
mod metrics;
mod questions;
mod sampling;
mod selection;
mod shadow;
mod training_set;
mod workers;

pub use agent::{Agent, AgentState, Seat};
pub use asking::{Ask, QuestionStream};
pub use balance::{Balance, BalanceRule, Mix, ScheduledMix, Signals};
pub use config::{ShareLogprobs, SwarmConfig};
pub use memory::Replay;
pub use metrics::{Columns, RoundRecord};
pub use questions::{Split, TaskProportions, Tasks, split_of};
pub use rayon::ThreadPoolBuildError;
pub use sampling::Sampling;
pub use selection::{Draw, DrawFrom, Pool, Selection, SignalLimit};
pub use shadow::{Shadow, ShadowReward};
pub use workers::Workers;

use crate::bus::{Bus, Delivery};
use crate::rollout::{AgentId, Question};
use crate::seed::Seed;
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// The parts of a round, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Held-out questions are answered.
    Evaluate,
    /// Own questions are answered and scored, then published.
    Generate,
    /// External rollouts are scored and drawn, members updated.
    Learn,
}

/// Agents that learn side by side and share their rollouts.
pub struct Swarm {
    agents: Vec<Agent>,
    bus: Box<dyn Bus>,
    tasks: Arc<Tasks>,
    columns: Columns,
    config: SwarmConfig,
    held_out: Vec<Question>,
    root: Seed,
    workers: Arc<Workers>,
}

impl Swarm {
    /// A swarm before its first round, one agent per seat. The held-out questions depend on the
    /// tasks alone: they are the same for every agent, arm and seed.
    pub fn new(
        seats: Vec<Seat>,
        bus: Box<dyn Bus>,
        tasks: Arc<Tasks>,
        config: SwarmConfig,
        root: Seed,
        workers: Arc<Workers>,
    ) -> Self {
        let seed = |i: u64| Seed::new(0).child("held-out", i);
        let held_out = (0..config.eval_questions as u64)
            .map(|i| tasks.question(tasks.proportions(), Split::HeldOut, seed(i)))
            .collect();
        let agent = |(i, seat)| Agent::new(AgentId(i as u16), seat, root.child("agent", i as u64));
        Self {
            agents: seats.into_iter().enumerate().map(agent).collect(),
            bus,
            columns: Columns::new(tasks.names(), &config),
            tasks,
            config,
            held_out,
            root,
            workers,
        }
    }

    /// The agents, in the order of their numbers.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Lets a fresh swarm go on from what its members have written into these folders and from the
    /// state of each agent. All else follows from the seed and the round.
    ///
    /// # Errors
    /// When a file cannot be read or belongs to another member.
    pub fn restore(&mut self, agents: &[(PathBuf, AgentState)]) -> Result<()> {
        let limits = &self.config.limits;
        let mut all = self.agents.iter_mut().zip(agents);
        all.try_for_each(|(agent, (dir, state))| agent.restore(dir, state, limits))
    }

    /// The questions that no agent trains on.
    pub fn held_out(&self) -> &[Question] {
        &self.held_out
    }

    /// The names of the columns of its records.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// One round, counted from 1: each agent asks and answers I questions and publishes them; draws
    /// J rollouts of the others; updates on all I + J. Where an evaluation is due it comes first, so
    /// that it measures the model that answers. `watch` is told when a phase begins.
    ///
    /// # Errors
    /// When a member or the bus fails for good; the round then has not happened.
    pub fn step(&mut self, round: u32, mut watch: impl FnMut(Phase)) -> Result<Vec<RoundRecord>> {
        let (agents, bus, workers) = (&mut self.agents, &mut self.bus, &self.workers);
        let (tasks, config, root) = (&*self.tasks, &self.config, self.root);
        let names = self.columns.tasks();

        let mut evaluations = vec![None; agents.len()];
        if config.evaluates(round) {
            watch(Phase::Evaluate);
            let held_out = &self.held_out;
            evaluations = all(workers.map(agents, |agent| agent.evaluate(round, held_out)))?;
        }

        watch(Phase::Generate);
        all(workers.map(agents, |agent| agent.generate(round, root, config, tasks)))?;
        for agent in agents.iter() {
            bus.publish(agent.id(), round, agent.shown(config.share_logprobs))?;
        }

        watch(Phase::Learn);
        let pools = agents
            .iter()
            .map(|agent| bus.collect(agent.id(), round..=round));
        let pools = all(pools.collect())?;
        let mut readers: Vec<(&mut Agent, Vec<Delivery>)> = agents.iter_mut().zip(pools).collect();
        let mut records = workers.map(&mut readers, |(agent, pool)| {
            agent.learn(round, root, config, names, pool)
        });
        for (record, evaluation) in records.iter_mut().zip(evaluations) {
            record.eval_reward = evaluation;
        }
        Ok(records)
    }
}

/// All results, or the first error.
fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    results.into_iter().collect()
}
