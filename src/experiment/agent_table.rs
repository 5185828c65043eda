//! The `[[swarm.agent]]` tables: who sits where, and what they find good.

use crate::member::Attack;
use crate::task::Scoring;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A `[[swarm.agent]]` table: agents with a member, a reward or tasks of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTable {
    /// Their numbers, counted from 0.
    pub agents: Vec<u16>,
    /// What they are called in tables, all of them together; what they are where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who they are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: MemberKind,
    /// Name and arguments of the program of a `command`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How long a program may take for all questions of a round, 60 where it is left out; how long a round waits for
    /// a person, 0 where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// How a `poison` harms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<Attack>,
    /// Whether it is asked the held-out questions too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub examined: bool,
    /// What a `file` publishes: the `rollouts.jsonl` of a run or its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The agent of that run; the one of the same number where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_agent: Option<u16>,
    /// Whether its rounds begin again after the last.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cycle: bool,
    /// What they find good; what the tasks' verifiers do where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<RewardTable>,
    /// A model folder of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Names out of `tasks.names`; those of the swarm where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// How often each is asked, in proportion; equally often when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportions: Option<Vec<f64>>,
}

impl AgentTable {
    /// What they are, in short: kind, model, tasks and taste, as far as these are their own.
    pub fn describe(&self, model: &str) -> String {
        let program = self.command.last().map_or("", |word| word);
        let program = program.rsplit('/').next().unwrap_or_default();
        let who = match self.kind {
            MemberKind::Model => model.to_owned(),
            MemberKind::Frozen => format!("{model}, frozen"),
            MemberKind::Command => program.to_owned(),
            MemberKind::File => "recorded".to_owned(),
            MemberKind::Human => "human".to_owned(),
            MemberKind::Poison => "poison".to_owned(),
        };
        let tasks = (!self.tasks.is_empty()).then(|| self.tasks.join(" and "));
        let taste = self.reward.as_ref().map(|_| "own reward".to_owned());
        let parts = [Some(who), tasks, taste].into_iter().flatten();
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// Who an agent is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    /// A language model that learns.
    #[default]
    Model,
    /// One that does not.
    Frozen,
    /// A program of the user's.
    Command,
    /// Recorded rollouts.
    File,
    /// The person at the terminal.
    Human,
    /// Whoever harms on purpose.
    Poison,
}

/// The `reward` of a `[[swarm.agent]]` table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardTable {
    /// How the tasks' verifiers score; as `tasks.scoring` says where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoring: Option<Scoring>,
    /// Name and arguments of a program that scores in their place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// How long it may take for a rollout; 60 where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
    /// Added where a completion has an answer in tags.
    #[serde(skip_serializing_if = "is_default")]
    pub form: f64,
    /// Added for each character of a completion.
    #[serde(skip_serializing_if = "is_default")]
    pub character: f64,
    /// Added where a completion was cut off.
    #[serde(skip_serializing_if = "is_default")]
    pub cut_off: f64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
