//! What an experiment will take, reckoned before it runs.

use super::arms::{Arm, Experiment};
use super::config::{ExperimentFile, Overlong};
use super::memory::{Memory, size};
use super::models::{Models, max_prompt_length};
use super::resolved::Resolved;
use crate::kernels::activation_tensors;
use crate::member::ModelFolder;
use crate::swarm::DrawFrom;
use anyhow::{Context, Result, ensure};
use std::fmt;
use std::sync::Arc;

/// Questions of each split looked at to learn how long prompts are.
const PROBES: u64 = 256;

/// Lengths of prompts, in tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Prompts {
    seen: u32,
    total: usize,
    longest: usize,
    overlong: u32,
}

/// What one arm generates.
#[derive(Clone, Debug)]
struct Work {
    name: String,
    rounds: u32,
    /// Completions of all agents in a round.
    completions: usize,
    /// Some rounds may have fewer.
    varies: bool,
    max_completion_length: usize,
    /// It would draw, and nobody generates what it could draw.
    nothing_to_draw: bool,
}

/// The plan of an experiment.
#[derive(Clone, Debug)]
pub struct Plan {
    seeds: usize,
    /// Arms and values, and seeds, of the tuning.
    tuning: Option<(usize, usize)>,
    arms: Vec<Work>,
    prompts: Prompts,
    /// Parameters of the model of each agent of the arm that needs most memory.
    parameters: Vec<usize>,
    device: String,
    threads: usize,
    /// What the arm that needs most needs.
    memory: Memory,
    /// What the device has, where that is known.
    available: Option<f64>,
}

impl Plan {
    /// Looks at the model folders (not at the values of their weights) and computes the plan.
    ///
    /// # Errors
    /// When the device cannot be used or prompts do not fit a model.
    pub fn new(experiment: &Experiment, models: &Models, threads: usize) -> Result<Self> {
        let device = &experiment.file.device;
        let tensors = activation_tensors(&device.open()?);
        let prompts = Prompts::of(experiment, models)?;
        let need =
            |arm: &&Arm| Memory::of(&arm.resolved, models, prompts.longest, threads, tensors);
        let order = |a: &&Arm, b: &&Arm| need(a).total().total_cmp(&need(b).total());
        let arms = experiment.arms.iter();
        let most = arms.max_by(order).context("an experiment has an arm")?;
        let agents = most.resolved.keys.models();
        Ok(Self {
            seeds: experiment.file.seeds.len(),
            tuning: experiment
                .tuning()?
                .map(|tuning| (tuning.arms.len(), tuning.file.seeds.len())),
            arms: experiment.arms.iter().map(Work::of).collect(),
            prompts,
            parameters: agents
                .map(|agent| models.of(&most.resolved, agent).config.parameters())
                .collect(),
            device: device.describe(),
            threads,
            memory: need(&most),
            available: device.memory(),
        })
    }

    /// # Errors
    /// When it needs more memory than the device has.
    pub fn fits(&self) -> Result<()> {
        let available = self.available.unwrap_or(f64::INFINITY);
        self.memory.fits(&self.device, available)
    }
}

impl Work {
    fn of(arm: &Arm) -> Self {
        let (keys, balance) = (&arm.resolved.keys, arm.resolved.balance());
        let agents = keys.swarm.agents;
        let replays = keys.swarm.draw_from == DrawFrom::Itself;
        let alone = balance.most_local() == 0 || (agents == 1 && !replays);
        Self {
            name: arm.name.clone(),
            rounds: keys.rounds,
            completions: agents * most_completions(keys, balance.most_local()),
            varies: balance.varies()
                || keys.swarm.clock.is_some()
                || keys.swarm.max_redraws > 0
                || keys.swarm.generations_at_a_time > 0,
            max_completion_length: keys.generate.max_completion_length,
            nothing_to_draw: balance.draws() && alone,
        }
    }
}

/// Most completions of an agent in a round.
fn most_completions(keys: &ExperimentFile, local: usize) -> usize {
    let (swarm, group) = (&keys.swarm, keys.generate.num_generations);
    let each = if swarm.generations_at_a_time > 0 {
        2 * group
    } else {
        group
    };
    let all = local * each * (1 + swarm.max_redraws);
    match swarm.max_completions {
        0 => all,
        most => all.min(most.max(local * group)),
    }
}

