//! The lines and bands of the pictures as points, one curve per arm.
//!
//! Seeds are averaged round by round. Where runs of one arm are of unequal length, the line ends with the
//! shortest, so that it does not jump where a run ends; runs that have only begun are left out.

use super::{
    metrics::every_round,
    runs::{Grid, Run, Series, grown},
    stats::{estimate, mean, mean_rows, moving_average, running_sum},
};

/// A line, with a band around it where there is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Curve {
    /// Round and value.
    pub(super) points: Vec<(f64, f64)>,
    /// Round, lower and upper edge.
    pub(super) band: Vec<(f64, f64, f64)>,
}

/// Cumulative reward round by round, with the 95 % interval over seeds.
pub(super) fn cumulative(runs: &[Run], series: Series) -> Curve {
    let (runs, rounds) = comparable(runs);
    let sums: Vec<Vec<f64>> = runs
        .iter()
        .filter_map(|run| sums(run, series, rounds))
        .collect();
    let mut curve = Curve::default();
    if sums.is_empty() {
        return curve;
    }
    curve.points.push((0.0, 0.0));
    for at in 0..rounds {
        let values: Vec<f64> = sums.iter().map(|sum| sum[at]).collect();
        let round = (at + 1) as f64;
        let Some(estimate) = estimate(&values) else {
            continue;
        };
        curve.points.push((round, estimate.mean));
        curve
            .band
            .extend(estimate.interval.map(|[low, high]| (round, low, high)));
    }
    curve
}

/// The moving average of the mean over agents, with the least and the greatest agent around it.
/// `pick` says which column; runs without it do not count.
pub(super) fn smoothed<'a>(
    runs: &'a [Run],
    pick: impl Fn(&'a Run) -> Option<&'a Grid>,
    window: usize,
) -> Curve {
    let (runs, rounds) = comparable(runs);
    let (mut means, mut lows, mut highs) = (Vec::new(), Vec::new(), Vec::new());
    for grid in runs.into_iter().filter_map(pick) {
        let agents: Vec<Vec<Option<f64>>> =
            grid.iter().map(|agent| agent[..rounds].to_vec()).collect();
        means.push(moving_average(&mean_rows(&agents), window));
        let agents: Vec<_> = agents
            .iter()
            .map(|agent| moving_average(agent, window))
            .collect();
        let edge = |pick: fn(f64, f64) -> f64| -> Vec<Option<f64>> {
            let windows = 0..agents.first().map_or(0, Vec::len);
            windows
                .map(|at| agents.iter().filter_map(|agent| agent[at]).reduce(pick))
                .collect()
        };
        lows.push(edge(f64::min));
        highs.push(edge(f64::max));
    }
    let (lows, highs) = (mean_rows(&lows), mean_rows(&highs));
    let mut curve = Curve::default();
    for (at, mean) in mean_rows(&means).into_iter().enumerate() {
        let round = (at + window) as f64;
        curve.points.extend(mean.map(|mean| (round, mean)));
        curve.band.extend(
            lows[at]
                .zip(highs[at])
                .map(|(low, high)| (round, low, high)),
        );
    }
    curve
}

/// The moving average of the mean over agents of one reward, straight lines between evaluations, with its 95 %
/// interval over seeds.
pub(super) fn mean_reward(runs: &[Run], series: Series, window: usize) -> Curve {
    let (runs, rounds) = comparable(runs);
    let of_run = |run: &Run| {
        let agents = every_round(run, series)?;
        let means = (0..rounds).map(|at| mean(agents.iter().map(|agent| agent[at])));
        Some(moving_average(&means.collect::<Vec<_>>(), window))
    };
    let rows: Vec<Vec<Option<f64>>> = runs.into_iter().filter_map(of_run).collect();
    let mut curve = Curve::default();
    for at in 0..rows.first().map_or(0, Vec::len) {
        let Some(estimate) = estimate(&rows.iter().filter_map(|row| row[at]).collect::<Vec<_>>())
        else {
            continue;
        };
        let round = (at + window) as f64;
        curve.points.push((round, estimate.mean));
        curve
            .band
            .extend(estimate.interval.map(|[low, high]| (round, low, high)));
    }
    curve
}

