//! The swarm: agents, the bus between them, and the round (Algorithm 1 of the paper).
//!
//! Nothing here knows a tensor, a file or a clock. Agents work side by side within a phase; between
//! phases all of them wait, so their order never matters.

mod admit;
mod agent;
mod asking;
mod balance;
mod clock;
mod config;
mod mail;
mod memory;
mod metrics;
mod questions;
mod sampling;
mod schedule;
mod selection;
mod shadow;
mod training_set;
mod workers;

pub use agent::{Agent, AgentState, Seat};
pub use asking::{Ask, QuestionStream};
pub use balance::{Balance, BalanceRule, Mix, ScheduledMix, Signals};
pub use clock::{Returns, VirtualClock};
pub use config::{Admission, ShareLogprobs, SwarmConfig};
pub use memory::Replay;
pub use metrics::{Columns, RoundRecord};
pub use questions::{Split, TaskProportions, Tasks, split_of};
pub use rayon::ThreadPoolBuildError;
pub use sampling::Sampling;
pub use selection::{Draw, DrawFrom, Pool, Selection, SignalLimit};
pub use shadow::{Shadow, ShadowReward};
pub use workers::Workers;

use self::mail::Mail;
use self::schedule::Schedule;
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
    schedule: Schedule,
    mail: Mail,
}

impl Swarm {
    /// A swarm before its first round, all of whose agents are here, one per seat. The held-out questions depend on the
    /// tasks alone: they are the same for every agent, arm and seed.
    pub fn new(
        seats: Vec<Seat>,
        bus: Box<dyn Bus>,
        tasks: Arc<Tasks>,
        config: SwarmConfig,
        root: Seed,
        workers: Arc<Workers>,
    ) -> Self {
        let agents = seats.len();
        let seats = (0..).map(AgentId).zip(seats).collect();
        Self::hosting(seats, agents, bus, tasks, config, root, workers)
    }

    /// The same where only some of so many agents are here, in the order of their numbers; the bus leads to the others.
    pub fn hosting(
        seats: Vec<(AgentId, Seat)>,
        agents: usize,
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
        let agent = |(id, seat)| Agent::new(id, seat, root.child("agent", u64::from(id.0)));
        let clock = config.clock();
        Self {
            schedule: Schedule::new(clock, agents, root),
            mail: Mail::new(clock, root),
            agents: seats.into_iter().map(agent).collect(),
            bus,
            columns: Columns::new(tasks.names(), &config),
            tasks,
            config,
            held_out,
            root,
            workers,
        }
    }

    /// The agents that are here, in the order of their numbers.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Lets a fresh swarm go on after a round from what its members have written into these folders, from the state of
    /// each agent and from what was on its way. All else follows from the seed and the round.
    ///
    /// # Errors
    /// When a file cannot be read or belongs to another member.
    pub fn restore(
        &mut self,
        round: u32,
        agents: &[(PathBuf, AgentState)],
        mail: &[u8],
    ) -> Result<()> {
        let limits = &self.config.limits;
        let mut all = self.agents.iter_mut().zip(agents);
        all.try_for_each(|(agent, (dir, state))| agent.restore(dir, state, limits))?;
        self.schedule.skip_to(round);
        self.mail.restore(mail)
    }

    /// What is on its way, as text for a checkpoint; empty in lock-step, where nothing is between two rounds.
    ///
    /// # Errors
    /// When a rollout holds what JSON cannot.
    pub fn mail(&self) -> Result<Vec<u8>> {
        match self.config.clock {
            Some(_) => self.mail.save(),
            None => Ok(Vec::new()),
        }
    }

    /// The questions that no agent trains on.
    pub fn held_out(&self) -> &[Question] {
        &self.held_out
    }

    /// The names of the columns of its records.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// One round, counted from 1: each agent asks and answers I questions and publishes them; draws J rollouts of the
    /// others; updates on all I + J. Where an evaluation is due it comes first, so that it measures the model that
    /// answers. By a virtual clock a round has several ticks, and the records of those who do not end their part in one
    /// of them are empty. `watch` is told when a phase begins.
    ///
    /// # Errors
    /// When a member or the bus fails for good; the round then has not happened.
    pub fn step(&mut self, round: u32, mut watch: impl FnMut(Phase)) -> Result<Vec<RoundRecord>> {
        let mut records: Vec<Option<RoundRecord>> = vec![None; self.agents.len()];
        for _ in 0..self.config.clock().ticks {
            for record in self.tick(round, &mut watch)? {
                let agent = self.agents.iter().position(|a| a.id().0 == record.agent);
                records[agent.expect("the record is of an agent that is here")] = Some(record);
            }
        }
        let names = self.columns.tasks();
        let all = records.into_iter().zip(&self.agents);
        let idle = |agent: &Agent| agent.idle(round, names, self.config.shadows.len());
        let mut records: Vec<RoundRecord> = all
            .map(|(record, agent)| record.unwrap_or_else(|| idle(agent)))
            .collect();
        for (record, agent) in records.iter_mut().zip(&self.agents) {
            record.participations = self.schedule.turns(agent.id().0.into());
            agent.name().clone_into(&mut record.member);
        }
        match self.bus.is_shared() {
            true => self.exchange(round, &records),
            false => Ok(records),
        }
    }

