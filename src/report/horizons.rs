//! `horizons.md`: what each arm gains up to a quarter, half and all of the rounds, and how soon it comes to a level.
//! A percentage of a curve that still rises says where one stopped; this says it for several places.

use super::{
    arms::ArmRuns,
    format::{count, number, percent},
    metrics,
    runs::{Run, Series},
    stats::{Estimate, estimate},
};

/// The held-out reward that arms are timed to.
const LEVEL: f64 = 0.2;

const HEAD: &str = "# Horizons\n\nGains over the run of the same seed of the arm's baseline, up to a quarter, half and all of the \
                    rounds: of the own and the held-out reward gathered until then, and the difference of held-out reward \
                    in that round. In brackets the 95 % interval of Student's t over seeds.\n";

/// The whole of `horizons.md`.
pub(super) fn markdown(arms: &[ArmRuns]) -> String {
    let runs = arms.iter().flat_map(|arm| &arm.runs);
    let all = runs.map(|run| run.rounds).max().unwrap_or(1);
    let mut horizons = vec![all / 4, all / 2, all];
    horizons.retain(|horizon| *horizon > 0);
    horizons.dedup();
    let tables = horizons.into_iter().map(|rounds| table(arms, rounds));
    format!("{HEAD}{}{}", tables.collect::<String>(), levels(arms))
}

/// The runs of an arm that are as long, and those of its baseline.
fn paired<'a>(
    arm: &'a ArmRuns,
    arms: &'a [ArmRuns],
    rounds: usize,
) -> Vec<(&'a Run, Option<&'a Run>)> {
    let base = arm.arm.baseline.as_ref();
    let base = base.and_then(|name| arms.iter().find(|other| other.arm.name == *name));
    let long = |run: &&Run| run.rounds >= rounds;
    let of_seed = |seed: u64| {
        let mut bases = base?.runs.iter().filter(long);
        bases.find(|base| base.seed == seed)
    };
    let runs = arm.runs.iter().filter(long);
    runs.map(|run| (run, of_seed(run.seed))).collect()
}

fn table(arms: &[ArmRuns], rounds: usize) -> String {
    let mut text = format!(
        "\n**{}**\n\n| arm | over | seeds | own reward a round | gain | held-out a round | gain | held-out then | difference |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|\n",
        count(rounds, "round")
    );
    for arm in arms {
        let runs = paired(arm, arms, rounds);
        let over = |of: &dyn Fn(&Run) -> Option<f64>| -> Option<Estimate> {
            estimate(
                &runs
                    .iter()
                    .filter_map(|(run, _)| of(run))
                    .collect::<Vec<_>>(),
            )
        };
        let pairs = |of: &dyn Fn(&Run, &Run) -> Option<f64>| -> Option<Estimate> {
            let values = runs.iter().filter_map(|(run, base)| of(run, (*base)?));
            estimate(&values.collect::<Vec<_>>())
        };
        let mean = |series| over(&|run| metrics::per_agent_round(run, series, rounds));
        let gain = |series| pairs(&|run, base| metrics::gain_until(run, base, series, rounds));
        let then = |run: &Run| metrics::held_out_in(run, rounds);
        let difference = pairs(&|run, base| Some(then(run)? - then(base)?));
        let base = arms
            .iter()
            .find(|other| arm.arm.baseline.as_ref() == Some(&other.arm.name));
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            arm.arm.title(),
            base.map_or(super::format::NONE.to_owned(), |base| base.arm.title()),
            runs.len(),
            number(mean(Series::Own), 4),
            percent(gain(Series::Own)),
            number(mean(Series::Eval), 4),
            percent(gain(Series::Eval)),
            number(over(&then), 4),
            number(difference, 4)
        );
    }
    text
}

/// When each arm comes to the level, in rounds and in completions.
fn levels(arms: &[ArmRuns]) -> String {
    let mut text = format!(
        "\n**Until held-out reward {LEVEL}**, on the straight lines between evaluations; means over the runs that come to \
         it\n\n| arm | runs that do | rounds | completions |\n|---|--:|--:|--:|\n"
    );
    for arm in arms {
        let runs = arm.grown();
        let first = |run: &&&Run| metrics::first_round_at(run, LEVEL);
        let arrived: Vec<(&Run, usize)> = runs
            .iter()
            .filter_map(|run| Some((*run, first(&run)?)))
            .collect();
        let rounds = arrived.iter().map(|(_, round)| *round as f64);
        let completions = arrived
            .iter()
            .map(|(run, round)| run.completions_of[..*round - 1].iter().sum::<f64>());
        text += &format!(
            "| {} | {} of {} | {} | {} |\n",
            arm.arm.title(),
            arrived.len(),
            runs.len(),
            number(estimate(&rounds.collect::<Vec<_>>()), 1),
            number(estimate(&completions.collect::<Vec<_>>()), 0)
        );
    }
    text
}
