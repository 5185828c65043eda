//! Pictures of what rewards are made of: rewards by what they cost, and how often answers have the rewarded form.

use super::{
    arms::ArmRuns,
    curves::{self, Curve},
    figure::{Figure, same_axis},
    metrics,
    panel::{Line, Panel, Scale},
    plots::Plots,
    runs::{Run, Series},
    theme::Pen,
};

/// What each round of a run cost; none where that was not counted.
type Cost = fn(&Run) -> Option<Vec<f64>>;

impl Plots<'_> {
    /// Own and held-out reward against rounds, completions and steps with a signal; none where steps were not
    /// counted.
    pub(super) fn costs(&self) -> Option<Figure> {
        let window = metrics::window(self.rounds);
        let costs: [(&'static str, Cost); 3] = [
            ("round", |run| Some(vec![1.0; run.rounds])),
            ("completions of all agents", |run| {
                Some(run.completions_of.clone())
            }),
            ("steps with a signal of an agent", Run::signal_steps),
        ];
        let mut panels = Vec::new();
        for series in [Series::Own, Series::Eval] {
            for (x_label, cost) in costs {
                panels.push(self.cost_panel(series, window, x_label, cost)?);
            }
        }
        Some(Figure {
            title: format!("Rewards by what they cost, {}", self.swarm()),
            subtitle: format!("{}; band: 95 % interval over seeds", self.averages(window)),
            legend_head: self.legend_head(),
            legend: self.legend(),
            y_label: "mean reward of a round",
            panels: same_axis(panels),
            columns: 3,
            height: 560.0,
        })
    }

    /// None where no arm has that cost counted.
    fn cost_panel(
        &self,
        series: Series,
        window: usize,
        x_label: &'static str,
        cost: Cost,
    ) -> Option<Panel> {
        let line = |(arm, pen): &(&ArmRuns, Pen)| {
            let curve = curves::mean_reward(&arm.runs, series, window);
            Some(Line {
                curve: curves::against(&arm.runs, curve, cost)?,
                pen: *pen,
                label: String::new(),
            })
        };
        let lines: Vec<Line> = self.arms.iter().filter_map(line).collect();
        let ends = lines.iter().filter_map(|line| line.curve.points.last());
        Some(Panel {
            title: series.title().to_owned(),
            x_label,
            x_end: ends.map(|(x, _)| *x).reduce(f64::max)?.max(1.0).ceil(),
            x_ticks: None,
            y: Scale::holding(&lines),
            lines,
        })
    }

    /// How often own completions have the rewarded form, and how often they are right then; none where that was
    /// not counted.
    pub(super) fn form(&self) -> Option<Figure> {
        let window = metrics::window(self.rounds);
        let columns = [
            ("with an answer in tags", "tagged_frac"),
            ("right, of those in tags", "right_in_tags_frac"),
        ];
        let panels = columns.map(|(title, column)| {
            let lines = self.lines(|runs| Curve {
                band: Vec::new(),
                ..curves::smoothed(runs, |run| run.column(column), window)
            });
            self.panel(title, lines)
        });
        let mut lines = panels.iter().flat_map(|panel| &panel.lines);
        if lines.all(|line| line.curve.points.is_empty()) {
            return None;
        }
        Some(Figure {
            title: format!("The rewarded form, {}", self.swarm()),
            subtitle: format!("Share of own completions. {}", self.averages(window)),
            legend_head: self.legend_head(),
            legend: self.legend(),
            y_label: "share",
            panels: same_axis(panels.into()),
            columns: 2,
            height: 720.0,
        })
    }
}
