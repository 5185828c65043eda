//! Runs an experiment: mixes times seeds, a swarm each, a row an agent and round.

use super::checkpoint::Checkpoints;
use super::config::{Experiment, Overlong};
use super::journal::Journal;
use super::models::Models;
use super::reserve::reserve;
use super::results::Results;
use crate::model::Decoder;
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

/// Who watches the runs of an experiment and may stop them.
pub trait Watcher {
    /// A round is done.
    fn round(&mut self, progress: Progress);

    /// Something that whoever started the runs should know.
    fn note(&mut self, note: String);

    /// True when the runs are to stop after this round.
    fn stop(&self) -> bool {
        false
    }
}

/// How the runs of an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of them have all their rounds.
    Complete,
    /// They were stopped, and go on from there the next time.
    Stopped,
}

/// Runs every mix and seed that is not finished yet, `threads` agents at a time, and writes their CSV files.
///
/// # Errors
/// When the model or the device cannot be used, or a file cannot be read or written.
pub fn run(
    experiment: &Experiment,
    results: &Results,
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Result<Ending> {
    let models = Models::open(experiment)?;
    let weights = models.weights(&experiment.device.open()?)?;
    // the same threads for all runs: each keeps the memory that it has freed
    let workers = match experiment.device.is_gpu() {
        true => Workers::here(),
        false => Workers::new(threads).context("no thread can be started")?,
    };
    let runs: Vec<(Mix, u64)> = experiment
        .seeds
        .iter()
        .flat_map(|&seed| experiment.mixes.iter().map(move |&mix| (mix, seed)))
        .collect();
    let total = runs.len() as u64 * u64::from(experiment.rounds);
    let workers = Arc::new(workers);
    let mut all = Runs {
        experiment,
        results,
        models,
        weights,
        workers,
        reserved: false,
        done: 0,
        total,
    };
    for (mix, seed) in runs {
        if all.run(mix, seed, watcher)? == Ending::Stopped {
            return Ok(Ending::Stopped);
        }
    }
    Ok(Ending::Complete)
}

/// What all runs have in common.
struct Runs<'a> {
    experiment: &'a Experiment,
    results: &'a Results,
    models: Models,
    weights: Vec<Decoder>,
    workers: Arc<Workers>,
    /// Whether the memory of the largest round is reserved.
    reserved: bool,
    /// Rounds done and rounds of all runs.
    done: u64,
    total: u64,
}