/// The same curve with what its rounds had cost up to then, the mean over runs, in the place of rounds; none where
/// the cost of a run is not known.
pub(super) fn against(
    runs: &[Run],
    curve: Curve,
    cost: impl Fn(&Run) -> Option<Vec<f64>>,
) -> Option<Curve> {
    let costs: Option<Vec<Vec<f64>>> = grown(runs)
        .into_iter()
        .map(|run| Some(running_sum(cost(run)?)))
        .collect();
    let costs = costs?;
    let at = |round: f64| {
        let round = round as usize;
        mean(costs.iter().filter_map(|cost| cost.get(round - 1).copied())).unwrap_or(0.0)
    };
    let points = curve.points.into_iter().map(|(x, y)| (at(x), y));
    let band = curve
        .band
        .into_iter()
        .map(|(x, low, high)| (at(x), low, high));
    Some(Curve {
        points: points.collect(),
        band: band.collect(),
    })
}

/// The runs of one arm that a line is drawn from, and how many of their rounds.
fn comparable(runs: &[Run]) -> (Vec<&Run>, usize) {
    let runs = grown(runs);
    let rounds = runs.iter().map(|run| run.rounds).min().unwrap_or(0);
    (runs, rounds)
}

/// The reward of all agents up to each round; none when there is no number at all.
fn sums(run: &Run, series: Series, rounds: usize) -> Option<Vec<f64>> {
    let agents = every_round(run, series)?;
    Some(running_sum(
        (0..rounds).map(|at| agents.iter().map(|agent| agent[at]).sum()),
    ))
}

#[cfg(test)]
mod tests {
    use super::{super::rounds_file::parse_for_tests, *};

    const ROWS: &str = "round,agent,own_reward,train_reward,eval_reward,completions
1,0,0,0,,8
1,1,1,0,0.5,8
2,0,0.5,0,0.25,8
2,1,0.5,0,,8
3,0,1,0,,8
3,1,0,0,1,8
";

    #[test]
    fn sums_run_over_agents_and_rounds() {
        let runs = [parse_for_tests(ROWS)];
        let points = cumulative(&runs, Series::Own).points;
        assert_eq!(points, [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
    }

    #[test]
    fn curves_end_where_the_table_says() {
        let runs = [parse_for_tests(ROWS)];
        for series in [Series::Own, Series::Train, Series::Eval] {
            let end = cumulative(&runs, series).points.last().copied().unwrap();
            let sum = crate::report::metrics::cumulative(&runs[0], series, 3).unwrap();
            assert!((end.1 - sum).abs() < 1e-12, "{end:?} is not {sum}");
        }
        let points = cumulative(&runs, Series::Eval).points;
        assert_eq!(points, [(0.0, 0.0), (1.0, 0.75), (2.0, 1.75), (3.0, 3.0)]);
    }

    #[test]
    fn bands_of_two_equal_seeds_have_no_width_and_one_seed_has_none() {
        let run = parse_for_tests(ROWS);
        assert_eq!(cumulative(std::slice::from_ref(&run), Series::Own).band, []);
        let band = cumulative(&[run.clone(), run], Series::Own).band;
        assert_eq!(band, [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (3.0, 3.0, 3.0)]);
    }

    #[test]
    fn smoothed_bands_span_the_agents() {
        let runs = [parse_for_tests(ROWS)];
        let curve = smoothed(&runs, |run| Some(run.reward(Series::Own)), 2);
        assert_eq!(curve.points, [(2.0, 0.5), (3.0, 0.5)]);
        assert_eq!(curve.band, [(2.0, 0.25, 0.75), (3.0, 0.25, 0.75)]);
    }

    #[test]
    fn a_run_that_has_just_begun_does_not_cut_the_line() {
        let long = parse_for_tests(ROWS);
        let short = parse_for_tests(
            "round,agent,own_reward,train_reward,eval_reward,completions\n1,0,9,0,,8\n1,1,9,0,,8\n",
        );
        assert_eq!(
            cumulative(&[long.clone(), short], Series::Own),
            cumulative(&[long], Series::Own)
        );
    }
}
