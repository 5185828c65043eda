//! The pictures of an experiment: cumulative, smoothed, raw and task rewards, the three series of each arm, rewards by
//! what they cost, and how often answers have the rewarded form; and those of a sweep, of shadow draws and of a tuning
//! where there are any.
//!
//! `smoothed.png` and `raw.png` follow the paper's Figures 2 and 1.

use std::path::Path;

use anyhow::Result;
use plotters::style::RGBColor;

use super::{
    arms::{Arm, ArmRuns, distinct},
    curves::{self, Curve},
    figure::{Figure, columns, same_axis},
    format::{count, range},
    metrics, open_swarm,
    output::remove,
    panel::{Line, Panel, Scale},
    runs::{Run, Series},
    shadows,
    summary::Summary,
    sweep,
    table::baseline_name,
    theme::{self, Pen},
    tuning,
};

/// Below this p an arm is marked as different from its baseline.
const SIGNIFICANT: f64 = 0.05;

/// Characters of the longest name that stands at the end of a line.
const MOST_LABEL: usize = 12;

/// Draws all pictures of the runs into `dir`.
pub(super) fn write(
    dir: &Path,
    arms: &[ArmRuns],
    summary: &Summary,
    tuned: &[tuning::Line],
) -> Result<()> {
    let plots = Plots::new(arms, summary);
    plots.cumulative().write(&dir.join("cumulative.png"))?;
    plots.selection().write(&dir.join("selection.png"))?;
    let others = [
        ("smoothed.png", plots.smoothed()),
        ("raw.png", plots.raw()),
        ("tasks.png", plots.tasks()),
        ("costs.png", plots.costs()),
        ("form.png", plots.form()),
        ("sweep.png", sweep::figure(arms)),
        ("selection-only.png", shadows::figure(arms)),
        ("tuning.png", tuning::figure(tuned)),
        ("open-swarm.png", open_swarm::figure(arms)),
    ];
    others
        .into_iter()
        .try_for_each(|(name, figure)| match figure {
            Some(figure) => figure.write(&dir.join(name)),
            None => remove(&dir.join(name)),
        })
}

/// The runs of each arm and the pen it is drawn with.
pub(super) struct Plots<'a> {
    pub(super) arms: Vec<(&'a ArmRuns, Pen)>,
    pub(super) rounds: usize,
    /// The fewest and the most seeds that an arm has.
    seeds: (usize, usize),
    summary: &'a Summary,
}