impl Prompts {
    /// Of all models and tasks that meet in an arm; what meets in several is looked at once.
    fn of(experiment: &Experiment, models: &Models) -> Result<Self> {
        let (mut all, mut seen) = (Self::default(), Vec::new());
        for arm in &experiment.arms {
            let (arm, keys) = (&arm.resolved, &arm.resolved.keys);
            for folder in models.folders(arm) {
                let most = max_prompt_length(keys, folder);
                let options = keys.model.chat_options();
                let (tasks, place) = (Arc::as_ptr(&arm.tasks), std::ptr::from_ref(folder));
                let pair = (tasks, place, most, options, keys.generate.overlong_prompts);
                if !seen.contains(&pair) {
                    all.look_at(arm, folder, most)?;
                    seen.push(pair);
                }
            }
        }
        Ok(all)
    }

    fn look_at(&mut self, arm: &Resolved, folder: &ModelFolder, most: usize) -> Result<()> {
        let keys = &arm.keys;
        let completion = keys.generate.max_completion_length;
        let positions = folder.config.max_position_embeddings();
        ensure!(
            most > 0,
            "generate.max_completion_length: found {completion}, expected less than the model's \
             {positions} positions"
        );
        let options = keys.model.chat_options();
        for question in arm.tasks.some_questions(PROBES) {
            let tokens = folder.tokenizer.prompt(&options, &question.text)?;
            folder.tokenizer.check_rows(&tokens)?;
            let length = tokens.len();
            self.seen += 1;
            if length > most {
                self.overlong += 1;
                ensure!(
                    keys.generate.overlong_prompts == Overlong::Drop,
                    "generate.overlong_prompts: found \"error\", and a prompt of {} has {length} \
                     tokens, where {most} are allowed by generate.max_prompt_length and by the \
                     model's {positions} positions less {completion} for the completion",
                    question.task
                );
                continue;
            }
            self.total += length;
            self.longest = self.longest.max(length);
        }
        Ok(())
    }

    fn mean(&self) -> f64 {
        self.total as f64 / f64::from((self.seen - self.overlong).max(1))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (agents, prompts) = (self.parameters.len(), &self.prompts);
        let (device, threads) = (&self.device, self.threads.min(agents));
        writeln!(f, "device       {device}, {threads} agents at a time")?;
        let mut sizes = self.parameters.clone();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        let sizes = sizes.join(", ");
        writeln!(f, "swarm        {agents} agents of {sizes} parameters")?;
        let (arms, seeds) = (self.arms.len(), self.seeds);
        writeln!(
            f,
            "runs         {} ({arms} arms x {seeds} seeds)",
            arms * seeds
        )?;
        if let Some((arms, seeds)) = self.tuning {
            let runs = arms * seeds;
            writeln!(
                f,
                "tuning       {runs} runs before them ({arms} arms with values x {seeds} seeds)"
            )?;
        }
        let (mean, longest, seen) = (prompts.mean(), prompts.longest, prompts.seen);
        writeln!(
            f,
            "prompts      {mean:.1} tokens on average, {longest} at most (of {seen} seen)"
        )?;
        if prompts.overlong > 0 {
            let overlong = prompts.overlong;
            let what = "of them are too long and will be left out";
            writeln!(f, "             note: {overlong} {what}")?;
        }
        self.arms.iter().try_for_each(|arm| arm.fmt(f))?;
        self.memory.fmt(f)?;
        match self.available {
            Some(available) => writeln!(f, "{:<12} {}", "of", size(available)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, rounds, completions) = (&self.name, self.rounds, self.completions);
        let all = completions as u128 * u128::from(rounds);
        let tokens = all * self.max_completion_length as u128;
        let most = if self.varies { "at most " } else { "" };
        writeln!(
            f,
            "arm {name:<8} {rounds} rounds of {most}{completions} completions, {most}{all} a run, {tokens} tokens \
             at most"
        )?;
        if self.nothing_to_draw {
            let what = "nobody else generates, so there is nothing to draw";
            writeln!(f, "             note: {what}")?;
        }
        Ok(())
    }
}
