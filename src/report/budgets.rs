//! The arms at equal cost: how far each has come when the cheapest of them is over, by completions generated
//! (`budgets.md`) and by time (`timings.md`, which never repeats).

use super::{
    arms::{ArmRuns, by_value},
    format::{number, without_interval},
    metrics,
    runs::{Run, Series},
    stats::{Estimate, estimate},
};

const HEAD: &str = "The more an arm draws, the less it generates in a round. Here every arm has spent as much as the cheapest one \
                    spends in all its rounds; held-out reward then, mean over agents, in brackets the 95 % interval of Student's t \
                    over seeds.";
/// What is added in a sweep.
const SWEPT: &str = " In a sweep, arms with the same value are compared.";

/// What each round of a run cost; none where nobody measured it.
type Cost = fn(&Run) -> Option<&[f64]>;

/// The whole of `budgets.md`.
pub(super) fn completions(arms: &[ArmRuns]) -> String {
    let cost: Cost = |run| Some(&run.completions_of);
    let title = "# The arms at equal cost";
    document(
        title,
        ["Equal completions generated", "completions"],
        arms,
        cost,
    )
}

/// The whole of `timings.md`; none where no run has its times beside it.
pub(super) fn timings(arms: &[ArmRuns]) -> Option<String> {
    let timed = |arm: &ArmRuns| ArmRuns {
        runs: arm
            .runs
            .iter()
            .filter(|run| run.seconds_of.is_some())
            .cloned()
            .collect(),
        arm: arm.arm.clone(),
    };
    let mut timed: Vec<ArmRuns> = arms.iter().map(timed).collect();
    timed.retain(|arm| !arm.runs.is_empty());
    let cost: Cost = |run| run.seconds_of.as_deref();
    let title = "# The arms at equal time";
    (!timed.is_empty()).then(|| {
        let block = ["Equal time for generating and learning", "seconds"];
        document(title, block, &timed, cost)
    })
}

/// A title and a table for each value of a sweep, or the one where nothing is swept. `block` is what a table is
/// called and the unit of the cost.
fn document(title: &str, block: [&str; 2], arms: &[ArmRuns], cost: Cost) -> String {
    let swept = arms.iter().any(|arm| arm.arm.swept.is_some());
    let tables: Vec<String> = by_value(arms)
        .iter()
        .map(|group| table(block, group, cost))
        .collect();
    let more = if swept { SWEPT } else { "" };
    format!("{title}\n\n{HEAD}{more}\n{}", tables.concat())
}

fn table([title, unit]: [&str; 2], arms: &[&ArmRuns], cost: Cost) -> String {
    let total = |run: &Run| cost(run).map(|cost| cost.iter().sum::<f64>());
    // what every run of every arm can pay for
    let spent = arms
        .iter()
        .flat_map(|arm| arm.grown())
        .filter_map(total)
        .fold(f64::INFINITY, f64::min);
    let setting = arms[0].arm.swept.as_ref();
    let setting = setting.map_or(String::new(), |swept| format!("{}. ", swept.setting()));
    let mut text = format!(
        "\n**{setting}{title}: {spent:.0} {unit}**\n\n| arm | round | held-out then | held-out at its own end | {unit} in all |\n\
         |---|--:|--:|--:|--:|\n"
    );
    for arm in arms {
        let runs = arm.grown();
        let over = |of: &dyn Fn(&Run) -> Option<f64>| -> Option<Estimate> {
            estimate(&runs.iter().filter_map(|run| of(run)).collect::<Vec<_>>())
        };
        let round = over(&|run| Some(metrics::round_of(cost(run)?, spent)? as f64));
        let then = over(&|run| metrics::held_out_after(run, cost(run)?, spent));
        let end =
            over(&|run| metrics::every_round(run, Series::Eval).and(metrics::final_eval(run)));
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            arm.arm.title(),
            without_interval(round, 0),
            number(then, 4),
            number(end, 4),
            without_interval(over(&total), 0)
        );
    }
    text
}
