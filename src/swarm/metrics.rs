//! One row of `rounds.csv`: what one agent did in one round.
//!
//! A row is a list of (column, cell) pairs in a fixed order. An empty cell means that there is no
//! such number (nothing was evaluated, no group was updated on); it never holds NaN.

use super::config::{ShareLogprobs, SwarmConfig};
use super::shadow::{Shadow, ShadowReward};
use crate::member::{Responder, UpdateStats};
use crate::reward::Reward;
use crate::rollout::{AgentId, Completion, FinishReason, ScoredRollout, mean};
use serde::{Deserialize, Serialize};

/// A struct whose fields are columns: each is named once, here and in the CSV file.
macro_rules! columns {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $column:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $column: $type,)*
            /// What each shadow draw found: two columns each, `shadow_<mix>_<selection>` and the same
            /// with `_groups`.
            pub shadows: Vec<ShadowReward>,
            /// Mean own reward of each task, in the order of the experiment's tasks: the last columns,
            /// `reward_<task>`.
            pub task_rewards: Vec<Option<f64>>,
        }

        impl $name {
            fn columns(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($column), self.$column.cell()),)*]
            }
        }
    };
}

columns! {
/// What one agent did in one round. Rewards are means over completions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Counted from 1.
    pub round: u32,
    /// Counted from 0.
    pub agent: u16,
    /// What kind of member it is, by name. Only where they are of several kinds.
    pub member: String,
    /// The tick of the virtual clock at which its part of the round ended; none where it ended none. This and the next
    /// only where there is such a clock.
    pub tick: Option<u64>,
    /// Parts of rounds that it has ended so far.
    pub participations: u64,
    /// Mean reward of the completions that the agent generated this round.
    pub own_reward: Option<f64>,
    /// Mean reward of its training set, own and drawn external rollouts alike (what GenRL logs).
    pub train_reward: Option<f64>,
    /// Mean reward on the held-out questions, before this round's update.
    pub eval_reward: Option<f64>,
    /// What the judge gave its answer, before this round's update. Only where there is a judge.
    pub judge_reward: Option<f64>,
    /// Share of groups of the training set whose rewards are all equal (TRL).
    pub frac_reward_zero_std: Option<f64>,
    /// Own rollouts of this round in the training set: the I that it had.
    pub own_groups: usize,
    /// Drawn rollouts in the training set: the J that it had.
    pub external_groups: usize,
    /// Share of the training set that is from earlier rounds. Only where such are drawn.
    pub replayed_frac: Option<f64>,
    /// Rollouts of the other agents in the pool.
    pub pool_groups: usize,
    /// Rollouts of the other agents that could not be used: of an unknown task, without a completion, or
    /// with a prompt that this agent's model cannot read.
    pub pool_dropped: usize,
    /// Share of the pool with an advantage that is not zero.
    pub pool_nonzero_frac: Option<f64>,
    /// Mean loss of the optimizer steps.
    pub loss: Option<f64>,
    /// Mean global norm of the gradient before clipping.
    pub grad_norm: Option<f64>,
    /// Optimizer steps taken.
    pub steps: usize,
    /// Those of them without any gradient: momentum alone moved the weights.
    pub steps_without_signal: usize,
    /// Optimizer steps taken so far.
    pub global_step: usize,
    /// Steps left out because loss or gradient was not finite.
    pub bad_updates: usize,
    /// Mean entropy (nats) of the distributions that own tokens were drawn from.
    pub entropy: Option<f64>,
    /// Share of trained tokens whose ratio was clipped.
    pub clip_ratio: Option<f64>,
    /// Mean KL estimate to the frozen copy, where beta is not 0.
    pub kl: Option<f64>,
    /// Mean log-prob of own completion tokens when they were generated.
    pub own_logp: Option<f64>,
    /// Mean log-prob, before the update, of the external completion tokens that it computed: those
    /// with an advantage, or all where beta is not 0.
    pub foreign_logp: Option<f64>,
    /// Mean importance weight of those tokens. This and the next two only where there are such weights.
    pub importance_weight: Option<f64>,
    /// Share of those tokens whose weight was cut at its largest value.
    pub truncated_frac: Option<f64>,
    /// Share of external completions with an advantage that were left out for lying too far from the policy.
    pub filtered_frac: Option<f64>,
    /// Share of own completions in the rewarded form: with an answer in tags.
    pub tagged_frac: Option<f64>,
    /// Share of those that are right: of reward 1.
    pub right_in_tags_frac: Option<f64>,
    /// Share of own completions with the payload of an attack in them. Only where a member carries out one.
    pub payload_frac: Option<f64>,
    /// Share of own completions whose text encodes to other tokens than were generated.
    pub reencode_mismatch_frac: Option<f64>,
    /// Own and held-out questions left out because their prompts are too long.
    pub overlong_prompts: usize,
    /// Own questions without a completion that could be scored. Only where agents or rewards are no models.
    pub unanswered: usize,
    /// Completions generated.
    pub completions: usize,
    /// Mean tokens of an own completion.
    pub completion_length: Option<f64>,
    /// Share of own completions cut off at the longest length.
    pub clipped_completions: Option<f64>,
    /// Prompt and completion tokens of own completions so far.
    pub num_tokens: u64,
}
}