impl Runs<'_> {
    /// A run from where it stood.
    fn run(&mut self, mix: Mix, seed: u64, watcher: &mut dyn Watcher) -> Result<Ending> {
        let (experiment, table) = (self.experiment, &self.experiment.checkpoint);
        let dir = self.results.run_dir(mix, seed);
        let checkpoints = Checkpoints::new(&dir, table.keep_last);
        let found = checkpoints.newest(&dir, &mut |note| watcher.note(note))?;
        let start = found.as_ref().map_or(0, |found| found.round);
        self.done += u64::from(start);
        if start >= experiment.rounds {
            return Ok(Ending::Complete);
        }
        let policies = self.models.policies(experiment, &self.weights);
        let tasks = experiment.tasks().map_err(|problem| anyhow!(problem))?;
        if !std::mem::replace(&mut self.reserved, true) {
            reserve(
                experiment,
                &self.models,
                &self.weights,
                &tasks,
                &self.workers,
            );
        }
        let names = tasks.names();
        let config = experiment.swarm_config(mix);
        let mut swarm = Swarm::new(
            policies,
            tasks,
            config,
            Seed::new(seed),
            Arc::clone(&self.workers),
        );
        let mut files = match &found {
            Some(found) => {
                let cut = found
                    .csv
                    .iter()
                    .map(|position| position.behind(&dir))
                    .sum::<Result<u64>>()?;
                let cut = if cut > 0 {
                    "; rows after it are cut off and made again"
                } else {
                    ""
                };
                watcher.note(format!(
                    "{}: goes on after round {start}{cut}",
                    dir.display()
                ));
                found.restore(&mut swarm)?;
                self.results.resume(mix, seed, names, &found.csv)?
            }
            None => self.results.run(mix, seed, names)?,
        };
        let mut journal = Journal::open(&dir, &experiment.log, experiment.rounds, start)?;
        let mut bad = BadUpdates::default();
        let mut eval_reward = None;
        for round in start + 1..=experiment.rounds {
            let mut clock = Clock::default();
            let records = swarm.step(round, |phase| clock.start(phase));
            let seconds = clock.stop();
            files.write(&records, seconds)?;
            journal.round(&records, seconds.iter().sum(), &swarm)?;
            bad.look_at(experiment, &records, &swarm, &journal, watcher)?;
            stop_if_diverged(&records, &swarm)?;
            stop_if_overlong(experiment, &records)?;
            self.done += 1;
            eval_reward = mean_of(&records, |r| r.eval_reward).or(eval_reward);
            let own_reward = mean_of(&records, |r| r.own_reward).unwrap_or(0.0);
            let train_reward = mean_of(&records, |r| r.train_reward).unwrap_or(0.0);
            let (done, total) = (self.done, self.total);
            watcher.round(Progress {
                mix,
                seed,
                round,
                done,
                total,
                own_reward,
                train_reward,
                eval_reward,
            });
            let (last, stop) = (round == experiment.rounds, watcher.stop());
            if last {
                if experiment.model.save {
                    self.models.save(
                        swarm.agents().iter().map(Agent::policy),
                        &dir.join("models"),
                    )?;
                }
                files.finish()?;
            }
            if table.every > 0 && (last || stop || round.is_multiple_of(table.every)) {
                checkpoints.save(round, &swarm, files.sync()?)?;
            }
            if stop {
                return Ok(Ending::Stopped);
            }
        }
        Ok(Ending::Complete)
    }
}

/// The mean over the agents that have such a number.
fn mean_of(records: &[RoundRecord], of: fn(&RoundRecord) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = records.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| mean(&values))
}

/// Updates in a row that were left out, an agent each.
#[derive(Default)]
struct BadUpdates(Vec<usize>);

impl BadUpdates {
    /// # Errors
    /// When an agent has too many in a row.
    fn look_at(
        &mut self,
        experiment: &Experiment,
        records: &[RoundRecord],
        swarm: &Swarm,
        journal: &Journal,
        watcher: &mut dyn Watcher,
    ) -> Result<()> {
        self.0.resize(records.len(), 0);
        for ((count, record), agent) in self.0.iter_mut().zip(records).zip(swarm.agents()) {
            if record.bad_updates == 0 {
                *count = if record.steps > 0 { 0 } else { *count };
                continue;
            }
            *count += 1;
            let (round, number, most) =
                (record.round, record.agent, experiment.train.max_bad_updates);
            let batch = journal.bad_update(round, agent, swarm)?;
            let note = format!(
                "round {round}, agent {number}: loss or gradient is not finite, {} updates left out; the batch is in {}",
                record.bad_updates,
                batch.display()
            );
            ensure!(
                *count <= most,
                "{note}; {count} in a row, where train.max_bad_updates allows {most}: the step size may be too large"
            );
            watcher.note(note);
        }
        Ok(())
    }
}

/// # Errors
/// When the distributions that an agent generated from or its weights are not numbers any more.
fn stop_if_diverged(records: &[RoundRecord], swarm: &Swarm) -> Result<()> {
    let broken = swarm
        .agents()
        .iter()
        .zip(records)
        .find(|(agent, _)| !agent.is_sound());
    if let Some((_, record)) = broken {
        bail!(
            "round {}, agent {}: a weight is not finite after the update; the step size may be too large",
            record.round,
            record.agent
        );
    }
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
