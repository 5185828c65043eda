//! A key swept over values: `sweep.md` and `sweep.png`, where `arms.csv` says that arms differ in it.

use super::{
    arms::{ArmRuns, by_value},
    curves,
    figure::{Figure, same_axis},
    format::number,
    panel::{Line, Panel, Scale},
    runs::Series,
    summary::Summary,
    theme,
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
         bootstrap interval over seeds.\n\n| {key} | arm | seeds | own reward | training set | held-out | held-out, last |\n\
         |---|---|--:|--:|--:|--:|--:|\n{rows}"
    ))
}

/// What `sweep.png` shows: for each arm a panel of own and one of held-out reward, a line per value; none where
/// nothing is swept.
pub(super) fn figure(arms: &[ArmRuns]) -> Option<Figure> {
    let mut values = by_value(arms);
    values.retain(|arms| arms[0].arm.swept.is_some());
    let swept = |value: &[&ArmRuns]| value[0].arm.swept.clone();
    let key = swept(values.first()?)?.key;
    let mut families: Vec<String> = Vec::new();
    for arm in values.iter().flatten() {
        let title = arm.arm.family_title();
        if !families.contains(&title) {
            families.push(title);
        }
    }
    let runs = || values.iter().flatten().flat_map(|arm| &arm.runs);
    let rounds = runs().map(|run| run.rounds).max().unwrap_or(1);
    let (window, pens) = (curves::window(rounds), theme::sweep_pens(values.len()));
    let panel = |family: &str, series: Series| {
        let of_family = |arm: &&&ArmRuns| arm.arm.family_title() == family;
        let line = |(arms, &pen): (&Vec<&ArmRuns>, _)| {
            let arm = arms.iter().find(of_family)?;
            Some(Line {
                curve: curves::mean_reward(&arm.runs, series, window),
                pen,
                label: String::new(),
            })
        };
        let lines: Vec<Line> = values.iter().zip(&pens).filter_map(line).collect();
        Panel {
            title: format!("{}, {family}", series.title()),
            x_label: "round",
            x_end: rounds as f64,
            y: Scale::holding(&lines),
            lines,
        }
    };
    let panels = families
        .iter()
        .flat_map(|family| [Series::Own, Series::Eval].map(|series| panel(family, series)));
    let names = values.iter().filter_map(|arms| Some(swept(arms)?.value));
    Some(Figure {
        title: format!("Rewards by {key}"),
        subtitle: format!(
            "Line: mean over agents and seeds, moving average over {window} rounds; band: 95 % bootstrap interval over seeds"
        ),
        legend_head: "value:",
        legend: pens.iter().copied().zip(names).collect(),
        y_label: "mean reward of a round",
        panels: same_axis(panels.collect()),
        columns: 2,
        height: 620.0,
    })
}
