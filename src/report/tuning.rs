//! What the tuning of a key has found: `tuning.csv`, and from it the value of each arm, `tuning.md` and
//! `tuning.png`.

use std::{fmt, fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{
    arms::{self, ArmRuns, distinct},
    metrics,
    output::write_file,
    stats::{Estimate, estimate},
};
use crate::results_layout::{TUNING, TUNING_TABLE};

/// A line of `tuning.csv`: one run of the tuning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) arm: String,
    pub(super) key: String,
    pub(super) value: String,
    seed: u64,
    /// The round whose held-out reward counts, and the completions generated up to it.
    pub(super) round: usize,
    pub(super) completions: u64,
    held_out: f64,
}

/// The value that was chosen for an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The arm.
    pub arm: String,
    /// The key that was tuned.
    pub key: String,
    /// The value, as it stands in names of arms.
    pub value: String,
    /// The lowest or the highest of the values, which may not be the best that there is.
    pub edge: Option<Edge>,
}

/// An end of the range of a tuned key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The first value.
    Lowest,
    /// The last value.
    Highest,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            arm, key, value, ..
        } = self;
        write!(
            f,
            "arm {arm}: {key} = {value} is best on the seeds of the tuning"
        )?;
        match self.edge {
            Some(Edge::Lowest) => {
                write!(f, "; it is the lowest tried, so a lower one may be better")
            }
            Some(Edge::Highest) => write!(
                f,
                "; it is the highest tried, so a higher one may be better"
            ),
            None => Ok(()),
        }
    }
}

/// Whether the tuning of these arms with these values and seeds is done.
///
/// # Errors
/// When there is a `tuning.csv` that cannot be understood.
pub fn is_tuned(dir: &Path, arms: &[String], values: &[String], seeds: &[u64]) -> Result<bool> {
    let lines = read(dir)?;
    let has = |arm: &String, value: &String, seed: &u64| {
        let same = |line: &Line| line.arm == *arm && line.value == *value && line.seed == *seed;
        lines.iter().any(same)
    };
    let values = |arm| {
        values
            .iter()
            .all(move |value| seeds.iter().all(|seed| has(arm, value, seed)))
    };
    Ok(arms.iter().all(values))
}

/// Writes `tuning.csv` from the runs of the tuning: held-out reward in their last round or, at equal
/// completions, when the cheapest of them is over.
///
/// # Errors
/// When the runs cannot be read or the file cannot be written.
pub fn gather(dir: &Path, equal_completions: bool) -> Result<()> {
    let arms = arms::read(&dir.join(TUNING))?;
    let totals = arms
        .iter()
        .flat_map(|arm| &arm.runs)
        .map(|run| run.completions);
    let budget = totals.fold(f64::INFINITY, f64::min);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for ArmRuns { arm, runs } in &arms {
        let Some(swept) = &arm.swept else { continue };
        for run in runs {
            let spent = if equal_completions {
                budget
            } else {
                run.completions
            };
            let costs = &run.completions_of;
            let round = metrics::round_of(costs, spent).unwrap_or(run.rounds);
            let Some(held_out) = metrics::held_out_after(run, costs, spent) else {
                continue;
            };
            writer.serialize(Line {
                arm: arm.family().to_owned(),
                key: swept.key.clone(),
                value: swept.value.clone(),
                seed: run.seed,
                round,
                completions: costs[..round].iter().sum::<f64>() as u64,
                held_out: super::format::rounded(held_out, 6),
            })?;
        }
    }
    write_file(&dir.join(TUNING_TABLE), &writer.into_inner()?)
}

/// The lines of `tuning.csv`; none where there is no such file.
pub(super) fn read(dir: &Path) -> Result<Vec<Line>> {
    let file = dir.join(TUNING_TABLE);
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = csv::Reader::from_reader(&text[..])
        .into_deserialize()
        .collect::<Result<_, _>>();
    lines.with_context(|| format!("in {}", file.display()))
}

/// The held-out rewards of the seeds with each value of an arm, in the order of the file.
pub(super) fn points<'a>(lines: &'a [Line], arm: &str) -> Vec<(&'a str, Option<Estimate>)> {
    let of_arm = || lines.iter().filter(|line| line.arm == arm);
    let values = distinct(of_arm().map(|line| &line.value[..]));
    let point = |value| {
        let rewards = of_arm().filter(|line| line.value == value);
        (
            value,
            estimate(&rewards.map(|line| line.held_out).collect::<Vec<_>>()),
        )
    };
    values.into_iter().map(point).collect()
}

/// The arms that were tuned, in the order of the file.
pub(super) fn tuned_arms(lines: &[Line]) -> Vec<&str> {
    distinct(lines.iter().map(|line| &line.arm[..]))
}

/// The value with the highest mean held-out reward of each tuned arm.
///
/// # Errors
/// When `tuning.csv` cannot be understood.
pub fn choices(dir: &Path) -> Result<Vec<Choice>> {
    let lines = read(dir)?;
    let choices = tuned_arms(&lines)
        .into_iter()
        .filter_map(|arm| choice(&lines, arm));
    Ok(choices.collect())
}

pub(super) fn choice(lines: &[Line], arm: &str) -> Option<Choice> {
    let points = points(lines, arm);
    let mean = |at: &usize| {
        points[*at]
            .1
            .map_or(f64::NEG_INFINITY, |estimate| estimate.mean)
    };
    // of equals the first, which is the smallest step
    let best = (0..points.len())
        .rev()
        .max_by(|a, b| mean(a).total_cmp(&mean(b)))?;
    let edge = match best {
        _ if points.len() == 1 => None,
        0 => Some(Edge::Lowest),
        at if at + 1 == points.len() => Some(Edge::Highest),
        _ => None,
    };
    Some(Choice {
        arm: arm.to_owned(),
        key: lines.first()?.key.clone(),
        value: points[best].0.to_owned(),
        edge,
    })
}
