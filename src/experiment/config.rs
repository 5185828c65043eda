//! The experiment TOML as types, under TRL's names where TRL has one.
//!
//! There are no defaults for what shapes a result: the file states every number. What the tables may
//! hold is checked by `validate`; what they mean together is `resolved`.

use super::agent_table::{AgentTable, MemberKind};
use super::bus_table::BusTable;
use super::checkpoint::CheckpointTable;
use super::device::DeviceConfig;
use super::rollout_log::LogTable;
use crate::learn::{Decoding, TrainConfig};
use crate::report::Criterion;
use crate::swarm::{
    Admission, Ask, BalanceRule, DrawFrom, Mix, QuestionStream, ScheduledMix, Selection, Shadow,
    ShareLogprobs, SignalLimit, VirtualClock,
};
use crate::task::Scoring;
use crate::task::catalog::TaskConfigs;
use crate::tokenizer::ChatOptions;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// An experiment file, or one arm of it: then without `seeds` to repeat and arms to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// Rounds of each run.
    pub rounds: u32,
    /// Repetitions; the same seed asks the same own questions in every arm.
    pub seeds: Vec<u64>,
    /// The arm that the others are compared with; the one that shares nothing where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// What an arm is in a league of sharing rules; in none where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub league: Option<League>,
    /// Local and external rollouts, where they are the same in all arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Arms that differ in their mix and are named after it: the short form of `arm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<Mix>,
    /// Arms: a `name` each, and any keys of this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arm: Vec<toml::Table>,
    /// A key over whose values every arm is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepTable>,
    /// A key whose value is chosen for each arm before the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneTable>,
    /// Draws that are looked at and not learned from.
    #[serde(default, skip_serializing_if = "ShadowTable::is_empty")]
    pub shadow: ShadowTable,
    /// The language model that every agent starts from.
    pub model: ModelTable,
    /// What is asked.
    pub tasks: TasksTable,
    /// How it is answered.
    pub generate: GenerateTable,
    /// Who shares with whom.
    pub swarm: SwarmTable,
    /// How agents learn.
    pub train: TrainConfig,
    /// How they are examined.
    pub eval: EvalTable,
    /// Where.
    pub device: DeviceConfig,
    /// What carries rollouts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bus: BusTable,
    /// When the state of a run is saved.
    #[serde(default)]
    pub checkpoint: CheckpointTable,
    /// What is written to be looked at.
    #[serde(default)]
    pub log: LogTable,
}

/// What an arm is in a league of sharing rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum League {
    /// One of the paper's mixes, the best of which a rule must beat.
    Mix,
    /// An agent that learns from its own past in the place of others, the best of which a rule must beat too.
    SelfReplay,
    /// A rule of sharing.
    Rule,
    /// Shown to say how much there is to be had, and compared with nothing.
    Bound,
}

/// The `[sweep]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepTable {
    /// The key, with its tables: `train.learning_rate`.
    pub key: String,
    /// Its values.
    pub values: Vec<toml::Value>,
}

/// The `[tune]` table: every arm that does not state the key itself runs with each of the values on
/// seeds of its own, and then takes the value with the highest held-out reward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneTable {
    /// The key, with its tables: `train.learning_rate`.
    pub key: String,
    /// Its values, in ascending order.
    pub values: Vec<toml::Value>,
    /// Seeds that no result is reported on.
    pub seeds: Vec<u64>,
    /// Rounds of the tuning; those of the arm where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// When held-out rewards are compared.
    pub criterion: Criterion,
}

/// The `[shadow]` table: every mix with every selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShadowTable {
    /// Local and external rollouts.
    pub mixes: Vec<Mix>,
    /// Rules of the draw.
    pub selections: Vec<Selection>,
}

impl ShadowTable {
    fn is_empty(&self) -> bool {
        self.mixes.is_empty() && self.selections.is_empty()
    }

    /// All draws.
    pub(super) fn all(&self) -> Vec<Shadow> {
        let of_mix = |&mix| {
            let selections = self.selections.iter();
            selections.map(move |&selection| Shadow { mix, selection })
        };
        self.mixes.iter().flat_map(of_mix).collect()
    }
}

/// The `[model]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    /// A folder in Hugging Face's layout, or the id of a model on its hub.
    pub path: PathBuf,
    /// Random weights in the shape of this `config.json`, instead of those of the folder: for trials
    /// of a size whose weights are not at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_weights: Option<PathBuf>,
    /// Type of the matrices that completions are generated with. All else is f32.
    pub dtype: Dtype,
    /// Goes before the question where the chat template has a place for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Whether every run ends with saving the model of every agent, beside its CSV files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub save: bool,
    /// Values for the chat template, under TRL's name; `enable_thinking` is false where it is not among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_template_kwargs: Option<serde_json::Map<String, serde_json::Value>>,
}

impl ModelTable {
    /// What goes into every prompt besides the question.
    pub fn chat_options(&self) -> ChatOptions {
        ChatOptions {
            system: self.system_prompt.clone(),
            kwargs: self.chat_template_kwargs.clone().unwrap_or_default(),
        }
    }
}

/// Types of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 32-bit floats.
    F32,
    /// The upper halves of 32-bit floats.
    Bf16,
}

/// The `[tasks]` table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TasksTable {
    /// Registered names.
    pub names: Vec<String>,
    /// How often each is asked, in proportion; equally often when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proportions: Option<Vec<f64>>,
    /// A file of questions in reasoning-gym's schema, one JSON object per line, to ask instead of fresh ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// How answers are scored.
    pub scoring: Scoring,
    /// Where agents take their questions from.
    pub questions: QuestionStream,
    /// One table per task that says how hard its questions are.
    #[serde(default)]
    pub difficulty: TaskConfigs,
}

