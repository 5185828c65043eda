//! What the table says of one run: sums, gains, means at the start and at the end.
//!
//! Definitions only. Which runs are put together, and how, is for `summary`.

use super::{
    csv::{Run, Series},
    stats::mean,
};

/// The reward of a run, summed over agents and its first `rounds` rounds.
///
/// The held-out reward is not measured in every round: its sum is the mean over all evaluations
/// times agents times rounds.
pub(super) fn cumulative(run: &Run, series: Series, rounds: usize) -> Option<f64> {
    let cells = || run.reward(series).iter().flat_map(|agent| agent.iter().take(rounds)).copied().flatten();
    let mean = mean(cells())?;
    Some(match series {
        Series::Own | Series::Train => cells().sum(),
        Series::Eval => mean * (run.agents * rounds) as f64,
    })
}

/// By how many percent a run exceeds `base`, over the rounds that both have.
pub(super) fn gain(run: &Run, base: &Run, series: Series) -> Option<f64> {
    let rounds = run.rounds.min(base.rounds);
    let base = cumulative(base, series, rounds)?;
    let gain = 100.0 * (cumulative(run, series, rounds)? / base - 1.0);
    gain.is_finite().then_some(gain)
}

/// The cumulative reward an agent and round.
pub(super) fn per_agent_round(run: &Run, series: Series) -> Option<f64> {
    Some(cumulative(run, series, run.rounds)? / (run.agents * run.rounds) as f64)
}

/// Mean own reward of the first tenth of the rounds, of ten rounds at most and of one at least.
pub(super) fn start_reward(run: &Run) -> Option<f64> {
    let rounds = (run.rounds / 10).clamp(1, 10);
    mean(run.reward(Series::Own).iter().flat_map(|agent| agent.iter().take(rounds)).copied().flatten())
}

/// Mean own reward of the last tenth of the rounds, of one round at least.
pub(super) fn final_reward(run: &Run) -> Option<f64> {
    let skip = run.rounds - (run.rounds / 10).max(1);
    mean(run.reward(Series::Own).iter().flat_map(|agent| agent.iter().skip(skip)).copied().flatten())
}

#[cfg(test)]
mod tests {
    use super::{super::csv::parse_for_tests, *};

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
        assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "found {found:?}, expected {expected}");
    }

    #[test]
    fn sums_by_hand() {
        let run = parse_for_tests(ROWS);
        close(cumulative(&run, Series::Own, 3), 1.6);
        close(cumulative(&run, Series::Train, 3), 1.6);
        close(cumulative(&run, Series::Eval, 3), 0.5 * 6.0);
        close(cumulative(&run, Series::Own, 1), 0.4);
        close(per_agent_round(&run, Series::Own), 1.6 / 6.0);
        close(start_reward(&run), 0.2);
        close(final_reward(&run), 0.4);
    }

    #[test]
    fn gain_compares_the_rounds_that_both_have() {
        let run = parse_for_tests(ROWS);
        let base = parse_for_tests(
            "round,agent,own_reward,train_reward,eval_reward,completions\n1,0,0.1,0,,8\n1,1,0.1,0,,8\n",
        );
        close(gain(&run, &base, Series::Own), 100.0);
        assert_eq!(gain(&run, &base, Series::Train), None, "nothing to divide by");
        assert_eq!(gain(&run, &base, Series::Eval), None, "never evaluated");
    }
}
