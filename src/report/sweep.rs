//! A key swept over values: `sweep.md` and `sweep.png`, where `arms.csv` says that arms differ in it.

use super::{
    arms::{ArmRuns, Swept, by_value, distinct},
    curves,
    figure::{Figure, same_axis},
    format::{number, percent},
    metrics,
    panel::{Line, Panel, Scale},
    runs::Series,
    stats::{Estimate, estimate},
    summary::{Row, Summary},
    theme::{self, Pen},
};

/// The whole of `sweep.md`; none where nothing is swept.
pub(super) fn markdown(summary: &Summary) -> Option<String> {
    let mut rows = Vec::new();
    for row in &summary.rows {
        if let Some(swept) = &row.arm.swept {
            let means = row.mean.map(|mean| number(mean, 4)).join(" | ");
            let (arm, last) = (row.arm.family_title(), number(row.final_eval, 4));
            let row = format!(
                "| {} | {arm} | {} | {means} | {last} |\n",
                swept.value, row.seeds
            );
            rows.push((swept, row));
        }
    }
    let key = &rows.first()?.0.key;
    // the arms of a value stand together
    let first = |value: &str| rows.iter().position(|(swept, _)| swept.value == value);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&at| first(&rows[at].0.value));
    let rows: String = order.into_iter().map(|at| &rows[at].1[..]).collect();
    Some(format!(
        "# Sweep: {key}\n\nMean reward per agent and round, and held-out reward of the last evaluation; in brackets the 95 % \
         interval of Student's t over seeds.\n\n| {key} | arm | seeds | own reward | training set | held-out | held-out, last |\n\
         |---|---|--:|--:|--:|--:|--:|\n{rows}{}",
        over_bases(summary, key).unwrap_or_default()
    ))
}

/// The key whose values are base models.
const BASES: &str = "model.path";

/// Where several base models were pretrained, each is one draw: the mean over bases of their means over seeds, with
/// the interval over bases. Seeds of one base say nothing about another.
fn over_bases(summary: &Summary, key: &str) -> Option<String> {
    if key != BASES {
        return None;
    }
    let rows = || summary.rows.iter().filter(|row| row.arm.swept.is_some());
    let families = distinct(rows().map(|row| row.arm.family_title()));
    let mut text = "\n**Over the base models**, each of which is one draw: means over seeds, then over bases; in brackets the 95 % \
                    interval of Student's t over bases\n\n| arm | bases | own reward | held-out | held-out, last | gain, own reward | \
                    gain, held-out |\n|---|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for family in families {
        let of = || rows().filter(|row| row.arm.family_title() == family);
        let over = |number: &dyn Fn(&Row) -> Option<Estimate>| {
            let means = of().filter_map(|row| Some(number(row)?.mean));
            estimate(&means.collect::<Vec<_>>())
        };
        let [own, held_out] = [Series::Own, Series::Eval].map(|series| series as usize);
        text += &format!(
            "| {family} | {} | {} | {} | {} | {} | {} |\n",
            of().count(),
            number(over(&|row| row.mean[own]), 4),
            number(over(&|row| row.mean[held_out]), 4),
            number(over(&|row| row.final_eval), 4),
            percent(over(&|row| row.gain[own])),
            percent(over(&|row| row.gain[held_out]))
        );
    }
    Some(text)
}

/// The arms of each value of a sweep.
struct Sweep<'a> {
    values: Vec<(&'a Swept, Vec<&'a ArmRuns>)>,
    pens: Vec<Pen>,
    rounds: usize,
}

/// What `sweep.png` shows: for each arm a panel of own and one of held-out reward, a line per value; none where
/// nothing is swept.
pub(super) fn figure(arms: &[ArmRuns]) -> Option<Figure> {
    let groups = by_value(arms).into_iter();
    let values: Vec<_> = groups
        .filter_map(|arms| Some((arms[0].arm.swept.as_ref()?, arms)))
        .collect();
    let key = &values.first()?.0.key;
    let arms = || values.iter().flat_map(|(_, arms)| arms);
    let families = distinct(arms().map(|arm| arm.arm.family_title()));
    let runs = arms().flat_map(|arm| &arm.runs);
    let sweep = Sweep {
        rounds: runs.map(|run| run.rounds).max().unwrap_or(1),
        pens: theme::sweep_pens(values.len()),
        values,
    };
    let panels = families
        .iter()
        .flat_map(|family| [Series::Own, Series::Eval].map(|series| sweep.panel(family, series)));
    let names = sweep.values.iter().map(|(swept, _)| swept.value.clone());
    Some(Figure {
        title: format!("Rewards by {key}"),
        subtitle: format!(
            "Line: mean over agents and seeds, moving average over {} rounds; band: 95 % interval over seeds",
            metrics::window(sweep.rounds)
        ),
        legend_head: "value:",
        legend: sweep.pens.iter().copied().zip(names).collect(),
        y_label: "mean reward of a round",
        panels: same_axis(panels.collect()),
        columns: 2,
        height: 620.0,
    })
}

impl Sweep<'_> {
    fn panel(&self, family: &str, series: Series) -> Panel {
        let window = metrics::window(self.rounds);
        let of_family = |arm: &&&ArmRuns| arm.arm.family_title() == family;
        let values = self.values.iter().zip(&self.pens);
        let lines: Vec<Line> = values
            .filter_map(|((_, arms), &pen)| {
                let arm = arms.iter().find(of_family)?;
                Some(Line {
                    curve: curves::mean_reward(&arm.runs, series, window),
                    pen,
                    label: String::new(),
                })
            })
            .collect();
        Panel {
            title: format!("{}, {family}", series.title()),
            x_label: "round",
            x_end: self.rounds as f64,
            x_ticks: None,
            y: Scale::holding(&lines),
            lines,
        }
    }
}
