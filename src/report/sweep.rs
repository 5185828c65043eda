//! A key swept over values: `sweep.md` and `sweep.png`, made from the CSV files of an experiment a value.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

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

/// The runs of each value, in the order of numbers where the values are numbers.
struct Sweep {
    values: Vec<(String, Vec<Run>)>,
    mixes: Vec<Mix>,
}

/// The folders of a sweep below `dir`: those that hold runs.
pub(super) fn values(dir: &Path) -> Result<Vec<(String, PathBuf)>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let named = paths.into_iter().filter(|path| path.join("runs").is_dir());
    let mut found: Vec<(String, PathBuf)> =
        named.map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path)).collect();
    let number = |name: &str| name.parse::<f64>().unwrap_or(f64::INFINITY);
    found.sort_by(|(a, _), (b, _)| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
    Ok(found)
}

/// Writes `sweep.md` and `sweep.png` into the folder of a sweep; returns the table.
pub(super) fn write(dir: &Path) -> Result<String> {
    let found = values(dir)?;
    ensure!(!found.is_empty(), "no runs: expected {}/<value>/runs", dir.display());
    let values: Vec<(String, Vec<Run>)> =
        found.into_iter().map(|(name, path)| Ok((name, csv::read(&path)?))).collect::<Result<_>>()?;
    let mut mixes: Vec<Mix> = Vec::new();
    for run in values.iter().flat_map(|(_, runs)| runs) {
        if !mixes.contains(&run.mix) {
            mixes.push(run.mix);
        }
    }
    let sweep = Sweep { values, mixes };
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = sweep.markdown(&name);
    super::replace(&dir.join("sweep.md"), |temporary| Ok(std::fs::write(temporary, &text)?))?;
    sweep.figure(&name).write(&dir.join("sweep.png"))?;
    Ok(text)
}

impl Sweep {
    fn runs(&self, value: usize, mix: Mix) -> &[Run] {
        by_mix(&self.values[value].1).into_iter().find(|runs| runs[0].mix == mix).unwrap_or(&[])
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
                let means = Series::ALL.map(|series| plain(over(&|run| measure::per_agent_round(run, series)), 4));
                let last = plain(over(&measure::final_eval), 4);
                text += &format!("| {value} | {mix} | {} | {} | {last} |\n", runs.len(), means.join(" | "));
            }
        }
        text
    }

    fn figure(&self, name: &str) -> Figure {
        let rounds = self.values.iter().flat_map(|(_, runs)| runs).map(|run| run.rounds).max().unwrap_or(1);
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
            Panel { title, x_label: "round", x_end: rounds as f64, y: Scale::holding(&lines), lines }
        };
        let panels = self.mixes.iter().flat_map(|&mix| [panel(mix, Series::Own), panel(mix, Series::Eval)]).collect();
        Figure {
            title: format!("Rewards by {name}"),
            subtitle: format!(
                "Line: mean over agents and seeds, moving average over {window} rounds; band: 95 % bootstrap interval over seeds"
            ),
            legend_head: "value:",
            legend: pens.iter().copied().zip(self.values.iter().map(|(value, _)| value.clone())).collect(),
            y_label: "mean reward of a round",
            panels: same_axis(panels),
            columns: 2,
            height: 620.0,
        }
    }
}
