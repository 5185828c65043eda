//! The experiment TOML as types, under TRL's names where TRL has one.
//!
//! There are no defaults for what shapes a result: the file states every number.

use super::base::Base;
use super::checkpoint::CheckpointTable;
use super::device::DeviceConfig;
use super::journal::LogTable;
use super::source;
use super::toml_file::{self, Sweep};
use crate::learn::{Decoding, TrainConfig};
use crate::rollout::AgentId;
use crate::swarm::{Mix, QuestionStream, Selection, SwarmConfig, TaskWeights, Tasks};
use crate::task::Scoring;
use crate::task::catalog::{self, TaskConfigs};
use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One experiment: a list of mixes times a list of seeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Rounds of each run.
    pub rounds: u32,
    /// Repetitions; the same seed asks the same own questions in every mix.
    pub seeds: Vec<u64>,
    /// Local and external rollouts.
    pub mixes: Vec<Mix>,
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
    /// When the state of a run is saved.
    #[serde(default)]
    pub checkpoint: CheckpointTable,
    /// What is written to be looked at.
    #[serde(default)]
    pub log: LogTable,
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
    pub weights: Option<Vec<f64>>,
    /// A file of questions in reasoning-gym's schema, a JSON object a line, to ask instead of fresh ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// How answers are scored.
    pub scoring: Scoring,
    /// Where agents take their questions from.
    pub questions: QuestionStream,
    /// A table a task that says how hard its questions are.
    #[serde(default)]
    pub difficulty: TaskConfigs,
}

/// The `[generate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerateTable {
    /// Completions a question.
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
    /// Members.
    pub agents: usize,
    /// The rule of the draw.
    pub selection: Selection,
    /// How often, at most, own rollouts without signal are dropped and as many new questions asked in a
    /// round; 0 keeps them all. DAPO (arXiv 2503.14476) calls it dynamic sampling.
    #[serde(default)]
    pub max_redraws: usize,
    /// Agents with a model or tasks of their own.
    #[serde(default, rename = "agent", skip_serializing_if = "Vec::is_empty")]
    pub specialists: Vec<SpecialistTable>,
}

/// A `[[swarm.agent]]` table: agents with a model or tasks of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecialistTable {
    /// Their numbers, counted from 0.
    pub agents: Vec<u16>,
    /// A model folder of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Names out of `tasks.names`; those of the swarm where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// How often each is asked, in proportion; equally often when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
}

/// The `[eval]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalTable {
    /// Rounds between evaluations; the first and the last round are always evaluated. 0 for none.
    pub every: u32,
    /// Held-out questions, the same for every agent, mix and seed.
    pub questions: usize,
}

/// Most rollouts of a kind, and most completions of one.
const MOST: usize = 4096;

impl Experiment {
    /// Reads an experiment, applies `key=value` overrides, and checks every value.
    ///
    /// # Errors
    /// Names the file and the key, what was found and what was expected.
    pub fn load(file: &Path, overrides: &[String]) -> Result<Self> {
        let experiment: Self = toml_file::load(file, overrides)?;
        experiment
            .validate()
            .map_err(|problem| anyhow!("{}: {problem}", file.display()))?;
        Ok(experiment)
    }

    /// The experiments of a file that may sweep a key over values.
    ///
    /// # Errors
    /// As [`Experiment::load`].
    pub fn load_all(file: &Path, overrides: &[String]) -> Result<Sweep<Self>> {
        let all: Sweep<Self> = toml_file::load_all(file, overrides)?;
        for (name, experiment) in &all.values {
            let place = if name.is_empty() {
                String::new()
            } else {
                format!(" with sweep value {name}")
            };
            experiment
                .validate()
                .map_err(|problem| anyhow!("{}{place}: {problem}", file.display()))?;
        }
        Ok(all)
    }

