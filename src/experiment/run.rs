//! Runs an experiment: mixes times seeds, a swarm each, a row an agent and round.

use super::config::{Experiment, Overlong};
use super::models::Models;
use super::results::Results;
use crate::record::RoundRecord;
use crate::rollout::mean;
use crate::seed::Seed;
use crate::swarm::{Agent, Mix, Phase, Swarm, Workers};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::sync::Arc;
use std::time::Instant;

/// What is told to whoever watches, after every round.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The mix that runs.
    pub mix: Mix,
    /// The seed that runs.
    pub seed: u64,
    /// Rounds done in this run.
    pub round: u32,
    /// Rounds done in all runs.
    pub done: u64,
    /// Rounds of all runs.
    pub total: u64,
    /// Mean own reward over the agents in this round.
    pub own_reward: f64,
    /// Mean reward of the training sets in this round.
    pub train_reward: f64,
    /// Mean held-out reward of the latest evaluation.
    pub eval_reward: Option<f64>,
}

/// Runs every mix and seed, `threads` agents at a time, and writes their CSV files.
///
/// # Errors
/// When the model or the device cannot be used, or a file cannot be written.
pub fn run(experiment: &Experiment, results: &Results, threads: usize, mut watch: impl FnMut(Progress)) -> Result<()> {
    let models = Models::open(experiment)?;
    let weights = models.weights(&experiment.device.open()?)?;
    let runs = || experiment.seeds.iter().flat_map(|&seed| experiment.mixes.iter().map(move |&mix| (mix, seed)));
    let total = runs().count() as u64 * u64::from(experiment.rounds);
    // the same threads for all runs: each keeps the memory that it has freed
    let workers = match experiment.device.is_gpu() {
        true => Workers::here(),
        false => Workers::new(threads).context("no thread can be started")?,
    };
    let workers = Arc::new(workers);
    let mut done = 0;
    for (mix, seed) in runs() {
        let policies = models.policies(experiment, &weights);
        let tasks = experiment.tasks().map_err(|problem| anyhow!(problem))?;
        let names = tasks.names();
        let mut swarm =
            Swarm::new(policies, tasks, experiment.swarm_config(mix), Seed::new(seed), Arc::clone(&workers));
        let mut files = results.run(mix, seed, names)?;
        let mut eval_reward = None;
        for round in 1..=experiment.rounds {
            let mut clock = Clock::default();
            let records = swarm.step(round, |phase| clock.start(phase));
            files.write(&records, clock.stop())?;
            stop_if_diverged(&records)?;
            stop_if_overlong(experiment, &records)?;
            done += 1;
            let series = |of: fn(&RoundRecord) -> Option<f64>| records.iter().filter_map(of).collect::<Vec<_>>();
            let evaluated = series(|r| r.eval_reward);
            if !evaluated.is_empty() {
                eval_reward = Some(mean(&evaluated));
            }
            let own_reward = mean(&series(|r| r.own_reward));
            let train_reward = mean(&series(|r| r.train_reward));
            watch(Progress { mix, seed, round, done, total, own_reward, train_reward, eval_reward });
        }
        if experiment.model.save {
            models.save(swarm.agents().iter().map(Agent::policy), &files.dir().join("models"))?;
        }
        files.finish()?;
    }
    Ok(())
}

/// # Errors
/// When the distributions that an agent generated from are not numbers any more.
fn stop_if_diverged(records: &[RoundRecord]) -> Result<()> {
    for record in records {
        let entropy = record.entropy.unwrap_or(0.0);
        ensure!(
            entropy.is_finite(),
            "round {}, agent {}: its model gives logits that are not finite; the step size may be too large",
            record.round,
            record.agent
        );
    }
    Ok(())
}

/// # Errors
/// When a prompt was too long and the experiment does not allow that.
fn stop_if_overlong(experiment: &Experiment, records: &[RoundRecord]) -> Result<()> {
    let record = records.iter().find(|record| record.overlong_prompts > 0);
    match record.filter(|_| experiment.generate.overlong_prompts == Overlong::Error) {
        None => Ok(()),
        Some(record) => bail!(
            "round {}, agent {}: {} prompts are longer than generate.max_prompt_length or the model allows; \
             generate.overlong_prompts = \"drop\" leaves them out",
            record.round,
            record.agent,
            record.overlong_prompts
        ),
    }
}

/// Seconds of each phase of a round.
#[derive(Default)]
struct Clock {
    seconds: [f64; 3],
    running: Option<(Phase, Instant)>,
}

impl Clock {
    fn start(&mut self, phase: Phase) {
        self.close();
        self.running = Some((phase, Instant::now()));
    }

    fn stop(mut self) -> [f64; 3] {
        self.close();
        self.seconds
    }

    fn close(&mut self) {
        if let Some((phase, since)) = self.running.take() {
            self.seconds[phase as usize] += since.elapsed().as_secs_f64();
        }
    }
}
