//! The runs of each arm put together: one row per arm, each number with its interval over seeds, the paper's beside it.
//!
//! Gains and tests pair each run with the run of the same seed of the arm's baseline. How rows look is for `table`.

use super::{
    arms::{Arm, ArmRuns, by_value, distinct},
    metrics,
    paper::{self, Paper},
    runs::{Run, Series},
    stats::{Estimate, estimate, holm, mean_rows, paired_p},
};

/// What the runs of an experiment add up to: the rows of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// One row per arm.
    pub(super) rows: Vec<Row>,
    /// Rounds of the longest run.
    pub(super) rounds: usize,
    /// How many different seeds there are.
    pub(super) seeds: usize,
    /// The fewest and the most agents that a run has.
    pub(super) agents: (usize, usize),
}

/// One arm. Arrays of three are in the order of [`Series::ALL`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) arm: Arm,
    /// The title of the arm that it is compared with, where that has runs.
    pub(super) baseline: Option<String>,
    /// How many seeds it has.
    pub(super) seeds: usize,
    /// Agents of its largest run.
    pub(super) agents: usize,
    /// Rounds of its shortest run.
    pub(super) rounds: usize,
    /// What is missing, if anything.
    pub(super) unfinished: Option<String>,
    /// Sum over agents and rounds.
    pub(super) cumulative: [Option<Estimate>; 3],
    /// Percent over the run of the same seed of its baseline.
    pub(super) gain: [Option<Estimate>; 3],
    /// The sum per agent and round.
    pub(super) mean: [Option<Estimate>; 3],
    /// Own reward of the first rounds.
    pub(super) start: Option<Estimate>,
    /// Own reward of the last rounds.
    pub(super) end: Option<Estimate>,
    /// Held-out reward of the last evaluation.
    pub(super) final_eval: Option<Estimate>,
    /// Oscillation, largest drop and peak of own and of training-set reward.
    pub(super) swing: [[Option<Estimate>; 3]; 2],
    /// p of the paired test of the three sums and of the last evaluation against its baseline,
    /// corrected for the number of arms with that baseline.
    pub(super) p: [Option<f64>; 4],
    /// Optimizer steps of an agent, and those of them with a signal.
    pub(super) steps: [Option<Estimate>; 2],
    /// Of own completions in the last rounds: the share with an answer in tags, and the share of those that is right.
    pub(super) form: [Option<Estimate>; 2],
    /// Completions generated in one run.
    pub(super) completions: f64,
    /// The paper's numbers for this mix.
    pub(super) paper: Option<Paper>,
}

impl Summary {
    /// Puts together what [`super::arms::read`] found.
    pub(super) fn new(arms: &[ArmRuns]) -> Self {
        let runs = || arms.iter().flat_map(|arm| &arm.runs);
        let agents = || runs().map(|run| run.agents);
        let mut rows: Vec<Row> = arms
            .iter()
            .map(|arm| Row::new(arm, baseline(arm, arms)))
            .collect();
        for group in by_value(arms) {
            let longest = longest(group.iter().flat_map(|arm| &arm.runs));
            let seeds = count_seeds(group.iter().flat_map(|arm| &arm.runs));
            let of_group = |row: &&mut Row| group.iter().any(|arm| arm.arm == row.arm);
            for row in rows.iter_mut().filter(of_group) {
                let rounds = row.arm.rounds.unwrap_or(longest);
                row.unfinished = missing((row.rounds, rounds), (row.seeds, seeds));
            }
        }
        for which in 0..4 {
            let p = |arm: &ArmRuns| against(&arm.grown(), &baseline(arm, arms)?.grown(), which);
            let ps: Vec<Option<f64>> = arms.iter().map(p).collect();
            for (row, p) in rows.iter_mut().zip(corrected(arms, &ps)) {
                row.p[which] = p;
            }
        }
        Summary {
            rows,
            rounds: longest(runs()),
            seeds: count_seeds(runs()),
            agents: (agents().min().unwrap_or(0), agents().max().unwrap_or(0)),
        }
    }

    /// The titles of the arms that others are compared with.
    pub(super) fn baselines(&self) -> Vec<&str> {
        let titles = self.rows.iter();
        distinct(titles.filter_map(|row| row.baseline.as_deref()))
    }

    /// Whether the paper has numbers for some arm.
    pub(super) fn has_paper(&self) -> bool {
        self.rows.iter().any(|row| row.paper.is_some())
    }

    /// Whether some number stands without an interval because there is one seed only.
    pub(super) fn has_single_seed(&self) -> bool {
        self.rows.iter().any(|row| row.seeds == 1)
    }
}