    fn validate(&self) -> Result<(), String> {
        let check = |ok: bool, key: &str, found: String, expected: &str| {
            if ok {
                Ok(())
            } else {
                Err(format!("{key}: found {found}, expected {expected}"))
            }
        };
        check(self.rounds > 0, "rounds", "0".into(), "at least 1")?;
        distinct("seeds", &self.seeds)?;
        let pairs: Vec<(usize, usize)> = self.mixes.iter().map(|m| (m.local, m.external)).collect();
        distinct("mixes", &pairs)?;
        for (i, mix) in self.mixes.iter().enumerate() {
            let key = format!("mixes[{i}]");
            let found = format!("{} local and {} external", mix.local, mix.external);
            let sizes = mix.local <= MOST && mix.external <= MOST;
            check(
                sizes,
                &key,
                found.clone(),
                &format!("at most {MOST} of each"),
            )?;
            check(
                mix.local + mix.external > 0,
                &key,
                found,
                "at least one rollout",
            )?;
        }
        let agents = self.swarm.agents;
        check(
            (1..=1024).contains(&agents),
            "swarm.agents",
            agents.to_string(),
            "1 to 1024",
        )?;
        let redraws = self.swarm.max_redraws;
        check(
            redraws <= MOST,
            "swarm.max_redraws",
            redraws.to_string(),
            &format!("0 to {MOST}"),
        )?;
        let generate = &self.generate;
        let group = generate.num_generations;
        let range = format!("1 to {MOST} (2 for a signal)");
        check(
            (1..=MOST).contains(&group),
            "generate.num_generations",
            group.to_string(),
            &range,
        )?;
        let longest = generate.max_completion_length;
        let sane = (1..=1 << 20).contains(&longest);
        check(
            sane,
            "generate.max_completion_length",
            longest.to_string(),
            "1 to 1048576",
        )?;
        let warmth = generate.temperature;
        let sane = warmth == 0.0 || (0.01..=100.0).contains(&warmth);
        check(
            sane,
            "generate.temperature",
            warmth.to_string(),
            "0 (greedy) or 0.01 to 100",
        )?;
        let top_p = generate.top_p;
        check(
            (0.0..=1.0).contains(&top_p),
            "generate.top_p",
            top_p.to_string(),
            "0 to 1",
        )?;
        let questions = self.eval.questions;
        let sane = questions <= 1 << 16 && (questions > 0 || self.eval.every == 0);
        check(
            sane,
            "eval.questions",
            questions.to_string(),
            "1 to 65536 where eval.every is not 0",
        )?;
        let kept = self.checkpoint.keep_last;
        check(
            (1..=1024).contains(&kept),
            "checkpoint.keep_last",
            kept.to_string(),
            "1 to 1024",
        )?;
        let mib = self.log.rollouts_mib;
        check(
            mib <= 1 << 20,
            "log.rollouts_mib",
            mib.to_string(),
            "0 to 1048576",
        )?;
        let memory = self.device.memory_gib.unwrap_or(1.0);
        check(
            memory > 0.0 && memory.is_finite(),
            "device.memory_gib",
            memory.to_string(),
            "more than 0",
        )?;
        self.train.validate()?;
        self.specialists()?;
        self.tasks().map(|_| ())
    }

    /// The tasks with their configurations and where their questions come from.
    ///
    /// # Errors
    /// Names the task, the field or the line that is wrong.
    pub fn tasks(&self) -> Result<Tasks, String> {
        let table = &self.tasks;
        distinct("tasks.names", &table.names)?;
        let build = |name: &String| catalog::build(name, &table.difficulty, table.scoring);
        let built: Result<Vec<_>, String> = table.names.iter().map(build).collect();
        let weights = weights(
            "tasks.weights",
            &table.names,
            &table.names,
            table.weights.as_deref(),
        )?;
        let mut tasks = Tasks::new(
            built.map_err(|problem| format!("tasks: {problem}"))?,
            weights,
        );
        if let Some(file) = &table.source {
            tasks = tasks.with_questions(&source::read(file)?);
        }
        tasks.check_splits()?;
        Ok(tasks)
    }

