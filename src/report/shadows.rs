//! Shadow draws: what the training set's reward would have been with another mix or selection, on the curves of each
//! arm: the apparent gain that the draw alone gives. The table `selection-only.md` and the picture
//! `selection-only.png`.

use super::{
    arms::{ArmRuns, Mix, distinct},
    curves::Curve,
    figure::{Figure, columns, same_axis},
    format::{NONE, percent},
    means::SHADOW,
    metrics,
    panel::{Line, Panel, Scale},
    paper,
    runs::{GROUPS, Run, Series},
    stats::{Estimate, estimate},
    theme::{self, Pen},
};

/// The rule of the draw that the paper has.
const PAPERS: &str = "nonzero-advantage";

/// A mix and a rule of the draw.
pub(super) struct Shadow {
    column: String,
    pub(super) mix: Mix,
    selection: String,
}

/// All shadow draws that some run has.
pub(super) fn all(arms: &[ArmRuns]) -> Vec<Shadow> {
    let runs = arms.iter().flat_map(|arm| &arm.runs);
    let columns = distinct(runs.flat_map(|run| run.shadows()));
    columns.into_iter().filter_map(Shadow::parse).collect()
}

impl Shadow {
    fn parse(column: &str) -> Option<Self> {
        let (mix, selection) = column.strip_prefix(SHADOW)?.split_once('_')?;
        Some(Self {
            column: column.to_owned(),
            mix: Mix::named(mix)?,
            selection: selection.to_owned(),
        })
    }

    pub(super) fn title(&self) -> String {
        format!("{}, {}", self.mix, self.selection)
    }

    /// The paper's gain of this mix, by its rule.
    fn printed(&self) -> Option<f64> {
        let paper = paper::numbers(self.mix).filter(|_| self.is_the_papers());
        paper.and_then(|paper| paper.gain)
    }

    /// Whether it is drawn by the rule of the paper.
    pub(super) fn is_the_papers(&self) -> bool {
        self.selection == PAPERS
    }

    /// By how many percent the training set of the shadow pays more than the own rollouts of the same run: the
    /// mean of what would have been in it or, with `slots`, as if places that stay empty paid nothing.
    /// None where the arm has fewer own rollouts than the shadow wants: too large a part would be drawn.
    pub(super) fn gain(&self, arm: &ArmRuns, slots: bool) -> Option<Estimate> {
        let enough = arm.arm.mix.is_none_or(|mix| mix.local >= self.mix.local);
        let of_run = |run: &&Run| {
            let groups = run.column(&format!("{}{GROUPS}", self.column))?;
            let places = (self.mix.local + self.mix.external) as f64;
            let rewards = run.column(&self.column)?.iter().flatten();
            let counted = rewards
                .zip(groups.iter().flatten())
                .map(|(reward, groups)| {
                    let filled = if slots {
                        groups.unwrap_or(0.0) / places
                    } else {
                        1.0
                    };
                    reward.unwrap_or(0.0) * filled
                });
            let own = metrics::cumulative(run, Series::Own, run.rounds)?;
            metrics::percent_over(counted.sum(), own)
        };
        let runs = arm.grown().into_iter().filter(|_| enough);
        // the means of a round do not say which agent's places were empty
        let runs = runs.filter(|run| !slots || !run.in_short);
        estimate(&runs.filter_map(|run| of_run(&run)).collect::<Vec<_>>())
    }
}

/// What an arm really gains over its baseline.
fn real(arm: &ArmRuns, arms: &[ArmRuns], series: Series) -> Option<Estimate> {
    let name = arm.arm.baseline.as_ref()?;
    let bases = arms.iter().find(|other| other.arm.name == *name)?.grown();
    let gain = |run: &&Run| {
        let base = bases.iter().find(|base| base.seed == run.seed)?;
        metrics::gain(run, base, series)
    };
    estimate(&arm.grown().iter().filter_map(gain).collect::<Vec<_>>())
}

/// The real gains of the arm that a shadow imitates: of its training set and of own reward.
fn reals(shadow: &Shadow, arms: &[ArmRuns]) -> [Option<Estimate>; 2] {
    let same = |arm: &&ArmRuns| arm.arm.named_mix() == Some(shadow.mix) && shadow.is_the_papers();
    let arm = arms.iter().find(same);
    [Series::Train, Series::Own].map(|series| real(arm?, arms, series))
}

