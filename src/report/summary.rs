//! Runs put together: a row a mix, each number with its interval over seeds, the paper's beside it.
//!
//! Gains pair each run with the run without sharing of the same seed. How rows look is for `table`.

use super::{
    csv::{Mix, Run, Series},
    measure,
    paper::{self, Paper},
    stats::{Estimate, estimate, holm, paired_p},
};

/// What the runs of an experiment add up to: the rows of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// A row a mix, most own rollouts first.
    pub(super) rows: Vec<Row>,
    /// The mix that gains are counted from: without external rollouts.
    pub(super) base: Option<Mix>,
    /// Rounds of the longest run.
    pub(super) rounds: usize,
    /// How many different seeds there are.
    pub(super) seeds: usize,
    /// Agents of the largest run.
    pub(super) agents: usize,
}

/// One mix. Arrays of three are in the order of [`Series::ALL`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) mix: Mix,
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
    /// Percent over the run of the same seed without sharing.
    pub(super) gain: [Option<Estimate>; 3],
    /// The sum an agent and round.
    pub(super) mean: [Option<Estimate>; 3],
    /// Own reward of the first rounds.
    pub(super) start: Option<Estimate>,
    /// Own reward of the last rounds.
    pub(super) end: Option<Estimate>,
    /// Held-out reward of the last evaluation.
    pub(super) final_eval: Option<Estimate>,
    /// How much own and training-set reward swing at the end, the largest fall of each, and its peak.
    pub(super) swing: [[Option<Estimate>; 3]; 2],
    /// p of the paired test of the three sums and of the last evaluation against the mix without sharing,
    /// corrected for the number of mixes.
    pub(super) p: [Option<f64>; 4],
    /// Completions generated in one run.
    pub(super) completions: f64,
    /// The paper's numbers for this mix.
    pub(super) paper: Option<Paper>,
}

impl Summary {
    /// Puts together what [`super::csv::read`] found.
    pub(super) fn new(runs: &[Run]) -> Self {
        let mut seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let mut summary = Summary {
            rows: Vec::new(),
            base: runs.iter().map(|run| run.mix).find(|mix| mix.external == 0),
            rounds: runs.iter().map(|run| run.rounds).max().unwrap_or(0),
            seeds: seeds.len(),
            agents: runs.iter().map(|run| run.agents).max().unwrap_or(0),
        };
        let mixes = by_mix(runs);
        let base = mixes.iter().find(|runs| Some(runs[0].mix) == summary.base);
        let bases = base.map_or(Vec::new(), |runs| grown(runs));
        summary.rows = mixes.iter().map(|runs| summary.row(runs, &bases)).collect();
        for which in 0..4 {
            let ps: Vec<Option<f64>> = mixes
                .iter()
                .map(|runs| against(runs, &bases, which))
                .collect();
            for (row, p) in summary.rows.iter_mut().zip(holm(&ps)) {
                row.p[which] = p;
            }
        }
        summary
    }

    /// Whether some number stands without an interval because there is one seed only.
    pub(super) fn has_single_seed(&self) -> bool {
        self.rows.iter().any(|row| row.seeds == 1)
    }

    fn row(&self, runs: &[Run], bases: &[&Run]) -> Row {
        let mix = runs[0].mix;
        let runs = grown(runs);
        let over = |measure: &dyn Fn(&Run) -> Option<f64>| {
            estimate(&runs.iter().copied().filter_map(measure).collect::<Vec<_>>())
        };
        let gain = |run: &Run, series| {
            let base = bases
                .iter()
                .find(|base| base.seed == run.seed && base.mix != run.mix)?;
            measure::gain(run, base, series)
        };
        let rounds = runs.iter().map(|run| run.rounds).min().unwrap_or(0);
        Row {
            mix,
            seeds: runs.len(),
            agents: runs.iter().map(|run| run.agents).max().unwrap_or(0),
            rounds,
            unfinished: self.missing(rounds, runs.len()),
            cumulative: Series::ALL
                .map(|series| over(&|run| measure::cumulative(run, series, run.rounds))),
            gain: Series::ALL.map(|series| over(&|run| gain(run, series))),
            mean: Series::ALL.map(|series| over(&|run| measure::per_agent_round(run, series))),
            start: over(&measure::start_reward),
            end: over(&measure::final_reward),
            final_eval: over(&measure::final_eval),
            swing: [Series::Own, Series::Train].map(|series| {
                [
                    over(&|run| measure::oscillation(run, series)),
                    over(&|run| measure::largest_drop(run, series)),
                    over(&|run| measure::peak(run, series)),
                ]
            }),
            p: [None; 4],
            completions: over(&|run| Some(run.completions))
                .map_or(0.0, |completions| completions.mean),
            paper: paper::numbers(mix),
        }
    }

