//! The metrics of one run: sums, gains, means at the start and at the end, swings, what a budget buys.
//!
//! Definitions only. Which runs are put together, and how, is for `summary`.

use super::{
    means::{OWN_PEAK, TRAIN_PEAK},
    runs::{Run, Series},
    stats::{mean, mean_rows, moving_average, trend},
};

/// The window of the smoothed curves: the paper's 100 rounds, or a twentieth of a shorter experiment.
pub(super) fn window(rounds: usize) -> usize {
    (rounds / 20).clamp(1, 100)
}

/// The reward of every agent and round; none when there is no number at all.
///
/// The held-out reward is not measured in every round: between two evaluations of an agent it goes
/// in a straight line, before the first and after the last it stays.
pub(super) fn every_round(run: &Run, series: Series) -> Option<Vec<Vec<f64>>> {
    let grid = run.reward(series);
    mean(grid.iter().flatten().copied().flatten())?;
    let filled = |agent: &Vec<Option<f64>>| match series {
        Series::Own | Series::Train => agent.iter().map(|value| value.unwrap_or(0.0)).collect(),
        Series::Eval => interpolated(agent),
    };
    Some(grid.iter().map(filled).collect())
}

fn interpolated(values: &[Option<f64>]) -> Vec<f64> {
    let known: Vec<(usize, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(at, value)| Some((at, (*value)?)))
        .collect();
    let at = |round: usize| {
        let next = known.partition_point(|(at, _)| *at < round);
        match (next.checked_sub(1).map(|i| known[i]), known.get(next)) {
            (Some((a, low)), Some((b, high))) => {
                low + (high - low) * (round - a) as f64 / (b - a) as f64
            }
            (None, Some((_, only))) => *only,
            (before, None) => before.map_or(0.0, |(_, value)| value),
        }
    };
    (0..values.len()).map(at).collect()
}

/// The reward of a run, summed over agents and its first `rounds` rounds.
pub(super) fn cumulative(run: &Run, series: Series, rounds: usize) -> Option<f64> {
    let rewards = every_round(run, series)?;
    Some(
        rewards
            .iter()
            .flat_map(|agent| agent.iter().take(rounds))
            .sum(),
    )
}

/// By how many percent the reward per agent of a run exceeds that of `base`, over the rounds that both have.
pub(super) fn gain(run: &Run, base: &Run, series: Series) -> Option<f64> {
    gain_until(run, base, series, run.rounds.min(base.rounds))
}

/// The same over the first `rounds` rounds.
pub(super) fn gain_until(run: &Run, base: &Run, series: Series, rounds: usize) -> Option<f64> {
    let base = per_agent_round(base, series, rounds)?;
    percent_over(per_agent_round(run, series, rounds)?, base)
}

/// By how many percent a number exceeds `base`; none where there is nothing to exceed.
pub(super) fn percent_over(number: f64, base: f64) -> Option<f64> {
    let gain = 100.0 * (number / base - 1.0);
    gain.is_finite().then_some(gain)
}

/// The reward per agent and round of the first `rounds` rounds.
pub(super) fn per_agent_round(run: &Run, series: Series, rounds: usize) -> Option<f64> {
    let rounds = rounds.min(run.rounds);
    Some(cumulative(run, series, rounds)? / (run.agents * rounds) as f64)
}

/// Mean own reward of the first tenth of the rounds: ten rounds at most, one at least.
pub(super) fn start_reward(run: &Run) -> Option<f64> {
    let rounds = (run.rounds / 10).clamp(1, 10);
    mean(
        run.reward(Series::Own)
            .iter()
            .flat_map(|agent| agent.iter().take(rounds))
            .copied()
            .flatten(),
    )
}

/// Mean own reward of the last tenth of the rounds, one round at least.
pub(super) fn final_reward(run: &Run) -> Option<f64> {
    let skip = run.rounds - (run.rounds / 10).max(1);
    mean(
        run.reward(Series::Own)
            .iter()
            .flat_map(|agent| agent.iter().skip(skip))
            .copied()
            .flatten(),
    )
}

/// Held-out reward of the last evaluation, the mean over agents.
pub(super) fn final_eval(run: &Run) -> Option<f64> {
    mean(
        run.reward(Series::Eval)
            .iter()
            .filter_map(|agent| agent.iter().rev().find_map(|value| *value)),
    )
}

/// The mean over agents of a reward, smoothed as in the pictures; blank rounds left out.
fn smooth(run: &Run, series: Series) -> Vec<f64> {
    moving_average(&mean_rows(run.reward(series)), window(run.rounds))
        .into_iter()
        .flatten()
        .collect()
}