/// The whole of `selection-only.md`; none where there is no shadow draw.
pub(super) fn markdown(arms: &[ArmRuns]) -> Option<String> {
    let shadows = all(arms);
    if shadows.is_empty() {
        return None;
    }
    let names = arms.iter().map(|arm| format!("on {}", arm.arm.title()));
    let names: Vec<String> = names.collect();
    let mut text = format!(
        "# What the draw alone gives\n\nIn every round each agent also drew as another mix or rule would have, and trained on \
         none of it. How much more such a training set pays than the own rollouts of the same run: an apparent gain without \
         any learning. First the mean of the rollouts that would have been in it, as GenRL logs it; behind the stroke, as if \
         places that stay empty paid nothing. *Real*: of the arm of that mix over its baseline. In brackets the 95 % interval of Student's t over \
         seeds.\n\n| draw | {} | real, training set | real, own reward | paper |\n|---|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len() + 3)
    );
    for shadow in &shadows {
        let cells = arms.iter().map(|arm| {
            let [mean, slots] = [false, true].map(|slots| percent(shadow.gain(arm, slots)));
            format!("{mean} / {slots}")
        });
        let printed = shadow.printed();
        let printed = printed.map_or(NONE.to_owned(), |gain| format!("{gain:+.1} %"));
        let reals = reals(shadow, arms).map(percent);
        let cells: Vec<String> = cells.chain(reals).chain([printed]).collect();
        text += &format!("| {} | {} |\n", shadow.title(), cells.join(" | "));
    }
    Some(text)
}

/// `selection-only.png`: a panel per shadow draw; none where there is none.
pub(super) fn figure(arms: &[ArmRuns]) -> Option<Figure> {
    let shadows = all(arms);
    if shadows.is_empty() {
        return None;
    }
    let names: Vec<_> = arms.iter().map(|arm| &arm.arm).collect();
    let mut legend: Vec<(Pen, String)> = theme::pens(&names)
        .into_iter()
        .zip(
            arms.iter()
                .map(|arm| format!("drawn on {}", arm.arm.title())),
        )
        .collect();
    let [train, own, paper] = theme::other_pens();
    legend.extend([
        (train, "real gain of the training set".to_owned()),
        (own, "real gain of own reward".to_owned()),
        (paper, "the paper's gain".to_owned()),
    ]);
    let panel = |shadow: &Shadow| {
        let mut bars: Vec<Option<Estimate>> =
            arms.iter().map(|arm| shadow.gain(arm, false)).collect();
        bars.extend(reals(shadow, arms));
        let printed = shadow.printed();
        bars.push(printed.map(|mean| Estimate {
            mean,
            interval: None,
        }));
        let places = bars.iter().zip(&legend).enumerate();
        let lines: Vec<Line> = places
            .flat_map(|(at, (bar, (pen, _)))| error_bar(at as f64 + 0.5, *bar, *pen))
            .collect();
        Panel {
            title: shadow.title(),
            x_label: "",
            x_end: bars.len() as f64,
            x_ticks: Some(Vec::new()),
            y: Scale::holding(&lines),
            lines,
        }
    };
    let panels: Vec<Panel> = shadows.iter().map(panel).collect();
    Some(Figure {
        title: "What the draw alone gives the training set".to_owned(),
        subtitle: "Gain over the own reward of the same curves, in percent, with the 95 % interval over seeds; nothing is learned from these draws"
            .to_owned(),
        legend_head: "",
        legend,
        y_label: "gain, percent",
        columns: columns(panels.len()),
        panels: same_axis(panels),
        height: 640.0,
    })
}

/// A mark at the mean and a line over the interval.
fn error_bar(x: f64, bar: Option<Estimate>, pen: Pen) -> Vec<Line> {
    let Some(Estimate { mean, interval }) = bar else {
        return Vec::new();
    };
    let pen = Pen { dash: &[], ..pen };
    let wide = Pen {
        width: 2.5 * pen.width,
        ..pen
    };
    let line = |points: [(f64, f64); 2], pen| Line {
        curve: Curve {
            points: points.into(),
            band: Vec::new(),
        },
        pen,
        label: String::new(),
    };
    let mark = line([(x - 0.3, mean), (x + 0.3, mean)], wide);
    let over = interval.map(|[low, high]| line([(x, low), (x, high)], pen));
    over.into_iter().chain([mark]).collect()
}