    /// The records of all agents, wherever they are.
    fn exchange(&mut self, round: u32, own: &[RoundRecord]) -> Result<Vec<RoundRecord>> {
        let text =
            |record: &RoundRecord| Ok((AgentId(record.agent), serde_json::to_string(record)?));
        let own = own.iter().map(text).collect::<Result<_>>()?;
        let all = self.bus.exchange(round, own)?.into_iter();
        all.map(|text| Ok(serde_json::from_str(&text)?)).collect()
    }

    /// Those of the records that are of agents here, in their order.
    pub fn records_here(&self, records: &[RoundRecord]) -> Vec<RoundRecord> {
        let of = |agent: &Agent| records.iter().find(|record| record.agent == agent.id().0);
        self.agents.iter().filter_map(of).cloned().collect()
    }

    /// Messages so far that the bus has dropped.
    pub fn dropped(&self) -> u64 {
        self.bus.dropped()
    }

    /// A tick: the records of the agents whose part of a round ends with it.
    fn tick(&mut self, round: u32, watch: &mut impl FnMut(Phase)) -> Result<Vec<RoundRecord>> {
        let turns = self.schedule.next();
        let (tick, config, root) = (self.schedule.tick(), &self.config, self.root);
        let (bus, workers, tasks) = (self.bus.as_mut(), &self.workers, &*self.tasks);
        let turn_of = |agent: &Agent| turns[usize::from(agent.id().0)];
        let due = self
            .agents
            .iter_mut()
            .filter_map(|agent| Some((turn_of(agent)?, agent)));
        let due = due.map(|(turn, agent)| (agent, turn));
        let mut agents: Vec<&mut Agent> = due
            .map(|(agent, turn)| {
                if turn.returned && config.clock().returns == Returns::Base {
                    agent.begin_again();
                }
                agent
            })
            .collect();

        let exam = Exam {
            round,
            config,
            tasks,
            held_out: &self.held_out,
        };
        let measured = exam.of(&mut agents, workers, watch)?;

        watch(Phase::Generate);
        all(workers.map(&mut agents, |agent| {
            agent.generate(round, root, config, tasks)
        }))?;
        for agent in &agents {
            let shown = agent.shown(config.share_logprobs);
            self.mail.post(agent.id(), tick, shown);
        }
        self.mail.deliver(tick, bus)?;

        watch(Phase::Learn);
        let oldest = self.mail.oldest(tick);
        let pools = agents.iter_mut().map(|agent| {
            let unread = agent.look(tick).max(oldest);
            bus.collect(agent.id(), unread..=tick)
        });
        let pools = all(pools.collect())?;
        let mut readers: Vec<(&mut Agent, Vec<Delivery>)> = agents.into_iter().zip(pools).collect();
        let names = self.columns.tasks();
        let mut records = workers.map(&mut readers, |(agent, pool)| {
            agent.learn(round, root, config, tasks, names, pool)
        });
        for (record, (evaluation, judged)) in records.iter_mut().zip(measured) {
            record.eval_reward = evaluation;
            record.judge_reward = judged;
            record.tick = Some(tick);
        }
        Ok(records)
    }
}

/// What agents are asked in a round to be measured.
struct Exam<'a> {
    round: u32,
    config: &'a SwarmConfig,
    tasks: &'a Tasks,
    held_out: &'a [Question],
}

impl Exam<'_> {
    /// Held-out reward of each agent, where an evaluation is due, and what the judge gives it, where there is one.
    fn of(
        &self,
        agents: &mut [&mut Agent],
        workers: &Workers,
        watch: &mut impl FnMut(Phase),
    ) -> Result<Vec<(Option<f64>, Option<f64>)>> {
        let (round, tasks) = (self.round, self.tasks);
        let mut evaluations = vec![None; agents.len()];
        if self.config.evaluates(round) {
            watch(Phase::Evaluate);
            evaluations = all(workers.map(agents, |agent| agent.evaluate(round, self.held_out)))?;
        }
        let mut judged = vec![None; agents.len()];
        if self.config.judge {
            watch(Phase::Evaluate);
            // the same for all, at whichever tick of the round they have their turn
            let seed = Seed::new(0).child("judge", u64::from(round));
            let question = tasks.question(tasks.proportions(), Split::HeldOut, seed);
            judged = all(workers.map(agents, |agent| {
                agent.judged(round, &question, &mut tasks.verifiers())
            }))?;
        }
        Ok(evaluations.into_iter().zip(judged).collect())
    }
}

/// All results, or the first error.
fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    results.into_iter().collect()
}
