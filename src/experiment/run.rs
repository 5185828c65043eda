//! Runs an experiment: arms times seeds, a swarm each, one row per agent and round.

use super::arms::{Arm, Experiment};
use super::checkpoint::{Checkpoints, Loaded};
use super::models::Models;
use super::node::Node;
use super::preallocate::preallocate;
use super::results::{Results, RunFiles, is_complete};
use super::rollout_log::RolloutLog;
use super::run_checks::{BadUpdates, RunFailed, diverged, overlong};
use super::watcher::{Progress, Watcher};
use crate::model::Decoder;
use crate::report::write_means;
use crate::results_layout::{MEANS, MODELS};
use crate::rollout::mean;
use crate::seed::Seed;
use crate::swarm::{Phase, RoundRecord, Swarm, Workers};
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How the runs of an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of them have all their rounds.
    Complete,
    /// They were stopped, and go on from there the next time.
    Stopped,
}

/// How an experiment is run. It shapes no result.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Agents that work at the same time.
    pub threads: usize,
    /// Keep runs whose CSV files have all their rounds, whoever made them, instead of only those that
    /// have their last checkpoint.
    pub only_missing: bool,
}

/// Runs every arm and seed that is not finished yet and writes their CSV files. A run that cannot go on is told to the watcher, and does not keep others from being made.
///
/// # Errors
/// When the model or the device cannot be used, a file cannot be read or written, or, after all
/// others were made, a run cannot go on.
pub fn run(
    experiment: &Experiment,
    models: &Models,
    results: &Results,
    node: &Node,
    options: RunOptions,
    watcher: &mut dyn Watcher,
) -> Result<Ending> {
    let device = &experiment.file.device;
    let weights = models.weights(&device.open()?)?;
    // the same threads for all runs: each keeps the memory that it has freed
    let workers = match device.is_gpu() {
        true => Workers::here(),
        false => {
            let agents = experiment
                .arms
                .iter()
                .map(|arm| arm.resolved.keys.swarm.agents);
            // more than agents would have nothing to do
            let threads = options.threads.min(agents.max().unwrap_or(1));
            Workers::new(threads).context("no thread can be started")?
        }
    };
    let mut all = Runs {
        experiment,
        models,
        node,
        weights,
        workers: Arc::new(workers),
        preallocated: false,
        done: 0,
        total: 0,
        failed: Vec::new(),
    };
    let mut runs = Vec::new();
    for (arm, seed) in experiment.runs() {
        let dir = results.run_dir(arm, seed);
        let keys = &arm.resolved.keys;
        if options.only_missing && is_complete(&dir, keys.rounds, keys.swarm.agents) {
            continue;
        }
        let checkpoints = Checkpoints::new(&dir, experiment.file.checkpoint.keep_last);
        let found = checkpoints.newest(&dir, &mut |note| watcher.note(note))?;
        // what was done before counts from the first on, so that the time left is that of what is left
        let before = found.as_ref().map_or(0, |found| found.round);
        all.done += u64::from(before.min(arm.resolved.keys.rounds));
        all.total += u64::from(arm.resolved.keys.rounds);
        runs.push((arm, seed, found));
    }
    watcher.start(all.done, all.total);
    for (arm, seed, found) in runs {
        let run = Run {
            arm,
            seed,
            dir: &results.run_dir(arm, seed),
        };
        let start = found.as_ref().map_or(0, |found| found.round);
        let end = all.done + u64::from(arm.resolved.keys.rounds.saturating_sub(start));
        match all.make(&run, found.as_ref(), watcher) {
            Ok(Ending::Stopped) => return Ok(Ending::Stopped),
            Ok(Ending::Complete) => {}
            Err(error) if error.is::<RunFailed>() => all.give_up(&run, &error, watcher),
            Err(error) => return Err(error),
        }
        all.done = end;
    }
    match &all.failed[..] {
        [] => Ok(Ending::Complete),
        failed => Err(RunFailed(failed.join("\n")).into()),
    }
}

/// What all runs have in common.
struct Runs<'a> {
    experiment: &'a Experiment,
    models: &'a Models,
    node: &'a Node,
    weights: Vec<Decoder>,
    workers: Arc<Workers>,
    /// Whether the memory of the largest round is there.
    preallocated: bool,
    /// Rounds done and rounds of all runs.
    done: u64,
    total: u64,
    /// What became of runs that could not go on.
    failed: Vec<String>,
}

/// One run.
struct Run<'a> {
    arm: &'a Arm,
    seed: u64,
    dir: &'a Path,
}