/// The `[generate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerateTable {
    /// Completions per question.
    pub num_generations: usize,
    /// Longest prompt in tokens; 0 for as long as the model has positions for it and a completion.
    pub max_prompt_length: usize,
    /// What is done with a question whose prompt is longer.
    pub overlong_prompts: Overlong,
    /// Longest completion in tokens.
    pub max_completion_length: usize,
    /// Divides the logits; 0 is greedy.
    pub temperature: f64,
    /// Probability mass that is kept.
    pub top_p: f64,
    /// Tokens that are kept; 0 keeps all.
    pub top_k: usize,
}

/// What is done with a question whose prompt is too long. It is never cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlong {
    /// The run ends with an error.
    Error,
    /// It is left out, and counted in `overlong_prompts`.
    Drop,
}

/// The `[swarm]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwarmTable {
    /// How many.
    pub agents: usize,
    /// The rule of the draw.
    pub selection: Selection,
    /// A virtual clock, in the place of lock-step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<VirtualClock>,
    /// How the mix of a round follows from that of the experiment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub balance: BalanceRule,
    /// Mixes from a round on, where the balance is a schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduledMix>,
    /// Whose rollouts are drawn.
    #[serde(default)]
    pub draw_from: DrawFrom,
    /// Of how many rounds before this one; 0 for those of this round.
    #[serde(default)]
    pub replay_rounds: u32,
    /// How often an agent learns from a rollout at most, where rounds before this one are drawn from; 0 for
    /// any number of times.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replay_max_uses: u32,
    /// What of its completions' log-probs an author publishes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub share_logprobs: ShareLogprobs,
    /// What is asked of the rollouts of others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub admission: Admission,
    /// How many rollouts of a training set may carry a signal.
    #[serde(default)]
    pub signal_limit: SignalLimit,
    /// How often, at most, own rollouts without signal are dropped and as many new questions asked in a
    /// round; 0 keeps them all. DAPO (arXiv 2503.14476) calls it dynamic sampling.
    #[serde(default)]
    pub max_redraws: usize,
    /// Most completions of an agent in a round with redraws; 0 for as many as the redraws ask for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_completions: usize,
    /// So many completions at a time, until their rewards differ or there are twice `num_generations`, of which those
    /// whose rewards vary most are kept; 0 for a whole group at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub generations_at_a_time: usize,
    /// How an agent chooses what it asks itself.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ask: Ask,
    /// Agents with a model or tasks of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent: Vec<AgentTable>,
}

/// Keys that came later are written where they say something, so that what was written before them is unchanged.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The `[eval]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalTable {
    /// Rounds between evaluations; the first and the last round are always evaluated. 0 for none.
    pub every: u32,
    /// Held-out questions, the same for every agent, arm and seed.
    pub questions: usize,
    /// Whether a judge asks each agent one more held-out question a round, the same for all, and scores one answer by
    /// the tasks' verifiers, as in the public demo of the paper's time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub judge: bool,
}

impl ExperimentFile {
    /// The table of an agent that has one of its own.
    pub fn table_of(&self, agent: usize) -> Option<&AgentTable> {
        let has = |table: &&AgentTable| table.agents.iter().any(|&a| usize::from(a) == agent);
        self.swarm.agent.iter().find(has)
    }

    /// Who an agent is.
    pub fn kind_of(&self, agent: usize) -> MemberKind {
        self.table_of(agent)
            .map(|table| table.kind)
            .unwrap_or_default()
    }

    /// What kind of member an agent is, by name.
    pub fn member_name(&self, agent: usize) -> String {
        let table = self.table_of(agent);
        let named = table.and_then(|table| table.name.clone());
        let model = self.model_of(agent).file_name().unwrap_or_default();
        let model = model.to_string_lossy();
        named.unwrap_or_else(|| table.map_or(model.to_string(), |table| table.describe(&model)))
    }

    /// Whether members are of several kinds.
    pub fn is_mixed(&self) -> bool {
        let first = self.member_name(0);
        (1..self.swarm.agents).any(|agent| self.member_name(agent) != first)
    }

    /// Whether a member carries out an attack.
    pub fn is_attacked(&self) -> bool {
        (0..self.swarm.agents).any(|agent| self.kind_of(agent) == MemberKind::Poison)
    }

    /// The agent that is the person at the terminal.
    pub fn person(&self) -> Option<usize> {
        (0..self.swarm.agents).find(|&agent| self.kind_of(agent) == MemberKind::Human)
    }

    /// The agents that are language models, learning or not.
    pub fn models(&self) -> impl Iterator<Item = usize> {
        let is_model = |kind| matches!(kind, MemberKind::Model | MemberKind::Frozen);
        (0..self.swarm.agents).filter(move |&agent| is_model(self.kind_of(agent)))
    }

    /// The model folder that an agent starts from.
    pub fn model_of(&self, agent: usize) -> &Path {
        let own = self
            .table_of(agent)
            .and_then(|table| table.model.as_deref());
        own.unwrap_or(&self.model.path)
    }

    /// How completions are decoded.
    pub fn decoding(&self) -> Decoding {
        Decoding {
            temperature: self.generate.temperature,
            top_k: self.generate.top_k,
            top_p: self.generate.top_p,
            max_completion_length: self.generate.max_completion_length,
        }
    }
}