/// Standard deviation of the smoothed reward around its trend after the first quarter of the rounds. The trend is
/// a parabola over five times the window, which a learning curve follows closely.
pub(super) fn oscillation(run: &Run, series: Series) -> Option<f64> {
    let (smoothed, window) = (smooth(run, series), window(run.rounds));
    let half = (5 * window).div_ceil(2);
    let around = trend(&smoothed, half)
        .into_iter()
        .zip(smoothed.iter().skip(half));
    // entry 0 stands for the middle of the first window and of its neighbours
    let late = around.skip((run.rounds / 4).saturating_sub(half + window / 2));
    Some(mean(late.map(|(trend, value)| (value - trend).powi(2)))?.sqrt())
}

/// The largest fall of the smoothed reward from a peak to a later trough.
pub(super) fn largest_drop(run: &Run, series: Series) -> Option<f64> {
    let mut peak = f64::NEG_INFINITY;
    let falls = smooth(run, series).into_iter().map(|value| {
        peak = peak.max(value);
        peak - value
    });
    falls.reduce(f64::max)
}

/// The highest reward of an agent in a round.
pub(super) fn peak(run: &Run, series: Series) -> Option<f64> {
    let kept = match series {
        Series::Own => run.column(OWN_PEAK),
        Series::Train => run.column(TRAIN_PEAK),
        Series::Eval => None,
    };
    let rewards = kept.unwrap_or(run.reward(series)).iter().flatten();
    rewards.copied().flatten().reduce(f64::max)
}

/// The round, counted from 1, in which the costs of the rounds first add up to `spent`; none when the run is over before.
pub(super) fn round_of(cost: &[f64], spent: f64) -> Option<usize> {
    let mut sum = 0.0;
    let last = cost.iter().position(|cost| {
        sum += cost;
        sum >= spent * (1.0 - 1e-9)
    });
    last.map(|last| last + 1)
}

/// A reward, the mean over agents, as the mean over the first so much of what a run spends; none where it spends less.
pub(super) fn over(run: &Run, series: Series, cost: &[f64], spent: f64) -> Option<f64> {
    let last = round_of(cost, spent)? - 1;
    let before: f64 = cost[..last].iter().sum();
    // of the last round only the part that is paid for counts
    let weights = cost[..last].iter().copied().chain([spent - before]);
    let agents = every_round(run, series)?;
    let of_round = |round: usize| mean(agents.iter().map(|agent| agent[round]));
    let sum: Option<f64> = weights
        .enumerate()
        .map(|(round, weight)| Some(of_round(round)? * weight))
        .sum();
    Some(sum? / spent)
}

/// The held-out reward, the mean over agents, in that round.
pub(super) fn held_out_after(run: &Run, cost: &[f64], spent: f64) -> Option<f64> {
    // a round is evaluated before it generates: what was spent in it shows in the next
    held_out_in(run, (round_of(cost, spent)? + 1).min(run.rounds))
}

/// The held-out reward in a round, the mean over agents.
pub(super) fn held_out_in(run: &Run, round: usize) -> Option<f64> {
    let agents = every_round(run, Series::Eval)?;
    mean(
        agents
            .iter()
            .filter_map(|agent| agent.get(round - 1).copied()),
    )
}

/// The first round, counted from 1, in which the held-out reward has come to a level, on the straight lines
/// between evaluations; none when it never does.
pub(super) fn first_round_at(run: &Run, level: f64) -> Option<usize> {
    let agents = every_round(run, Series::Eval)?;
    let reward = |round: &usize| mean(agents.iter().map(|agent| agent[round - 1]));
    (1..=run.rounds).find(|round| reward(round).is_some_and(|reward| reward >= level))
}

/// Steps with a signal of an agent before the last round, in all.
pub(super) fn steps_before_last(run: &Run) -> Option<f64> {
    let steps = run.signal_steps()?;
    Some(steps[..run.rounds - 1].iter().sum())
}

/// A reward as a function of steps with a signal: its mean over the first `steps` of them, agents alike.
///
/// What a step brought is looked at in the next round. In its own round, a signal and a high reward come from the
/// same completions, so that rounds with a step would seem better than they are.
pub(super) fn mean_over_steps(run: &Run, series: Series, steps: f64) -> Option<f64> {
    let (of_round, agents) = (run.signal_steps()?, every_round(run, series)?);
    let (mut left, mut sum) = (steps, 0.0);
    for (at, taken) in (1..run.rounds).zip(of_round) {
        let taken = taken.min(left);
        sum += taken * mean(agents.iter().map(|agent| agent[at]))?;
        left -= taken;
    }
    (left < 1e-9 && steps > 0.0).then(|| sum / steps)
}