    /// What a mix lacks, measured by the longest run and by all seeds.
    fn missing(&self, rounds: usize, seeds: usize) -> Option<String> {
        let rounds = (rounds < self.rounds).then(|| format!("{rounds} of {} rounds", self.rounds));
        let seeds = (seeds < self.seeds).then(|| format!("{seeds} of {} seeds", self.seeds));
        let missing: Vec<String> = rounds.into_iter().chain(seeds).collect();
        (!missing.is_empty()).then(|| format!("unfinished ({})", missing.join(", ")))
    }
}

/// p of the paired test over seeds of one of the three sums, or of the last evaluation, against the runs without
/// sharing.
fn against(runs: &[Run], bases: &[&Run], which: usize) -> Option<f64> {
    let value = |run: &Run, rounds: usize| match Series::ALL.get(which) {
        Some(series) => measure::cumulative(run, *series, rounds),
        None => measure::final_eval(run),
    };
    let difference = |run: &Run| {
        let base = bases
            .iter()
            .find(|base| base.seed == run.seed && base.mix != run.mix)?;
        let rounds = run.rounds.min(base.rounds);
        Some(value(run, rounds)? - value(base, rounds)?)
    };
    paired_p(
        &grown(runs)
            .into_iter()
            .filter_map(difference)
            .collect::<Vec<_>>(),
    )
}

/// The runs of each mix, in the order in which mixes come.
pub(super) fn by_mix(runs: &[Run]) -> Vec<&[Run]> {
    runs.chunk_by(|a, b| a.mix == b.mix).collect()
}

/// The runs of a mix that count: one that is less than half as long as the longest has only begun, and
/// would say more about the start of a run than about the mix.
pub(super) fn grown(runs: &[Run]) -> Vec<&Run> {
    let longest = runs.iter().map(|run| run.rounds).max().unwrap_or(0);
    runs.iter()
        .filter(|run| 2 * run.rounds >= longest)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::csv::parse_for_tests, *};

    /// A run of one agent with `own` reward in each of `rounds` rounds.
    fn run(mix: (usize, usize), seed: u64, own: f64, rounds: usize) -> Run {
        let mut text = "round,agent,own_reward,train_reward,eval_reward,completions\n".to_owned();
        text.extend((1..=rounds).map(|round| format!("{round},0,{own},,,8\n")));
        let mix = Mix {
            local: mix.0,
            external: mix.1,
        };
        let mut run = parse_for_tests(&text);
        (run.mix, run.seed) = (mix, seed);
        run
    }

    #[test]
    fn gains_pair_runs_of_the_same_seed() {
        let base = [run((8, 0), 1, 0.25, 4), run((8, 0), 2, 0.5, 4)];
        let others = [
            run((4, 4), 1, 0.5, 4),
            run((4, 4), 2, 0.5, 2),
            run((4, 4), 3, 0.75, 4),
        ];
        let summary = Summary::new(&[&base[..], &others].concat());
        let gain = summary.rows[1].gain[0].unwrap();
        assert_eq!(
            gain.mean, 50.0,
            "100 % for seed 1, 0 % for seed 2, nothing to pair seed 3 with"
        );
        assert_eq!(summary.rows[0].gain, [None; 3]);
    }

    #[test]
    fn what_is_missing_is_said() {
        let runs = [
            run((8, 0), 1, 0.5, 4),
            run((8, 0), 2, 0.5, 4),
            run((4, 4), 1, 0.5, 3),
            run((4, 4), 2, 0.5, 1),
        ];
        let summary = Summary::new(&runs);
        assert_eq!(summary.rows[0].unfinished, None);
        assert_eq!(
            summary.rows[1].unfinished.as_deref(),
            Some("unfinished (3 of 4 rounds, 1 of 2 seeds)")
        );
        assert_eq!(summary.rows[1].cumulative[0], estimate(&[1.5]));
    }

    #[test]
    fn mixes_are_tested_against_the_one_without_sharing_seed_by_seed() {
        let base = [0.2, 0.3, 0.4]
            .into_iter()
            .zip(1..)
            .map(|(own, seed)| run((8, 0), seed, own, 2));
        let near = [0.21, 0.29, 0.41]
            .into_iter()
            .zip(1..)
            .map(|(own, seed)| run((6, 2), seed, own, 2));
        let far = [0.50, 0.61, 0.70]
            .into_iter()
            .zip(1..)
            .map(|(own, seed)| run((4, 4), seed, own, 2));
        let runs: Vec<Run> = base.chain(near).chain(far).collect();
        let p = Summary::new(&runs)
            .rows
            .iter()
            .map(|row| row.p[0])
            .collect::<Vec<_>>();
        assert_eq!(p[0], None);
        assert!(p[1].unwrap() > 0.5 && p[2].unwrap() < 0.01, "{p:?}");
    }

    #[test]
    fn without_a_mix_that_does_not_share_there_are_no_gains() {
        let summary = Summary::new(&[run((4, 4), 1, 0.5, 2)]);
        assert_eq!((summary.base, summary.rows[0].gain), (None, [None; 3]));
    }
}
