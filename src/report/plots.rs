//! The five pictures of an experiment: cumulative, smoothed, raw and task rewards, and the three series of a mix.
//!
//! `smoothed.png` and `raw.png` follow the paper's Figures 2 and 1.

use std::path::Path;

use anyhow::Result;
use plotters::style::RGBColor;

use super::{
    csv::{Mix, Run, Series},
    curves::{self, Curve},
    figure::{Figure, columns, same_axis},
    look::{self, Pen},
    panel::{Line, Panel, Scale},
    summary::{Summary, by_mix, grown},
};

/// Below this p a mix is marked as different from the one without sharing.
const SIGNIFICANT: f64 = 0.05;

/// Draws all pictures of the runs into `dir`.
pub(super) fn write(dir: &Path, runs: &[Run]) -> Result<()> {
    let all = Experiment::new(runs);
    all.cumulative().write(&dir.join("cumulative.png"))?;
    all.smoothed().write(&dir.join("smoothed.png"))?;
    all.raw().write(&dir.join("raw.png"))?;
    all.tasks().write(&dir.join("tasks.png"))?;
    all.selection().write(&dir.join("selection.png"))
}

/// The runs of each mix and the pen it is drawn with.
struct Experiment<'a> {
    mixes: Vec<(&'a [Run], Pen)>,
    rounds: usize,
    agents: usize,
    /// The least and the most seeds that a mix has.
    seeds: (usize, usize),
    summary: Summary,
}

impl<'a> Experiment<'a> {
    fn new(runs: &'a [Run]) -> Self {
        let mixes = by_mix(runs);
        let seeds = || mixes.iter().map(|runs| grown(runs).len());
        let names: Vec<Mix> = mixes.iter().map(|runs| runs[0].mix).collect();
        Experiment {
            rounds: runs.iter().map(|run| run.rounds).max().unwrap_or(1),
            agents: runs.iter().map(|run| run.agents).max().unwrap_or(0),
            seeds: (seeds().min().unwrap_or(0), seeds().max().unwrap_or(0)),
            mixes: mixes.into_iter().zip(look::pens(&names)).collect(),
            summary: Summary::new(runs),
        }
    }