impl Row {
    /// The row of an arm by itself: what is missing and p depend on the others.
    fn new(arm: &ArmRuns, baseline: Option<&ArmRuns>) -> Self {
        let runs = arm.grown();
        let bases = baseline.map_or(Vec::new(), ArmRuns::grown);
        let over = |metric: &dyn Fn(&Run) -> Option<f64>| {
            estimate(&runs.iter().copied().filter_map(metric).collect::<Vec<_>>())
        };
        let gain = |run: &Run, series| metrics::gain(run, of_seed(&bases, run.seed)?, series);
        let swing = |series| {
            [
                over(&|run| metrics::oscillation(run, series)),
                over(&|run| metrics::largest_drop(run, series)),
                over(&|run| metrics::peak(run, series)),
            ]
        };
        Row {
            arm: arm.arm.clone(),
            baseline: baseline.map(|baseline| baseline.arm.title()),
            seeds: runs.len(),
            agents: runs.iter().map(|run| run.agents).max().unwrap_or(0),
            rounds: runs.iter().map(|run| run.rounds).min().unwrap_or(0),
            unfinished: None,
            cumulative: Series::ALL
                .map(|series| over(&|run| metrics::cumulative(run, series, run.rounds))),
            gain: Series::ALL.map(|series| over(&|run| gain(run, series))),
            mean: Series::ALL
                .map(|series| over(&|run| metrics::per_agent_round(run, series, run.rounds))),
            start: over(&metrics::start_reward),
            end: over(&metrics::final_reward),
            final_eval: over(&metrics::final_eval),
            swing: [Series::Own, Series::Train].map(swing),
            p: [None; 4],
            steps: [
                over(&|run| Some(mean_rows(run.column("steps")?).into_iter().flatten().sum())),
                over(&|run| Some(run.signal_steps()?.iter().sum())),
            ],
            form: ["tagged_frac", "right_in_tags_frac"]
                .map(|column| over(&|run| metrics::last_of(run, column))),
            completions: over(&|run| Some(run.completions))
                .map_or(0.0, |completions| completions.mean),
            paper: arm.arm.named_mix().and_then(paper::numbers),
        }
    }
}

/// The arm that an arm is compared with.
fn baseline<'a>(arm: &ArmRuns, arms: &'a [ArmRuns]) -> Option<&'a ArmRuns> {
    let name = arm.arm.baseline.as_ref()?;
    arms.iter().find(|other| other.arm.name == *name)
}

fn of_seed<'a>(runs: &[&'a Run], seed: u64) -> Option<&'a Run> {
    runs.iter().copied().find(|run| run.seed == seed)
}

fn longest<'a>(runs: impl Iterator<Item = &'a Run>) -> usize {
    runs.map(|run| run.rounds).max().unwrap_or(0)
}

fn count_seeds<'a>(runs: impl Iterator<Item = &'a Run>) -> usize {
    let mut seeds: Vec<u64> = runs.map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds.len()
}

/// What an arm lacks: how many rounds and seeds of how many.
fn missing((rounds, most_rounds): (usize, usize), (seeds, all): (usize, usize)) -> Option<String> {
    let rounds = (rounds < most_rounds).then(|| format!("{rounds} of {most_rounds} rounds"));
    let seeds = (seeds < all).then(|| format!("{seeds} of {all} seeds"));
    let missing: Vec<String> = rounds.into_iter().chain(seeds).collect();
    (!missing.is_empty()).then(|| format!("unfinished ({})", missing.join(", ")))
}

/// p of the paired test over seeds of one of the three rewards per agent, or of the last evaluation, against the runs
/// of the baseline.
fn against(runs: &[&Run], bases: &[&Run], which: usize) -> Option<f64> {
    let value = |run: &Run, rounds: usize| match Series::ALL.get(which) {
        Some(series) => metrics::per_agent_round(run, *series, rounds),
        None => metrics::final_eval(run),
    };
    let difference = |run: &&Run| {
        let base = of_seed(bases, run.seed)?;
        let rounds = run.rounds.min(base.rounds);
        Some(value(run, rounds)? - value(base, rounds)?)
    };
    paired_p(&runs.iter().filter_map(difference).collect::<Vec<_>>())
}