/// Columns of runs that draw from earlier rounds.
const OF_REPLAY: [&str; 1] = ["replayed_frac"];
/// Columns of runs with importance weights.
const OF_WEIGHTS: [&str; 3] = ["importance_weight", "truncated_frac", "filtered_frac"];
/// Columns of runs with a judge.
const OF_JUDGE: [&str; 1] = ["judge_reward"];
/// Columns of runs by a virtual clock.
const OF_CLOCK: [&str; 2] = ["tick", "participations"];
/// Columns of runs with members of several kinds.
const OF_KINDS: [&str; 1] = ["member"];
/// Columns of runs with an attack.
const OF_ATTACKS: [&str; 1] = ["payload_frac"];
/// Columns of runs with programs or recordings in them.
const OF_OUTSIDERS: [&str; 1] = ["unanswered"];

/// What the columns of an experiment depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    tasks: Vec<String>,
    shadows: Vec<String>,
    /// Those that it has no use for.
    left_out: Vec<&'static str>,
}

impl Columns {
    /// Of records of these tasks in such a swarm.
    pub fn new(tasks: Vec<String>, config: &SwarmConfig) -> Self {
        let mut left_out = Vec::new();
        if config.replay.rounds == 0 {
            left_out.extend(OF_REPLAY);
        }
        if config.share_logprobs == ShareLogprobs::None && !config.weighs_foreign {
            left_out.extend(OF_WEIGHTS);
        }
        if !config.judge {
            left_out.extend(OF_JUDGE);
        }
        if config.clock.is_none() {
            left_out.extend(OF_CLOCK);
        }
        if !config.mixed {
            left_out.extend(OF_KINDS);
        }
        if config.payload.is_none() {
            left_out.extend(OF_ATTACKS);
        }
        if !config.outsiders {
            left_out.extend(OF_OUTSIDERS);
        }
        Self {
            tasks,
            shadows: config.shadows.iter().map(Shadow::to_string).collect(),
            left_out,
        }
    }

    /// The names of the tasks that the agents are asked.
    pub fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// The names of all columns, in order.
    pub fn header(&self) -> Vec<String> {
        let empty = RoundRecord {
            task_rewards: vec![None; self.tasks.len()],
            shadows: vec![ShadowReward::default(); self.shadows.len()],
            ..RoundRecord::default()
        };
        let cells = empty.cells(self).into_iter();
        cells.map(|(name, _)| name).collect()
    }
}

impl RoundRecord {
    /// The row of an agent before anything is known of its round.
    pub(super) fn new(round: u32, agent: AgentId) -> Self {
        Self {
            round,
            agent: agent.0,
            ..Self::default()
        }
    }

    /// The row as (column, cell) pairs.
    ///
    /// # Panics
    /// When there is not one reward per task and one result per shadow draw.
    pub fn cells(&self, columns: &Columns) -> Vec<(String, String)> {
        let Columns {
            tasks,
            shadows,
            left_out,
        } = columns;
        assert_eq!(tasks.len(), self.task_rewards.len(), "one reward per task");
        assert_eq!(shadows.len(), self.shadows.len(), "one result per shadow");
        let mut fixed = self.columns();
        fixed.retain(|(name, _)| !left_out.contains(name));
        let fixed = fixed
            .into_iter()
            .map(|(name, cell)| (name.to_owned(), cell));
        let shadows = shadows.iter().zip(&self.shadows).flat_map(|(name, found)| {
            let groups = (format!("{name}_groups"), found.groups.cell());
            [(name.clone(), found.reward.cell()), groups]
        });
        let rewards = tasks.iter().zip(&self.task_rewards);
        let rewards = rewards.map(|(task, reward)| (format!("reward_{task}"), reward.cell()));
        fixed.chain(shadows).chain(rewards).collect()
    }

