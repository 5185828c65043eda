//! One arm of an experiment, validated and built once: nothing below can meet a wrong value.

use super::agent_table::{AgentTable, MemberKind};
use super::config::{ExperimentFile, TasksTable};
use super::questions_file;
use super::validate::{check, distinct, proportions, validate_mix};
use crate::member::PAYLOAD;
use crate::reward::Verifiers;
use crate::rollout::Question;
use crate::swarm::{Balance, Mix, Replay, Sampling, SwarmConfig, TaskProportions, Tasks};
use crate::task::{Scoring, catalog};
use crate::wire::Limits;
use anyhow::anyhow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a run of an arm is made of.
#[derive(Clone)]
pub struct Resolved {
    /// Its keys. What concerns all arms alike (seeds, device, checkpoint, log) is that of the file.
    pub keys: ExperimentFile,
    /// Local and external rollouts.
    pub mix: Mix,
    /// What is asked, with given questions read.
    pub tasks: Arc<Tasks>,
    /// How often each agent is asked each task.
    pub proportions: Vec<TaskProportions>,
}

impl Resolved {
    /// Checks the keys of an arm and builds what they name.
    ///
    /// # Errors
    /// Names the key, what was found and what was expected.
    pub(super) fn new(keys: ExperimentFile, built: &mut Built) -> Result<Self, String> {
        keys.validate()?;
        let mix = keys
            .mix
            .ok_or("mix: missing, expected { local = I, external = J }")?;
        validate_mix("mix", mix)?;
        let own = specialists(&keys)?;
        let tasks = built.tasks(&keys.tasks)?;
        let all = |agent| own.get(&agent).unwrap_or(tasks.proportions()).clone();
        Ok(Self {
            proportions: (0..keys.swarm.agents).map(all).collect(),
            mix,
            tasks,
            keys,
        })
    }

    /// How many rollouts of each kind a training set has.
    pub fn balance(&self) -> Balance {
        Balance {
            rule: self.keys.swarm.balance,
            mix: self.mix,
            schedule: self.keys.swarm.schedule.clone(),
        }
    }

    /// The verifiers of its tasks, scoring in another way.
    ///
    /// # Errors
    /// Never for tasks that were built once.
    pub(super) fn verifiers(&self, scoring: Scoring) -> anyhow::Result<Verifiers> {
        let table = &self.keys.tasks;
        let build = |name: &String| catalog::build(name, &table.difficulty, scoring);
        let tasks: Result<Vec<_>, String> = table.names.iter().map(build).collect();
        let tasks = tasks.map_err(|problem| anyhow!("tasks: {problem}"))?;
        Ok(Verifiers::new(tasks.into_iter().map(Arc::from)))
    }

    /// Whether some agents are programs or recordings, or have programs for rewards.
    fn has_outsiders(&self) -> bool {
        let keys = &self.keys;
        let program =
            |table: &AgentTable| table.reward.as_ref().is_some_and(|r| !r.command.is_empty());
        keys.models().count() < keys.swarm.agents || keys.swarm.agent.iter().any(program)
    }

    /// The round of this arm.
    pub fn swarm(&self, limits: Limits) -> SwarmConfig {
        let keys = &self.keys;
        SwarmConfig {
            clock: keys.swarm.clock,
            balance: self.balance(),
            selection: Arc::new(keys.swarm.selection),
            replay: Replay {
                from: keys.swarm.draw_from,
                rounds: keys.swarm.replay_rounds,
                max_uses: keys.swarm.replay_max_uses,
            },
            share_logprobs: keys.swarm.share_logprobs,
            signal_limit: keys.swarm.signal_limit,
            shadows: keys.shadow.all(),
            max_redraws: keys.swarm.max_redraws,
            questions: keys.tasks.questions,
            ask: keys.swarm.ask,
            sampling: Sampling {
                num_generations: keys.generate.num_generations,
                at_a_time: keys.swarm.generations_at_a_time,
                most: keys.swarm.max_completions,
            },
            admission: keys.swarm.admission,
            payload: keys.is_attacked().then_some(PAYLOAD),
            weighs_foreign: keys.train.weighs_foreign(),
            outsiders: self.has_outsiders(),
            mixed: self.keys.is_mixed(),
            scale_rewards: keys.train.scale_rewards,
            foreign_lean: keys.train.foreign_lean,
            eval_questions: keys.eval.questions,
            eval_every: keys.eval.every,
            judge: keys.eval.judge,
            rounds: keys.rounds,
            limits,
        }
    }
}

