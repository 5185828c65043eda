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
    runs::{Run, Series},
    stats::{Estimate, estimate},
    theme,
};
use crate::results_layout::{TUNING, TUNING_TABLE};

/// When the values of a tuned key are compared by held-out reward, the mean over agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// In the last round of the tuning.
    #[default]
    HeldOutAtEqualRounds,
    /// After as many completions as the cheapest run of the tuning generates.
    HeldOutAtEqualCompletions,
    /// Over so many completions: the mean of the held-out reward from the first to the last of them.
    HeldOutOverEqualCompletions,
}

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
    /// Whether that is its mean over those completions.
    #[serde(default)]
    mean: bool,
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

/// What a tuning consists of: a key, and every arm with every value and seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// The key.
    pub key: String,
    /// The arms.
    pub arms: Vec<String>,
    /// The values, as they stand in names of arms.
    pub values: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
}

impl Tuning {
    /// Arm, value and seed of each of its runs, value after value.
    fn runs(&self) -> impl Iterator<Item = (&String, &String, u64)> {
        let of_arm = move |value, arm| self.seeds.iter().map(move |&seed| (arm, value, seed));
        let of_value = move |value| self.arms.iter().flat_map(move |arm| of_arm(value, arm));
        self.values.iter().flat_map(of_value)
    }

    /// Whether a results folder has all of it.
    ///
    /// # Errors
    /// When there is a `tuning.csv` that cannot be understood.
    pub fn is_done(&self, dir: &Path) -> Result<bool> {
        let lines = read(dir)?;
        let is_there = |(arm, value, seed): (&String, &String, u64)| {
            let same = |line: &Line| line.arm == *arm && line.value == *value && line.seed == seed;
            lines.iter().any(same)
        };
        Ok(self.runs().all(is_there))
    }

    /// Writes `tuning.csv` from the runs of the tuning: their held-out reward by the criterion. A run that could not go
    /// on to its end has 0.
    ///
    /// # Errors
    /// When the runs cannot be read or the file cannot be written.
    pub fn gather(&self, dir: &Path, by: Criterion) -> Result<()> {
        let arms = arms::read(&dir.join(TUNING))?;
        let found = |arm: &str, value: &str, seed: u64| {
            let same = |other: &&ArmRuns| {
                let swept = other.arm.swept.as_ref();
                other.arm.family() == arm && swept.is_some_and(|swept| swept.value == *value)
            };
            let runs = &arms.iter().find(same)?.runs;
            runs.iter().find(|run| run.seed == seed)
        };
        // with any value an arm has as many rounds
        let rounds = |arm: &str| {
            let runs = self.runs().filter(|(other, ..)| *other == arm);
            let runs = runs.filter_map(|(arm, value, seed)| found(arm, value, seed));
            runs.map(|run| run.rounds).max().unwrap_or(0)
        };
        let whole = |arm: &str, value: &str, seed: u64| {
            found(arm, value, seed).filter(|run| run.rounds == rounds(arm))
        };
        let all = self
            .runs()
            .filter_map(|(arm, value, seed)| whole(arm, value, seed));
        let budget = all.map(|run| run.completions).fold(f64::INFINITY, f64::min);
        let mut writer = csv::Writer::from_writer(Vec::new());
        for (arm, value, seed) in self.runs() {
            let [round, completions, held_out] =
                whole(arm, value, seed).map_or([0.0; 3], |run| criterion(run, by, budget));
            writer.serialize(Line {
                arm: arm.clone(),
                key: self.key.clone(),
                value: value.clone(),
                seed,
                round: round as usize,
                completions: completions as u64,
                held_out: super::format::rounded(held_out, 6),
                mean: by == Criterion::HeldOutOverEqualCompletions,
            })?;
        }
        write_file(&dir.join(TUNING_TABLE), &writer.into_inner()?)
    }
}

/// The round in which the run is compared, the completions up to it, and its held-out reward.
fn criterion(run: &Run, by: Criterion, budget: f64) -> [f64; 3] {
    let costs = &run.completions_of;
    let spent = match by {
        Criterion::HeldOutAtEqualRounds => run.completions,
        _ => budget,
    };
    let round = metrics::round_of(costs, spent).unwrap_or(run.rounds);
    let held_out = match by {
        Criterion::HeldOutOverEqualCompletions => metrics::over(run, Series::Eval, costs, spent),
        _ => metrics::held_out_after(run, costs, spent),
    };
    [
        round as f64,
        costs[..round].iter().sum(),
        held_out.unwrap_or(0.0),
    ]
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
         95 % interval of Student's t. Every arm runs with the best. *After*: the round and the completions {} \
         compared.\n\n| arm | {} | best | after |\n|---|{}--:|---|\n",
        count(seeds.len(), "seed"),
        if lines[0].mean {
            "up to which the mean of the held-out reward was"
        } else {
            "whose held-out reward was"
        },
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