    fn cumulative(&self) -> Figure {
        let panels = Series::ALL.map(|series| {
            let mut lines = self.lines(|runs| curves::cumulative(runs, series));
            for (line, row) in lines.iter_mut().zip(&self.summary.rows) {
                if row.p[series as usize].is_some_and(|p| p < SIGNIFICANT) {
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
                "Line: mean over {}; band: 95 % bootstrap interval",
                self.count_seeds()
            ),
        };
        Figure {
            title: format!("Cumulative reward of {}", self.swarm()),
            subtitle: format!(
                "{band}. Held-out: straight lines between evaluations{}",
                match self.summary.base.filter(|_| starred) {
                    Some(base) => format!(". *: p < 0.05 against {base} (paired t, Holm)"),
                    None => String::new(),
                }
            ),
            legend_head: "local / external:",
            legend: self.legend(),
            y_label: "cumulative reward",
            panels,
            columns: 3,
            height: 720.0,
        }
    }

    fn smoothed(&self) -> Figure {
        let window = curves::window(self.rounds);
        let panels = [Series::Own, Series::Train].map(|series| {
            let lines =
                self.lines(|runs| curves::smoothed(runs, |run| Some(run.reward(series)), window));
            self.panel(series.title(), lines)
        });
        let panels = same_axis(panels.into());
        Figure {
            title: format!("Smoothed reward of {}", self.swarm()),
            subtitle: format!("{}; band: min to max over agents", self.averages(window)),
            legend_head: "local / external:",
            legend: self.legend(),
            y_label: "mean reward of a round",
            panels,
            columns: 2,
            height: 820.0,
        }
    }

    fn raw(&self) -> Figure {
        let panel = |(runs, pen): &(&[Run], Pen)| {
            let run = grown(runs)[0];
            let agents = run.reward(Series::Own).iter().enumerate();
            let lines = agents.map(|(agent, rewards)| {
                let points = rewards.iter().enumerate();
                let points = points
                    .filter_map(|(at, reward)| Some(((at + 1) as f64, (*reward)?)))
                    .collect();
                let color = look::shade(hue(*pen), agent, run.agents);
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
            let title = format!("{} local / {} external", run.mix.local, run.mix.external);
            self.panel(&title, lines.collect())
        };
        let panels = same_axis(self.mixes.iter().map(panel).collect());
        let columns = columns(panels.len());
        Figure {
            title: format!("Own reward of each agent, {}", self.swarm()),
            subtitle: "Mean reward of the completions of one round; a line an agent, dark to pale; first seed"
                .to_owned(),
            legend_head: "",
            legend: Vec::new(),
            y_label: "own reward",
            height: if columns == 1 { 800.0 } else { 560.0 },
            panels,
            columns,
        }
    }

    fn tasks(&self) -> Figure {
        let window = curves::window(self.rounds);
        let mut names: Vec<&str> = Vec::new();
        for (task, _) in self
            .mixes
            .iter()
            .flat_map(|(runs, _)| runs.iter())
            .flat_map(|run| &run.tasks)
        {
            if !names.contains(&task.as_str()) {
                names.push(task);
            }
        }
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
        let columns = columns(panels.len());
        Figure {
            title: format!("Own reward by task, {}", self.swarm()),
            subtitle: format!("{}; each panel has its own y axis", self.averages(window)),
            legend_head: "local / external:",
            legend: self.legend(),
            y_label: "own reward",
            height: if columns == 1 { 800.0 } else { 480.0 },
            panels,
            columns,
        }
    }

    /// The three series of each mix beside each other. What lifts the training set above own reward is selection.
    fn selection(&self) -> Figure {
        let window = curves::window(self.rounds);
        let panel = |(runs, _): &(&'a [Run], Pen)| {
            let lines = Series::ALL
                .into_iter()
                .zip(look::series_pens())
                .map(|(series, pen)| Line {
                    curve: curves::mean_reward(runs, series, window),
                    pen,
                    label: String::new(),
                });
            self.panel(&runs[0].mix.to_string(), lines.collect())
        };
        let panels = same_axis(self.mixes.iter().map(panel).collect());
        let columns = columns(panels.len());
        let band = if self.seeds.1 > 1 {
            "; band: 95 % bootstrap interval"
        } else {
            ""
        };
        Figure {
            title: format!("The three rewards of each mix, {}", self.swarm()),
            subtitle: format!(
                "{}{band}. Held-out: straight lines between evaluations",
                self.averages(window)
            ),
            legend_head: "mean reward:",
            legend: look::series_pens()
                .into_iter()
                .zip(Series::ALL.map(|series| series.title().to_owned()))
                .collect(),
            y_label: "mean reward of a round",
            height: if columns == 1 { 800.0 } else { 560.0 },
            panels,
            columns,
        }
    }

    /// A line a mix.
    fn lines(&self, curve: impl Fn(&'a [Run]) -> Curve) -> Vec<Line> {
        let label = |runs: &[Run]| {
            if self.mixes.len() > 1 {
                runs[0].mix.to_string()
            } else {
                String::new()
            }
        };
        self.mixes
            .iter()
            .map(|(runs, pen)| Line {
                curve: curve(runs),
                pen: *pen,
                label: label(runs),
            })
            .collect()
    }

    fn panel(&self, title: &str, lines: Vec<Line>) -> Panel {
        let y = Scale::holding(&lines);
        Panel {
            title: title.to_owned(),
            lines,
            x_label: "round",
            x_end: self.rounds as f64,
            y,
        }
    }

    fn legend(&self) -> Vec<(Pen, String)> {
        let name = |mix: Mix| {
            format!(
                "{mix}{}",
                if mix.external == 0 {
                    " (no sharing)"
                } else {
                    ""
                }
            )
        };
        self.mixes
            .iter()
            .map(|(runs, pen)| (*pen, name(runs[0].mix)))
            .collect()
    }

    fn swarm(&self) -> String {
        format!(
            "{} over {}",
            plural(self.agents, "agent"),
            plural(self.rounds, "round")
        )
    }

    /// What a smoothed line is the mean of.
    fn averages(&self, window: usize) -> String {
        let smoothing = match window {
            1 => "Not smoothed, as there are few rounds".to_owned(),
            window => format!("Moving average over {window} rounds"),
        };
        let seeds = if self.seeds.1 > 1 {
            format!(" and over {}", self.count_seeds())
        } else {
            String::new()
        };
        format!("{smoothing}; line: mean over agents{seeds}")
    }

    fn count_seeds(&self) -> String {
        let (least, most) = self.seeds;
        if least < most {
            format!("{least} to {most} seeds")
        } else {
            plural(most, "seed")
        }
    }
}

/// The colour that shades of one mix start from: black has none.
fn hue(pen: Pen) -> RGBColor {
    if pen.color == RGBColor(0, 0, 0) {
        RGBColor(100, 100, 100)
    } else {
        pen.color
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
