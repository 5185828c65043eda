//! The swarm: agents, the bus between them, and the round (Algorithm 1 of the paper).
//!
//! Nothing here knows a tensor, a file or a clock. Agents work side by side within a phase; between
//! phases all of them wait, so their order never matters.

mod admit;
mod agent;
mod bus;
mod draw;
mod questions;
mod workers;

pub use agent::Agent;
pub use bus::Bus;
pub use draw::{Selection, draw};
pub use questions::{Split, TaskWeights, Tasks, split_of};
pub use rayon::ThreadPoolBuildError;
pub use workers::Workers;

use crate::model::weights;
use crate::policy::{Decoding, Policy};
use crate::record::RoundRecord;
use crate::rollout::{AgentId, Question, ScaleRewards};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Rollouts of the training set: own (the paper's I) and drawn from the others (J).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Own rollouts a round.
    pub local: usize,
    /// Rollouts of others a round.
    pub external: usize,
}

/// Where agents take their questions from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionStream {
    /// Each agent asks its own (the paper's text).
    Independent,
    /// All agents ask the same (GenRL's code).
    Shared,
}

/// What shapes a round.
#[derive(Clone, Debug, PartialEq)]
pub struct SwarmConfig {
    /// Own and external rollouts.
    pub mix: Mix,
    /// The rule of the draw.
    pub selection: Selection,
    /// How often own rollouts without signal are dropped and others asked for, in a round.
    pub max_redraws: usize,
    /// The question stream.
    pub questions: QuestionStream,
    /// Completions a question (the paper's L).
    pub num_generations: usize,
    /// How completions are decoded.
    pub decoding: Decoding,
    /// How advantages are scaled.
    pub scale_rewards: ScaleRewards,
    /// Held-out questions an evaluation.
    pub eval_questions: usize,
    /// An evaluation every so many rounds, the first and the last round included; 0 for none.
    pub eval_every: u32,
    /// Rounds in all.
    pub rounds: u32,
    /// Agents that are asked tasks in another proportion than the swarm: specialists.
    pub specialists: BTreeMap<AgentId, TaskWeights>,
}

/// The parts of a round, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Held-out questions are answered.
    Evaluate,
    /// Own questions are answered and scored, then published.
    Generate,
    /// External rollouts are scored and drawn, policies updated.
    Learn,
}

/// Agents that learn side by side and share their rollouts.
pub struct Swarm {
    agents: Vec<Agent>,
    bus: Bus,
    tasks: Tasks,
    config: SwarmConfig,
    held_out: Vec<Question>,
    root: Seed,
    workers: Arc<Workers>,
}

impl Swarm {
    /// A swarm before its first round, an agent a policy. The held-out questions depend on the
    /// tasks alone: they are the same for every agent, mix and seed.
    pub fn new(
        policies: Vec<Box<dyn Policy>>,
        tasks: Tasks,
        config: SwarmConfig,
        root: Seed,
        workers: Arc<Workers>,
    ) -> Self {
        let agent =
            |(i, policy)| Agent::new(AgentId(i as u16), policy, root.child("agent", i as u64));
        let held_out = (0..config.eval_questions as u64)
            .map(|i| {
                tasks.question(
                    tasks.weights(),
                    Split::HeldOut,
                    Seed::new(0).child("held-out", i),
                )
            })
            .collect();
        let agents = policies.into_iter().enumerate().map(agent).collect();
        Self {
            agents,
            bus: Bus::default(),
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

    /// Writes what the agents must remember to go on after a restart, each into its own of these empty
    /// folders; returns the tokens that each has generated. All else follows from the seed and the round.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn save(&self, dirs: &[PathBuf]) -> Result<Vec<u64>, weights::Error> {
        self.agents
            .iter()
            .zip(dirs)
            .map(|(agent, dir)| agent.save(dir))
            .collect()
    }

    /// Goes on from there.
    ///
    /// # Errors
    /// When a file cannot be read or belongs to another model.
    pub fn restore(&mut self, dirs: &[PathBuf], num_tokens: &[u64]) -> Result<(), weights::Error> {
        let mut agents = self.agents.iter_mut().zip(dirs).zip(num_tokens);
        agents.try_for_each(|((agent, dir), tokens)| agent.restore(dir, *tokens))
    }

    /// The questions that no agent trains on.
    pub fn held_out(&self) -> &[Question] {
        &self.held_out
    }

    /// The tasks that the agents are asked.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// One round, counted from 1: each agent asks and answers I questions and publishes them; draws
    /// J rollouts of the others; updates on all I + J. Where an evaluation is due it comes first, so
    /// that it measures the policy that answers. `watch` is told when a phase begins.
    pub fn step(&mut self, round: u32, mut watch: impl FnMut(Phase)) -> Vec<RoundRecord> {
        let Self {
            agents,
            bus,
            tasks,
            config,
            held_out,
            root,
            workers,
        } = self;
        let (tasks, config, root) = (&*tasks, &*config, *root);

        let evaluations = if evaluates(config, round) {
            watch(Phase::Evaluate);
            workers.map(agents, |agent| {
                agent.evaluate(round, held_out, config, tasks)
            })
        } else {
            vec![None; agents.len()]
        };

        watch(Phase::Generate);
        workers.map(agents, |agent| agent.generate(round, root, config, tasks));
        bus.clear();
        for agent in agents.iter() {
            bus.publish(agent.id(), &agent.shared());
        }

        watch(Phase::Learn);
        let bus = &*bus;
        let mut records = workers.map(agents, |agent| {
            agent.learn(round, root, config, tasks, &bus.of_others(agent.id()))
        });
        for (record, evaluation) in records.iter_mut().zip(evaluations) {
            record.eval_reward = evaluation;
        }
        records
    }
}

fn evaluates(config: &SwarmConfig, round: u32) -> bool {
    let due = config.eval_every > 0
        && ((round - 1).is_multiple_of(config.eval_every) || round == config.rounds);
    due && config.eval_questions > 0
}
