//! The mixes at equal cost: how far each has come when the cheapest of them is over, by completions generated
//! (`budgets.md`) and by time (`timings.md`, which never repeats).

use super::{
    csv::{Run, Series},
    measure,
    stats::{Estimate, estimate},
    summary::{by_mix, grown},
    table::plain,
};

const HEAD: &str = "The more a mix draws, the less it generates in a round. Here every mix has spent as much as the cheapest one \
                    spends in all its rounds; held-out reward then, mean over agents, in brackets the 95 % bootstrap interval \
                    over seeds.";

/// The whole of `budgets.md`.
pub(super) fn completions(runs: &[Run]) -> String {
    let table = block("Equal completions generated", "completions", runs, &|run| {
        Some(run.completions_of.clone())
    });
    format!("# The mixes at equal cost\n\n{HEAD}\n{table}")
}

/// The whole of `timings.md`; none where no run has its times beside it.
pub(super) fn timings(runs: &[Run]) -> Option<String> {
    let timed: Vec<Run> = runs
        .iter()
        .filter(|run| run.seconds_of.is_some())
        .cloned()
        .collect();
    let cost = |run: &Run| run.seconds_of.clone();
    let table = || {
        block(
            "Equal time for generating and learning",
            "seconds",
            &timed,
            &cost,
        )
    };
    (!timed.is_empty()).then(|| format!("# The mixes at equal time\n\n{HEAD}\n{}", table()))
}

fn block(title: &str, unit: &str, runs: &[Run], cost: &dyn Fn(&Run) -> Option<Vec<f64>>) -> String {
    let total = |run: &Run| cost(run).map(|cost| cost.iter().sum::<f64>());
    let mixes: Vec<Vec<&Run>> = by_mix(runs).into_iter().map(grown).collect();
    // what every run of every mix can pay for
    let spent = mixes
        .iter()
        .flatten()
        .filter_map(|run| total(run))
        .fold(f64::INFINITY, f64::min);
    let mut text = format!(
        "\n**{title}: {spent:.0} {unit}**\n\n| mix | round | held-out then | held-out at its own end | {unit} in all |\n\
         |---|--:|--:|--:|--:|\n"
    );
    for runs in &mixes {
        let over = |of: &dyn Fn(&Run) -> Option<f64>| -> Option<Estimate> {
            estimate(&runs.iter().filter_map(|run| of(run)).collect::<Vec<_>>())
        };
        let round = over(&|run| Some(measure::round_of(&cost(run)?, spent)? as f64));
        let then = over(&|run| measure::held_out_after(run, &cost(run)?, spent));
        let end =
            over(&|run| measure::every_round(run, Series::Eval).and(measure::final_eval(run)));
        let all = over(&total);
        let whole = |estimate: Option<Estimate>| {
            plain(
                estimate.map(|e| Estimate {
                    interval: None,
                    ..e
                }),
                0,
            )
        };
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            runs[0].mix,
            whole(round),
            plain(then, 4),
            plain(end, 4),
            whole(all)
        );
    }
    text
}