/// Each p corrected for being one of those with the same baseline.
fn corrected(arms: &[ArmRuns], ps: &[Option<f64>]) -> Vec<Option<f64>> {
    let p = |at: usize| {
        let family = arms.iter().zip(ps);
        let family: Vec<Option<f64>> = family
            .map(|(arm, p)| p.filter(|_| arm.arm.baseline == arms[at].arm.baseline))
            .collect();
        holm(&family)[at]
    };
    (0..arms.len()).map(p).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::rounds_file::parse_for_tests, *};

    /// An arm with a run of one agent per triple: its seed, its own reward in every round, its rounds.
    fn arm(name: &str, baseline: &str, runs: &[(u64, f64, usize)]) -> ArmRuns {
        let run = |&(seed, own, rounds): &(u64, f64, usize)| {
            let mut text =
                "round,agent,own_reward,train_reward,eval_reward,completions\n".to_owned();
            text.extend((1..=rounds).map(|round| format!("{round},0,{own},,,8\n")));
            let mut run = parse_for_tests(&text);
            run.seed = seed;
            run
        };
        let arm = Arm {
            name: name.to_owned(),
            baseline: Some(baseline.to_owned()).filter(|name| !name.is_empty()),
            ..Arm::default()
        };
        ArmRuns {
            arm,
            runs: runs.iter().map(run).collect(),
        }
    }

    #[test]
    fn gains_pair_runs_of_the_same_seed() {
        let base = arm("alone", "", &[(1, 0.25, 4), (2, 0.5, 4)]);
        let other = arm("4-4", "alone", &[(1, 0.5, 4), (2, 0.5, 2), (3, 0.75, 4)]);
        let summary = Summary::new(&[base, other]);
        let gain = summary.rows[1].gain[0].unwrap();
        assert_eq!(
            gain.mean, 50.0,
            "100 % for seed 1, 0 % for seed 2, nothing to pair seed 3 with"
        );
        assert_eq!(summary.rows[0].gain, [None; 3]);
        assert_eq!(summary.baselines(), ["alone"]);
    }

    #[test]
    fn what_is_missing_is_said() {
        let whole = arm("8-0", "", &[(1, 0.5, 4), (2, 0.5, 4)]);
        let part = arm("4-4", "8-0", &[(1, 0.5, 3), (2, 0.5, 1)]);
        let summary = Summary::new(&[whole, part]);
        assert_eq!(summary.rows[0].unfinished, None);
        assert_eq!(
            summary.rows[1].unfinished.as_deref(),
            Some("unfinished (3 of 4 rounds, 1 of 2 seeds)")
        );
        assert_eq!(summary.rows[1].cumulative[0], estimate(&[1.5]));
    }

    #[test]
    fn arms_have_rounds_of_their_own() {
        let of_rounds = |name, rounds, done| {
            let mut arm = arm(name, "", &[(1, 0.5, done)]);
            arm.arm.rounds = Some(rounds);
            arm
        };
        let arms = [
            of_rounds("1-7", 8, 8),
            of_rounds("8-0", 1, 1),
            of_rounds("4-4", 2, 1),
        ];
        let rows = Summary::new(&arms).rows;
        let unfinished = [0, 1, 2].map(|at: usize| rows[at].unfinished.as_deref());
        assert_eq!(unfinished, [None, None, Some("unfinished (1 of 2 rounds)")]);
    }

    #[test]
    fn values_of_a_sweep_are_not_measured_by_each_other() {
        let swept = |value: &str, rounds| {
            let mut arm = arm(value, "", &[(1, 0.5, rounds)]);
            let (key, value) = ("rounds".to_owned(), value.to_owned());
            arm.arm.swept = Some(super::super::arms::Swept { key, value });
            arm
        };
        let rows = Summary::new(&[swept("4", 4), swept("9", 9)]).rows;
        assert!(rows.iter().all(|row| row.unfinished.is_none()), "{rows:?}");
    }

    /// Own rewards of three seeds.
    fn three(name: &str, baseline: &str, own: [f64; 3]) -> ArmRuns {
        let [a, b, c] = own;
        arm(name, baseline, &[(1, a, 2), (2, b, 2), (3, c, 2)])
    }

    #[test]
    fn arms_are_tested_against_their_baseline_seed_by_seed() {
        let arms = [
            three("8-0", "", [0.2, 0.3, 0.4]),
            three("6-2", "8-0", [0.21, 0.29, 0.41]),
            three("4-4", "8-0", [0.50, 0.61, 0.70]),
        ];
        let p = |arms: &[ArmRuns]| -> Vec<Option<f64>> {
            Summary::new(arms).rows.iter().map(|row| row.p[0]).collect()
        };
        let of_two = p(&arms);
        assert_eq!(of_two[0], None);
        assert!(
            of_two[1].unwrap() > 0.5 && of_two[2].unwrap() < 0.01,
            "{of_two:?}"
        );
        // Holm doubles the least of two, and arms with another baseline are no part of the family
        let alone = p(&[arms[0].clone(), arms[2].clone()])[1].unwrap();
        assert!((of_two[2].unwrap() - 2.0 * alone).abs() < 1e-12);
        let mut apart = arms.to_vec();
        apart.push(three("other", "", [0.1, 0.2, 0.2]));
        apart.push(three("others", "other", [0.1, 0.3, 0.3]));
        assert_eq!(p(&apart)[..3], of_two);
    }

    #[test]
    fn without_a_baseline_there_are_no_gains() {
        for baseline in ["", "8-0"] {
            let summary = Summary::new(&[arm("4-4", baseline, &[(1, 0.5, 2)])]);
            assert!(summary.baselines().is_empty());
            assert_eq!(
                (&summary.rows[0].baseline, summary.rows[0].gain),
                (&None, [None; 3])
            );
        }
    }
}