/// The proportions of agents with tasks of their own.
fn specialists(keys: &ExperimentFile) -> Result<BTreeMap<usize, TaskProportions>, String> {
    let (mut all, mut seen) = (BTreeMap::new(), Vec::new());
    for (i, table) in keys.swarm.agent.iter().enumerate() {
        let key = format!("swarm.agent[{i}]");
        table.validate(&key)?;
        let own = own_tasks(&key, table, &keys.tasks.names)?;
        for &agent in &table.agents {
            let (last, known) = (
                keys.swarm.agents - 1,
                usize::from(agent) < keys.swarm.agents,
            );
            let key = format!("{key}.agents");
            check(
                known,
                &key,
                agent,
                &format!("0 to {last} (swarm.agents - 1)"),
            )?;
            let twice = format!("{agent} a second time");
            check(!seen.contains(&agent), &key, twice, "each agent once")?;
            seen.push(agent);
            all.extend(own.iter().map(|own| (usize::from(agent), own.clone())));
        }
    }
    Ok(all)
}

/// The proportions that a table of agents gives; none for those of the swarm.
fn own_tasks(
    key: &str,
    table: &AgentTable,
    all: &[String],
) -> Result<Option<TaskProportions>, String> {
    let given = table.proportions.as_deref();
    if !table.tasks.is_empty() {
        distinct(&format!("{key}.tasks"), &table.tasks)?;
        return proportions(key, all, &table.tasks, given).map(Some);
    }
    let other = table.model.is_some() || table.kind != MemberKind::Model || table.reward.is_some();
    let found = "neither tasks nor model, kind or reward";
    check(other, key, found, "at least one of them")?;
    let (key, found) = (format!("{key}.proportions"), "proportions without tasks");
    check(given.is_none(), &key, found, "one for each of its tasks")?;
    Ok(None)
}

/// What arms have in common is read and built once.
#[derive(Default)]
pub(super) struct Built {
    /// By the text of their table.
    tasks: BTreeMap<String, Arc<Tasks>>,
    files: BTreeMap<PathBuf, Arc<[Question]>>,
}

impl Built {
    fn tasks(&mut self, table: &TasksTable) -> Result<Arc<Tasks>, String> {
        let text = toml::to_string(table).map_err(|e| format!("tasks: {e}"))?;
        if let Some(tasks) = self.tasks.get(&text) {
            return Ok(Arc::clone(tasks));
        }
        distinct("tasks.names", &table.names)?;
        let build = |name: &String| catalog::build(name, &table.difficulty, table.scoring);
        let all: Result<Vec<_>, String> = table.names.iter().map(build).collect();
        let all = all.map_err(|problem| format!("tasks: {problem}"))?;
        let proportions = proportions(
            "tasks.proportions",
            &table.names,
            &table.names,
            table.proportions.as_deref(),
        )?;
        let mut tasks = Tasks::new(all.into_iter().map(Arc::from).collect(), proportions);
        if let Some(file) = &table.source {
            tasks = tasks.with_questions(&self.questions(file)?);
        }
        tasks.check_splits()?;
        let tasks = Arc::new(tasks);
        self.tasks.insert(text, Arc::clone(&tasks));
        Ok(tasks)
    }

    fn questions(&mut self, file: &Path) -> Result<Arc<[Question]>, String> {
        if let Some(known) = self.files.get(file) {
            return Ok(Arc::clone(known));
        }
        let read: Arc<[Question]> = questions_file::read(file)?.into();
        self.files.insert(file.to_owned(), Arc::clone(&read));
        Ok(read)
    }
}