impl<'a> Plots<'a> {
    fn new(arms: &'a [ArmRuns], summary: &'a Summary) -> Self {
        let seeds = || summary.rows.iter().map(|row| row.seeds);
        let names: Vec<&Arm> = arms.iter().map(|arm| &arm.arm).collect();
        Plots {
            arms: arms.iter().zip(theme::pens(&names)).collect(),
            rounds: summary.rounds.max(1),
            seeds: (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0)),
            summary,
        }
    }

    /// False where runs are kept as means over agents: they have nothing to show of each.
    fn agents_known(&self) -> bool {
        let mut runs = self.arms.iter().flat_map(|(arm, _)| &arm.runs);
        runs.all(|run| !run.in_short)
    }

    fn cumulative(&self) -> Figure {
        let panels = Series::ALL.map(|series| {
            let mut lines = self.lines(|runs| curves::cumulative(runs, series));
            for (line, row) in lines.iter_mut().zip(&self.summary.rows) {
                if !line.label.is_empty() && row.p[series as usize].is_some_and(|p| p < SIGNIFICANT)
                {
                    line.label.push_str(" *");
                }
            }
            self.panel(series.title(), lines)
        });
        let starred = panels
            .iter()
            .flat_map(|panel| &panel.lines)
            .any(|line| line.label.ends_with('*'));
        let panels = same_axis(panels.into());
        let band = match self.seeds.1 {
            1 => "One seed, so no error band".to_owned(),
            _ => format!(
                "Line: mean over {}; band: 95 % interval",
                range(self.seeds, "seed")
            ),
        };
        Figure {
            title: format!("Cumulative reward of {}", self.swarm()),
            subtitle: format!(
                "{band}. Held-out: straight lines between evaluations{}",
                if starred {
                    let baseline = baseline_name(self.summary);
                    format!(". *: p < 0.05 against {baseline} (paired t, Holm)")
                } else {
                    String::new()
                }
            ),
            legend_head: self.legend_head(),
            legend: self.legend(),
            y_label: "cumulative reward",
            panels,
            columns: 3,
            height: 720.0,
        }
    }

    fn smoothed(&self) -> Option<Figure> {
        if !self.agents_known() {
            return None;
        }
        let window = metrics::window(self.rounds);
        let panels = [Series::Own, Series::Train].map(|series| {
            let lines =
                self.lines(|runs| curves::smoothed(runs, |run| Some(run.reward(series)), window));
            self.panel(series.title(), lines)
        });
        let panels = same_axis(panels.into());
        Some(Figure {
            title: format!("Smoothed reward of {}", self.swarm()),
            subtitle: format!("{}; band: min to max over agents", self.averages(window)),
            legend_head: self.legend_head(),
            legend: self.legend(),
            y_label: "mean reward of a round",
            panels,
            columns: 2,
            height: 820.0,
        })
    }

    fn raw(&self) -> Option<Figure> {
        if !self.agents_known() {
            return None;
        }
        let panel = |(arm, pen): &(&ArmRuns, Pen)| {
            let run = arm.grown()[0];
            let agents = run.reward(Series::Own).iter().enumerate();
            let lines = agents.map(|(agent, rewards)| {
                let points = rewards.iter().enumerate();
                let points = points
                    .filter_map(|(at, reward)| Some(((at + 1) as f64, (*reward)?)))
                    .collect();
                let color = theme::shade(hue(*pen), agent, run.agents);
                let pen = Pen {
                    color,
                    dash: &[],
                    width: if run.rounds > 400 { 1.0 } else { 1.6 },
                };
                Line {
                    curve: Curve {
                        points,
                        band: Vec::new(),
                    },
                    pen,
                    label: String::new(),
                }
            });
            let title = match arm.arm.named_mix() {
                Some(mix) => format!("{} local / {} external", mix.local, mix.external),
                None => arm.arm.title(),
            };
            self.panel(&title, lines.collect())
        };
        let panels = same_axis(self.arms.iter().map(panel).collect());
        let columns = columns(panels.len());
        Some(Figure {
            title: format!("Own reward of each agent, {}", self.swarm()),
            subtitle: "Mean reward of the completions of one round; one line per agent, dark to pale; first seed"
                .to_owned(),
            legend_head: "",
            legend: Vec::new(),
            y_label: "own reward",
            height: if columns == 1 { 800.0 } else { 560.0 },
            panels,
            columns,
        })
    }

    /// None where the runs are kept without their tasks.
    fn tasks(&self) -> Option<Figure> {
        let window = metrics::window(self.rounds);
        let runs = self.arms.iter().flat_map(|(arm, _)| &arm.runs);
        let tasks = runs.flat_map(|run| &run.tasks);
        let names = distinct(tasks.map(|(task, _)| &task[..]));
        let panels: Vec<Panel> = names
            .iter()
            .map(|name| {
                let column = |run: &'a Run| {
                    run.tasks
                        .iter()
                        .find(|(task, _)| task == name)
                        .map(|(_, grid)| grid)
                };
                let lines = self.lines(|runs| Curve {
                    band: Vec::new(),
                    ..curves::smoothed(runs, column, window)
                });
                self.panel(name, lines)
            })
            .collect();
        if panels.is_empty() {
            return None;
        }
        let columns = columns(panels.len());
        Some(Figure {
            title: format!("Own reward by task, {}", self.swarm()),
            subtitle: format!("{}; each panel has its own y axis", self.averages(window)),
            legend_head: self.legend_head(),
            legend: self.legend(),
            y_label: "own reward",
            height: if columns == 1 { 800.0 } else { 480.0 },
            panels,
            columns,
        })
    }

    /// The three series of each arm beside each other. What lifts the training set above own reward is selection.
    fn selection(&self) -> Figure {
        let window = metrics::window(self.rounds);
        let panel = |(arm, _): &(&'a ArmRuns, Pen)| {
            let lines = Series::ALL
                .into_iter()
                .zip(theme::series_pens())
                .map(|(series, pen)| Line {
                    curve: curves::mean_reward(&arm.runs, series, window),
                    pen,
                    label: String::new(),
                });
            self.panel(&arm.arm.title(), lines.collect())
        };
        let panels = same_axis(self.arms.iter().map(panel).collect());
        let columns = columns(panels.len());
        let band = if self.seeds.1 > 1 {
            "; band: 95 % interval over seeds"
        } else {
            ""
        };
        Figure {
            title: format!(
                "The three rewards of each {}, {}",
                if self.mixes_alone() { "mix" } else { "arm" },
                self.swarm()
            ),
            subtitle: format!(
                "{}{band}. Held-out: straight lines between evaluations",
                self.averages(window)
            ),
            legend_head: "mean reward:",
            legend: theme::series_pens()
                .into_iter()
                .zip(Series::ALL.map(|series| series.title().to_owned()))
                .collect(),
            y_label: "mean reward of a round",
            height: if columns == 1 { 800.0 } else { 560.0 },
            panels,
            columns,
        }
    }

    /// One line per arm.
    pub(super) fn lines(&self, curve: impl Fn(&'a [Run]) -> Curve) -> Vec<Line> {
        let titles = || self.arms.iter().map(|(arm, _)| arm.arm.title());
        // longer names are in the legend alone
        let short = titles().all(|title| title.chars().count() <= MOST_LABEL);
        let label = |arm: &ArmRuns| {
            if short && self.arms.len() > 1 {
                arm.arm.title()
            } else {
                String::new()
            }
        };
        let line = |(arm, pen): &(&'a ArmRuns, Pen)| Line {
            curve: curve(&arm.runs),
            pen: *pen,
            label: label(arm),
        };
        self.arms.iter().map(line).collect()
    }

    pub(super) fn panel(&self, title: &str, lines: Vec<Line>) -> Panel {
        let y = Scale::holding(&lines);
        Panel {
            title: title.to_owned(),
            lines,
            x_label: "round",
            x_end: self.rounds as f64,
            x_ticks: None,
            y,
        }
    }

    /// Whether every arm is named after its mix.
    fn mixes_alone(&self) -> bool {
        self.arms
            .iter()
            .all(|(arm, _)| arm.arm.named_mix().is_some())
    }

    pub(super) fn legend_head(&self) -> &'static str {
        if self.mixes_alone() {
            "local / external:"
        } else {
            "arm:"
        }
    }

    pub(super) fn legend(&self) -> Vec<(Pen, String)> {
        let name = |arm: &Arm| match arm.named_mix() {
            Some(mix) if mix.external == 0 => format!("{mix} (no sharing)"),
            _ => arm.title(),
        };
        let entries = self.arms.iter();
        entries.map(|(arm, pen)| (*pen, name(&arm.arm))).collect()
    }

    pub(super) fn swarm(&self) -> String {
        format!(
            "{} over {}",
            range(self.summary.agents, "agent"),
            count(self.rounds, "round")
        )
    }

    /// What a smoothed line is the mean of.
    pub(super) fn averages(&self, window: usize) -> String {
        let smoothing = match window {
            1 => "Not smoothed, as there are few rounds".to_owned(),
            window => format!("Moving average over {window} rounds"),
        };
        let seeds = if self.seeds.1 > 1 {
            format!(" and over {}", range(self.seeds, "seed"))
        } else {
            String::new()
        };
        format!("{smoothing}; line: mean over agents{seeds}")
    }
}

/// The colour that shades of one arm start from: black has none.
fn hue(pen: Pen) -> RGBColor {
    if pen.color == RGBColor(0, 0, 0) {
        RGBColor(100, 100, 100)
    } else {
        pen.color
    }
}