    fn specialists(&self) -> Result<BTreeMap<AgentId, TaskWeights>, String> {
        let mut all = BTreeMap::new();
        let mut seen = Vec::new();
        for (i, table) in self.swarm.specialists.iter().enumerate() {
            let key = format!("swarm.agent[{i}]");
            if table.tasks.is_empty() && table.model.is_none() {
                return Err(format!(
                    "{key}: found neither tasks nor model, expected at least one of them"
                ));
            }
            if table.tasks.is_empty() && table.weights.is_some() {
                return Err(format!(
                    "{key}.weights: found weights without tasks, expected one for each of its tasks"
                ));
            }
            let own = match &table.tasks[..] {
                [] => None,
                tasks => {
                    distinct(&format!("{key}.tasks"), tasks)?;
                    Some(weights(
                        &key,
                        &self.tasks.names,
                        tasks,
                        table.weights.as_deref(),
                    )?)
                }
            };
            for &agent in &table.agents {
                if usize::from(agent) >= self.swarm.agents {
                    let last = self.swarm.agents - 1;
                    return Err(format!(
                        "{key}.agents: found {agent}, expected 0 to {last} (swarm.agents - 1)"
                    ));
                }
                if seen.contains(&agent) {
                    return Err(format!(
                        "{key}.agents: found {agent} a second time, expected each agent once"
                    ));
                }
                seen.push(agent);
                if let Some(own) = &own {
                    all.insert(AgentId(agent), own.clone());
                }
            }
        }
        Ok(all)
    }

    /// The model folder that an agent starts from.
    pub fn model_of(&self, agent: usize) -> &Path {
        let tables = self.swarm.specialists.iter();
        let own = tables.filter(|table| {
            table
                .agents
                .iter()
                .any(|&other| usize::from(other) == agent)
        });
        own.filter_map(|table| table.model.as_deref())
            .next()
            .unwrap_or(&self.model.path)
    }

    /// Most tokens of a prompt of this model.
    pub fn max_prompt_length(&self, base: &Base) -> usize {
        let room = base.room(self.generate.max_completion_length);
        match self.generate.max_prompt_length {
            0 => room,
            most => most.min(room),
        }
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

    /// The round of a mix.
    pub fn swarm_config(&self, mix: Mix) -> SwarmConfig {
        SwarmConfig {
            mix,
            selection: self.swarm.selection,
            max_redraws: self.swarm.max_redraws,
            questions: self.tasks.questions,
            num_generations: self.generate.num_generations,
            decoding: self.decoding(),
            scale_rewards: self.train.scale_rewards,
            eval_questions: self.eval.questions,
            eval_every: self.eval.every,
            rounds: self.rounds,
            specialists: self.specialists().unwrap_or_default(),
        }
    }

    /// The file that would load as this experiment.
    ///
    /// # Errors
    /// Never for an experiment that was loaded.
    pub fn to_toml(&self) -> Result<String> {
        Ok(toml::to_string(self)?)
    }
}

fn distinct<T: PartialEq + std::fmt::Debug>(key: &str, items: &[T]) -> Result<(), String> {
    if items.is_empty() {
        return Err(format!("{key}: found an empty list, expected at least one"));
    }
    match items
        .iter()
        .enumerate()
        .find(|(i, item)| items[..*i].contains(item))
    {
        Some((_, item)) => Err(format!("{key}: found {item:?} twice, expected each once")),
        None => Ok(()),
    }
}

/// A weight for each of `all`: those given for `named`, one each when there are none, 0 for others.
pub(super) fn weights(
    key: &str,
    all: &[String],
    named: &[String],
    given: Option<&[f64]>,
) -> Result<TaskWeights, String> {
    if let Some(given) = given.filter(|given| given.len() != named.len()) {
        return Err(format!(
            "{key}: found {} weights, expected one for each of {} tasks",
            given.len(),
            named.len()
        ));
    }
    let mut weights = vec![0.0; all.len()];
    for (i, name) in named.iter().enumerate() {
        let Some(place) = all.iter().position(|known| known == name) else {
            return Err(format!(
                "{key}: found task {name:?}, expected one of tasks.names: {}",
                all.join(", ")
            ));
        };
        weights[place] = given.map_or(1.0, |given| given[i]);
    }
    TaskWeights::new(weights).map_err(|problem| format!("{key}: {problem}"))
}