/// The mean of a column over agents and the last tenth of the rounds, one round at least.
pub(super) fn last_of(run: &Run, column: &str) -> Option<f64> {
    let skip = run.rounds - (run.rounds / 10).max(1);
    let grid = run.column(column)?;
    mean(
        grid.iter()
            .flat_map(|agent| agent.iter().skip(skip))
            .copied()
            .flatten(),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::rounds_file::parse_for_tests, *};

    /// Two agents, three rounds, evaluated in the first and the last.
    const ROWS: &str = "round,agent,own_reward,train_reward,eval_reward,completions
1,0,0.1,0.2,0.5,8
1,1,0.3,0.2,0.1,8
2,0,0.2,,,8
2,1,0.2,0.4,,8
3,0,0.5,0.6,0.9,8
3,1,0.3,0.2,0.5,8
";

    fn close(found: Option<f64>, expected: f64) {
        assert!(
            found.is_some_and(|found| (found - expected).abs() < 1e-12),
            "found {found:?}, expected {expected}"
        );
    }

    #[test]
    fn sums_by_hand() {
        let run = parse_for_tests(ROWS);
        close(cumulative(&run, Series::Own, 3), 1.6);
        close(cumulative(&run, Series::Train, 3), 1.6);
        // agent 0 goes 0.5, 0.7, 0.9 and agent 1 goes 0.1, 0.3, 0.5
        close(cumulative(&run, Series::Eval, 3), 3.0);
        close(cumulative(&run, Series::Eval, 2), 1.6);
        close(cumulative(&run, Series::Own, 1), 0.4);
        close(per_agent_round(&run, Series::Own, 3), 1.6 / 6.0);
        close(start_reward(&run), 0.2);
        close(final_reward(&run), 0.4);
    }

    #[test]
    fn evaluations_are_joined_by_straight_lines() {
        let close = |found: Vec<f64>, expected: &[f64]| {
            assert_eq!(found.len(), expected.len());
            assert!(
                found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-12),
                "{found:?} is not {expected:?}"
            );
        };
        let (a, b) = (Some(0.2), Some(0.8));
        close(
            interpolated(&[None, a, None, None, b, None]),
            &[0.2, 0.2, 0.4, 0.6, 0.8, 0.8],
        );
        close(interpolated(&[a, b]), &[0.2, 0.8]);
        close(interpolated(&[None, None, b]), &[0.8, 0.8, 0.8]);
    }

    #[test]
    fn gain_compares_the_rounds_that_both_have() {
        let run = parse_for_tests(ROWS);
        let base = parse_for_tests(
            "round,agent,own_reward,train_reward,eval_reward,completions\n1,0,0.1,0,,8\n1,1,0.1,0,,8\n",
        );
        close(gain(&run, &base, Series::Own), 100.0);
        assert_eq!(
            gain(&run, &base, Series::Train),
            None,
            "nothing to divide by"
        );
        assert_eq!(gain(&run, &base, Series::Eval), None, "never evaluated");
    }

    #[test]
    fn the_round_in_which_a_budget_is_spent() {
        assert_eq!(round_of(&[2.0, 2.0, 2.0], 4.0), Some(2));
        assert_eq!(round_of(&[2.0, 2.0, 2.0], 4.1), Some(3));
        assert_eq!(round_of(&[2.0], 3.0), None);
    }

    #[test]
    fn what_steps_bring_is_looked_at_in_the_next_round() {
        let run = parse_for_tests(
            "round,agent,own_reward,train_reward,eval_reward,completions,steps,steps_without_signal
1,0,0.9,0,0.1,8,1,0
2,0,0.1,0,,8,1,1
3,0,0.9,0,,8,1,0
4,0,0.5,0,0.4,8,1,0
",
        );
        // steps in rounds 1 and 3, and one in the last, after which nothing is seen
        close(steps_before_last(&run), 2.0);
        close(mean_over_steps(&run, Series::Own, 2.0), 0.3);
        close(mean_over_steps(&run, Series::Own, 1.0), 0.1);
        close(mean_over_steps(&run, Series::Eval, 2.0), 0.3);
        assert_eq!(mean_over_steps(&run, Series::Own, 3.0), None);
        assert_eq!(first_round_at(&run, 0.3), Some(3));
        assert_eq!(first_round_at(&run, 0.5), None);
        close(held_out_in(&run, 2), 0.2);
    }

    #[test]
    fn swings_falls_and_peaks_by_hand() {
        let rows: String = [0.0, 0.5, 0.2, 0.4, 0.2, 0.4]
            .iter()
            .enumerate()
            .map(|(at, reward)| format!("{},0,{reward},{reward},{reward},8\n", at + 1))
            .collect();
        let run = parse_for_tests(&format!(
            "round,agent,own_reward,train_reward,eval_reward,completions\n{rows}"
        ));
        close(largest_drop(&run, Series::Own), 0.3);
        close(peak(&run, Series::Own), 0.5);
        close(final_eval(&run), 0.4);
        assert_eq!(
            oscillation(&run, Series::Own),
            None,
            "too few rounds for a trend"
        );
        close(held_out_after(&run, &run.completions_of, 16.0), 0.2);
        assert_eq!(held_out_after(&run, &run.completions_of, 100.0), None);
    }

    #[test]
    fn window_is_the_papers_or_a_twentieth() {
        assert_eq!(
            [1, 19, 40, 200, 2000, 9000].map(window),
            [1, 1, 2, 10, 100, 100]
        );
    }
}
