//! A key swept over values: `sweep.md` and `sweep.png`, made from the CSV files of an experiment a value.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::{
    csv::{self, Mix, Run, Series},
    curves,
    figure::{Figure, same_axis},
    look, measure,
    panel::{Line, Panel, Scale},
    stats::{Estimate, estimate},
    summary::{by_mix, grown},
    table::plain,
};

/// The runs of each value.
struct Sweep {
    values: Vec<(String, Vec<Run>)>,
    mixes: Vec<Mix>,
}

/// The file in the folder of a sweep that says what was swept.
const MARK: &str = "sweep.toml";

/// What was swept: the key and the names of its values, which are those of the folders.
#[derive(Serialize, Deserialize)]
pub(super) struct Mark {
    key: String,
    values: Vec<String>,
}

/// Writes what is swept in a folder.
pub(super) fn mark(dir: &Path, key: &str, values: Vec<String>) -> Result<()> {
    let text = toml::to_string(&Mark {
        key: key.to_owned(),
        values,
    })?;
    fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    super::replace(&dir.join(MARK), |temporary| {
        Ok(fs::write(temporary, &text)?)
    })
}

/// What is swept in a folder; none where nothing is.
pub(super) fn marked(dir: &Path) -> Result<Option<Mark>> {
    let file = dir.join(MARK);
    if !file.is_file() {
        return Ok(None);
    }
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    toml::from_str(&text)
        .map(Some)
        .with_context(|| file.display().to_string())
}

impl Mark {
    /// The folders of the values that have runs, in the order of the values.
    pub(super) fn folders(&self, dir: &Path) -> Vec<(String, PathBuf)> {
        let folder = |value: &String| (value.clone(), dir.join(value));
        self.values
            .iter()
            .map(folder)
            .filter(|(_, path)| path.join("runs").is_dir())
            .collect()
    }
}

/// Writes `sweep.md` and `sweep.png` into the folder of a sweep; returns the table.
pub(super) fn write(dir: &Path) -> Result<String> {
    let mark =
        marked(dir)?.with_context(|| format!("no sweep: expected {}", dir.join(MARK).display()))?;
    // a value whose first round is not over yet is left out
    let read = |(name, path): (String, PathBuf)| Some((name, csv::read(&path).ok()?));
    let values: Vec<(String, Vec<Run>)> = mark.folders(dir).into_iter().filter_map(read).collect();
    ensure!(
        !values.is_empty(),
        "no runs: expected {}/<value>/runs",
        dir.display()
    );
    let name = mark.key;
    let mut mixes: Vec<Mix> = Vec::new();
    for run in values.iter().flat_map(|(_, runs)| runs) {
        if !mixes.contains(&run.mix) {
            mixes.push(run.mix);
        }
    }
    let sweep = Sweep { values, mixes };
    let text = sweep.markdown(&name);
    super::replace(&dir.join("sweep.md"), |temporary| {
        Ok(fs::write(temporary, &text)?)
    })?;
    sweep.figure(&name).write(&dir.join("sweep.png"))?;
    Ok(text)
}

impl Sweep {
    fn runs(&self, value: usize, mix: Mix) -> &[Run] {
        by_mix(&self.values[value].1)
            .into_iter()
            .find(|runs| runs[0].mix == mix)
            .unwrap_or(&[])
    }

    fn markdown(&self, name: &str) -> String {
        let mut text = format!(
            "# Sweep: {name}\n\nMean reward an agent and round, and held-out reward of the last evaluation; in brackets the 95 % \
             bootstrap interval over seeds.\n\n| {name} | mix | seeds | own reward | training set | held-out | held-out, last |\n\
             |---|---|--:|--:|--:|--:|--:|\n"
        );
        for (at, (value, _)) in self.values.iter().enumerate() {
            for &mix in &self.mixes {
                let runs = grown(self.runs(at, mix));
                let over = |of: &dyn Fn(&Run) -> Option<f64>| -> Option<Estimate> {
                    estimate(&runs.iter().filter_map(|run| of(run)).collect::<Vec<_>>())
                };
                let means = Series::ALL
                    .map(|series| plain(over(&|run| measure::per_agent_round(run, series)), 4));
                let last = plain(over(&measure::final_eval), 4);
                text += &format!(
                    "| {value} | {mix} | {} | {} | {last} |\n",
                    runs.len(),
                    means.join(" | ")
                );
            }
        }
        text
    }

    fn figure(&self, name: &str) -> Figure {
        let rounds = self
            .values
            .iter()
            .flat_map(|(_, runs)| runs)
            .map(|run| run.rounds)
            .max()
            .unwrap_or(1);
        let (window, pens) = (curves::window(rounds), look::sweep_pens(self.values.len()));
        let panel = |mix: Mix, series: Series| {
            let lines: Vec<Line> = (0..self.values.len())
                .map(|at| Line {
                    curve: curves::mean_reward(self.runs(at, mix), series, window),
                    pen: pens[at],
                    label: String::new(),
                })
                .collect();
            let title = format!("{}, {mix}", series.title());
            Panel {
                title,
                x_label: "round",
                x_end: rounds as f64,
                y: Scale::holding(&lines),
                lines,
            }
        };
        let panels = self
            .mixes
            .iter()
            .flat_map(|&mix| [panel(mix, Series::Own), panel(mix, Series::Eval)])
            .collect();
        Figure {
            title: format!("Rewards by {name}"),
            subtitle: format!(
                "Line: mean over agents and seeds, moving average over {window} rounds; band: 95 % bootstrap interval over seeds"
            ),
            legend_head: "value:",
            legend: pens
                .iter()
                .copied()
                .zip(self.values.iter().map(|(value, _)| value.clone()))
                .collect(),
            y_label: "mean reward of a round",
            panels: same_axis(panels),
            columns: 2,
            height: 620.0,
        }
    }
}