impl Runs<'_> {
    /// A run from where it stood.
    fn make(
        &mut self,
        run: &Run<'_>,
        found: Option<&Loaded>,
        watcher: &mut dyn Watcher,
    ) -> Result<Ending> {
        let (keys, start) = (&run.arm.resolved.keys, found.map_or(0, |found| found.round));
        let means = self.experiment.file.log.means;
        if start >= keys.rounds {
            // it may have been stopped after its last checkpoint
            if means && !run.dir.join(MEANS).exists() {
                write_means(run.dir)?;
            }
            return Ok(Ending::Complete);
        }
        if !std::mem::replace(&mut self.preallocated, true) {
            let largest = &self.experiment.largest().resolved;
            let members = self.models.members(largest, &self.weights);
            preallocate(largest, members, &self.workers)?;
        }
        let mut swarm = self.swarm(run, start + 1)?;
        let mut files = match found {
            Some(found) => resume(run, found, &mut swarm, watcher)?,
            None => RunFiles::create(run.dir, swarm.columns())?,
        };
        let mut log = RolloutLog::open(run.dir, &self.experiment.file.log, keys.rounds, start)?;
        let mut bad = BadUpdates(found.map_or(Vec::new(), |found| found.bad_updates.clone()));
        let table = &self.experiment.file.checkpoint;
        let checkpoints = Checkpoints::new(run.dir, table.keep_last);
        let mut eval_reward = None;
        for round in start + 1..=keys.rounds {
            let mut clock = Clock::default();
            let records = swarm.step(round, |phase| clock.start(phase))?;
            let seconds = clock.stop();
            for agent in swarm.agents() {
                let place = format!("round {round}: agent {}", agent.id());
                agent
                    .notes()
                    .iter()
                    .for_each(|note| watcher.note(format!("{place}: {note}")));
            }
            files.write(&records, seconds)?;
            log.round(&records, seconds.iter().sum(), &swarm)?;
            let here = swarm.records_here(&records);
            bad.count(keys.train.max_bad_updates, &here, &swarm, &log, watcher)?;
            diverged(&here, &swarm)?;
            overlong(keys, &here)?;
            self.done += 1;
            eval_reward = mean_of(&records, |r| r.eval_reward).or(eval_reward);
            watcher.round(self.progress(run, round, &records, eval_reward));
            let (last, stop) = (round == keys.rounds, watcher.stop());
            if last {
                export(keys.model.save, &swarm, run.dir)?;
                files.finish()?;
                keep_means(means, run.dir)?;
            }
            if table.every > 0 && (last || stop || round.is_multiple_of(table.every)) {
                checkpoints.save(round, &swarm, files.sync()?, &bad.0)?;
            }
            if stop {
                return Ok(Ending::Stopped);
            }
        }
        Ok(Ending::Complete)
    }

    /// The swarm of a run before the first round that is made here.
    fn swarm(&self, run: &Run<'_>, first: u32) -> Result<Swarm> {
        let arm = &run.arm.resolved;
        let limits = self.models.limits(arm);
        let name = format!("{}/{}", run.arm.name, run.seed);
        Ok(Swarm::hosting(
            self.models.seats(arm, &self.weights, self.node)?,
            arm.keys.swarm.agents,
            self.node.bus(arm, &name, limits, first)?,
            Arc::clone(&arm.tasks),
            arm.swarm(limits),
            Seed::new(run.seed),
            Arc::clone(&self.workers),
        ))
    }

    fn progress(
        &self,
        run: &Run<'_>,
        round: u32,
        records: &[RoundRecord],
        eval_reward: Option<f64>,
    ) -> Progress {
        Progress {
            arm: run.arm.name.clone(),
            seed: run.seed,
            round,
            rounds: run.arm.resolved.keys.rounds,
            done: self.done,
            total: self.total,
            own_reward: mean_of(records, |r| r.own_reward).unwrap_or(0.0),
            train_reward: mean_of(records, |r| r.train_reward).unwrap_or(0.0),
            eval_reward,
        }
    }

    /// Goes on without a run.
    fn give_up(&mut self, run: &Run<'_>, error: &anyhow::Error, watcher: &mut dyn Watcher) {
        let note = format!("{}: {error:#}", run.dir.display());
        if self.experiment.arms.len() * self.experiment.file.seeds.len() > 1 {
            watcher.note(note.clone());
        }
        self.failed.push(note);
    }
}

/// Lets the swarm and the files of a run go on from a checkpoint.
fn resume(
    run: &Run<'_>,
    found: &Loaded,
    swarm: &mut Swarm,
    watcher: &mut dyn Watcher,
) -> Result<RunFiles> {
    let behind = found.csv.iter().map(|position| position.behind(run.dir));
    let cut = match behind.sum::<Result<u64>>()? {
        0 => "",
        _ => "; rows after it are cut off and made again",
    };
    let (dir, start) = (run.dir.display(), found.round);
    watcher.note(format!("{dir}: goes on after round {start}{cut}"));
    found.restore(swarm)?;
    RunFiles::resume(run.dir, swarm.columns(), &found.csv)
}

/// Puts the means of a finished run in the place of those that lie there, or removes them.
fn keep_means(wanted: bool, run: &Path) -> Result<()> {
    if wanted {
        return write_means(run);
    }
    match std::fs::remove_file(run.join(MEANS)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("{}: cannot be cleaned", run.display())),
    }
}

/// Writes the model of every agent, where the experiment wants them.
fn export(wanted: bool, swarm: &Swarm, run: &Path) -> Result<()> {
    for agent in swarm.agents().iter().filter(|_| wanted) {
        let folder = run.join(MODELS).join(format!("agent-{}", agent.id()));
        agent.member().export(&folder)?;
    }
    Ok(())
}

/// The mean over the agents that have such a number.
fn mean_of(records: &[RoundRecord], of: fn(&RoundRecord) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = records.iter().filter_map(of).collect();
    (!values.is_empty()).then(|| mean(&values))
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
