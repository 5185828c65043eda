//! What the tuning of a key has found: `tuning.csv`, and from it the value of each arm, `tuning.md` and
//! `tuning.png`.

use std::{fmt, fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::{
    arms::{self, ArmRuns, distinct},
    curves::Curve,
    figure::Figure,
    format::{count, number},
    metrics,
    output::write_file,
    panel::{Line as Stroke, Panel, Scale},
    stats::{Estimate, estimate},
    theme,
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

/// The whole of `tuning.md`; none where nothing was tuned.
pub(super) fn markdown(lines: &[Line]) -> Option<String> {
    let key = &lines.first()?.key;
    let values = distinct(lines.iter().map(|line| &line.value[..]));
    let seeds = distinct(lines.iter().map(|line| line.seed));
    let mut text = format!(
        "# Tuning: {key}\n\nHeld-out reward with each value, mean over {} that no other result is reported on, in brackets the \
         95 % interval of Student's t. Every arm runs with the best. *After*: the round and the completions whose held-out \
         reward was compared.\n\n| arm | {} | best | after |\n|---|{}--:|---|\n",
        count(seeds.len(), "seed"),
        values.join(" | "),
        "--:|".repeat(values.len())
    );
    for arm in tuned_arms(lines) {
        let points = points(lines, arm);
        let cell = |value: &&str| {
            let point = points.iter().find(|(other, _)| other == value);
            number(point.and_then(|(_, estimate)| *estimate), 4)
        };
        let cells: Vec<String> = values.iter().map(cell).collect();
        let best = choice(lines, arm).map_or(String::new(), |choice| {
            let edge = choice.edge.map_or("", |edge| match edge {
                Edge::Lowest => ", the lowest tried",
                Edge::Highest => ", the highest tried",
            });
            format!("{}{edge}", choice.value)
        });
        let after = distinct(
            lines
                .iter()
                .filter(|line| line.arm == arm)
                .map(|line| format!("round {}, {} completions", line.round, line.completions)),
        );
        let row = [arm.to_owned(), cells.join(" | "), best, after.join("; ")];
        text += &format!("| {} |\n", row.join(" | "));
    }
    Some(text)
}

/// `tuning.png`: held-out reward by value, a line per arm; none where nothing was tuned.
pub(super) fn figure(lines: &[Line]) -> Option<Figure> {
    let key = &lines.first()?.key;
    let values = distinct(lines.iter().map(|line| &line.value[..]));
    let arms = tuned_arms(lines);
    let pens = theme::sweep_pens(arms.len());
    let place = |value: &str| {
        let place = values.iter().position(|other| *other == value);
        place.unwrap_or(0) as f64 + 0.5
    };
    let stroke = |(arm, pen): (&&str, &theme::Pen)| {
        let points = points(lines, arm).into_iter();
        let points: Vec<(f64, Estimate)> = points
            .filter_map(|(value, estimate)| Some((place(value), estimate?)))
            .collect();
        let band = points.iter().filter_map(|(x, e)| Some((*x, e.interval?)));
        Stroke {
            curve: Curve {
                points: points
                    .iter()
                    .map(|(x, estimate)| (*x, estimate.mean))
                    .collect(),
                band: band.map(|(x, [low, high])| (x, low, high)).collect(),
            },
            pen: *pen,
            label: String::new(),
        }
    };
    let strokes: Vec<Stroke> = arms.iter().zip(&pens).map(stroke).collect();
    let ticks = values
        .iter()
        .map(|value| (place(value), (*value).to_owned()));
    let panel = Panel {
        title: "held-out reward".to_owned(),
        x_label: "value",
        x_end: values.len() as f64,
        x_ticks: Some(ticks.collect()),
        y: Scale::holding(&strokes),
        lines: strokes,
    };
    Some(Figure {
        title: format!("Tuning of {key}"),
        subtitle: "Line: mean over the seeds of the tuning; band: 95 % interval over them"
            .to_owned(),
        legend_head: "arm:",
        legend: pens
            .into_iter()
            .zip(arms.iter().map(|arm| (*arm).to_owned()))
            .collect(),
        y_label: "held-out reward",
        panels: vec![panel],
        columns: 1,
        height: 800.0,
    })
}