    /// What it generated, used or not: a reward of what was kept would be one of the selection.
    pub(super) fn add_generated(
        &mut self,
        own: &[ScoredRollout],
        unused: &[ScoredRollout],
        member: &dyn Responder,
        reward: &dyn Reward,
        tasks: &[String],
    ) {
        let generated = || own.iter().chain(unused);
        let completions: Vec<&Completion> =
            generated().flat_map(|r| &r.rollout.completions).collect();
        let tokens = || completions.iter().flat_map(|c| &c.tokens);
        let count = completions.len();
        let having = |wanted: &dyn Fn(&Completion) -> bool| {
            fraction(completions.iter().filter(|c| wanted(c)).count(), count)
        };
        let scored = generated().flat_map(|r| r.rollout.completions.iter().zip(&r.rewards));
        let tagged = scored.filter(|(completion, _)| reward.has_form(completion));
        let tagged: Vec<f64> = tagged.map(|(_, reward)| *reward).collect();
        let right = tagged.iter().filter(|reward| **reward >= 1.0).count();
        let of_task =
            |name: &String| rewards(generated().filter(|r| r.rollout.question.task == *name));
        self.own_reward = rewards(generated());
        self.entropy = some_mean(tokens().map(|t| f64::from(t.entropy)));
        self.own_logp = some_mean(tokens().map(|t| f64::from(t.logprob)));
        self.tagged_frac = fraction(tagged.len(), count);
        self.right_in_tags_frac = fraction(right, tagged.len());
        self.reencode_mismatch_frac = having(&|c| member.reencodes_differently(c));
        self.completions = count;
        self.completion_length = fraction(tokens().count(), count);
        self.clipped_completions = having(&|c| c.finish_reason == FinishReason::Length);
        self.task_rewards = tasks.iter().map(of_task).collect();
    }

    /// What it learned from, and what came of it.
    pub(super) fn add_trained(&mut self, set: &[ScoredRollout], stats: &UpdateStats) {
        let now = |r: &&ScoredRollout| r.rollout.id.round == self.round;
        let author = |r: &&ScoredRollout| r.rollout.id.author.0 == self.agent;
        let replayed = set.len() - set.iter().filter(now).count();
        let own = set.iter().filter(now).filter(author).count();
        let silent = set.iter().filter(|r| !r.has_signal()).count();
        self.train_reward = rewards(set.iter());
        self.frac_reward_zero_std = fraction(silent, set.len());
        self.own_groups = own;
        self.external_groups = set.len() - own;
        self.replayed_frac = fraction(replayed, set.len());
        self.loss = stats.loss;
        self.grad_norm = stats.grad_norm;
        self.steps = stats.steps;
        self.steps_without_signal = stats.steps_without_signal;
        self.global_step = stats.global_step;
        self.bad_updates = stats.bad_steps;
        self.clip_ratio = stats.clip_ratio;
        self.kl = stats.kl;
        self.foreign_logp = stats.foreign_logp;
        self.importance_weight = stats.importance_weight;
        self.truncated_frac = stats.truncated_frac;
        self.filtered_frac = stats.filtered_frac;
    }

    /// What the others showed it: how much was delivered, and what it could use of it.
    pub(super) fn add_pool(&mut self, pool: &[ScoredRollout], delivered: usize) {
        let signal = pool.iter().filter(|r| r.has_signal()).count();
        self.pool_groups = pool.len();
        self.pool_dropped = delivered - pool.len();
        self.pool_nonzero_frac = fraction(signal, pool.len());
    }
}

/// The mean reward of the completions of rollouts.
fn rewards<'a>(rollouts: impl Iterator<Item = &'a ScoredRollout>) -> Option<f64> {
    some_mean(rollouts.flat_map(|r| r.rewards.iter().copied()))
}

fn some_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| mean(&values))
}

fn fraction(count: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}

/// What can stand in a cell.
trait Cell {
    fn cell(&self) -> String;
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {
        $(impl Cell for $type {
            fn cell(&self) -> String {
                self.to_string()
            }
        })*
    };
}

whole_numbers!(u16 u32 u64 usize);

impl Cell for String {
    fn cell(&self) -> String {
        self.clone()
    }
}

impl Cell for Option<u64> {
    fn cell(&self) -> String {
        self.map_or(String::new(), |number| number.to_string())
    }
}

impl Cell for Option<f64> {
    fn cell(&self) -> String {
        number(*self)
    }
}

/// The shortest text that reads back as the same 32-bit float, which is more than any of these
/// numbers carries. NaN has no cell, and there is one zero.
fn number(value: Option<f64>) -> String {
    match value.map(|v| v as f32) {
        Some(v) if v.is_finite() => (v + 0.0).to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_means_blank_and_never_nan() {
        let record = RoundRecord {
            round: 2,
            own_reward: Some(0.5),
            loss: Some(f64::NAN),
            task_rewards: vec![None],
            ..Default::default()
        };
        let cells = record.cells(&Columns {
            tasks: vec!["bf".to_owned()],
            ..Columns::default()
        });
        let cell = |name: &str| cells.iter().find(|(n, _)| n == name).unwrap().1.clone();
        assert_eq!(cell("own_reward"), "0.5");
        assert_eq!(
            (number(Some(-0.0)), number(Some(1e-7))),
            ("0".to_owned(), "0.0000001".to_owned())
        );
        assert_eq!(cell("loss"), "");
        assert_eq!(cell("eval_reward"), "");
        assert_eq!(cell("reward_bf"), "");
    }
}
