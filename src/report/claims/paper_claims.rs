//! What the paper claims of its four mixes.

use super::claim::{Claim, Finding};
use crate::report::{
    arms::{ArmRuns, Mix},
    format::{number, percent},
    metrics, paper,
    runs::{Run, Series},
    stats::{Estimate, estimate, line},
};

/// Of two claims that fewer completions alone would make come true.
const FEWER: &str = "\nA round's own reward is the mean over I groups of completions: the more is drawn, the fewer, so it swings \
                     further and peaks higher by chance alone. The training set has up to eight groups in every mix, fewer \
                     where the pool holds too few with a signal.\n";

/// The runs of the paper's four mixes.
struct Four<'a>([Vec<&'a Run>; 4]);

/// All of them; none unless the four mixes are all there.
pub(super) fn claims(arms: &[ArmRuns]) -> Option<Vec<Claim>> {
    let of = |mix: Mix| {
        let mut arms = arms.iter();
        arms.find(|arm| arm.arm.named_mix() == Some(mix))
            .map(ArmRuns::grown)
    };
    let [a, b, c, d] = paper::MIXES.map(of);
    let four = Four([a?, b?, c?, d?]);
    Some(vec![
        four.best(),
        four.gain(),
        four.too_much(),
        four.swings(),
        four.peaks(),
        four.format(),
    ])
}

impl Four<'_> {
    /// How much one mix gathers beyond another, seed by seed.
    fn difference(&self, mix: usize, other: usize, series: Series) -> Option<Estimate> {
        self.paired(mix, other, &|run, other| {
            let rounds = run.rounds.min(other.rounds);
            Some(
                metrics::cumulative(run, series, rounds)?
                    - metrics::cumulative(other, series, rounds)?,
            )
        })
    }

    fn paired(
        &self,
        mix: usize,
        other: usize,
        of: &dyn Fn(&Run, &Run) -> Option<f64>,
    ) -> Option<Estimate> {
        let pair = |run: &&Run| of(run, self.run(other, run.seed)?);
        estimate(&self.0[mix].iter().filter_map(pair).collect::<Vec<_>>())
    }

    fn run(&self, mix: usize, seed: u64) -> Option<&Run> {
        self.0[mix].iter().copied().find(|run| run.seed == seed)
    }

    fn over(&self, mix: usize, of: &dyn Fn(&Run) -> Option<f64>) -> Option<Estimate> {
        estimate(
            &self.0[mix]
                .iter()
                .filter_map(|run| of(run))
                .collect::<Vec<_>>(),
        )
    }

    fn best(&self) -> Claim {
        let finding = |series| {
            let others = [0, 1, 3].map(|other| (other, self.difference(2, other, series)));
            let text = others.iter().map(|(other, difference)| {
                format!("over {}: {}", paper::MIXES[*other], number(*difference, 1))
            });
            let beyond = others
                .each_ref()
                .map(|(_, difference)| difference.and_then(|d| d.beyond(0.0)));
            let holds = match beyond {
                [Some(true), Some(true), Some(true)] => Some(true),
                _ => beyond.contains(&Some(false)).then_some(false),
            };
            Finding {
                series: series.title().to_owned(),
                measured: text.collect::<Vec<_>>().join("; "),
                holds,
            }
        };
        let says = "4 / 4 gathers the most reward".to_owned();
        Claim {
            says,
            quantity: "cumulative reward of 4 / 4",
            findings: Series::ALL.map(finding).into(),
            note: "",
            code: (file!(), line!()),
        }
    }

    fn gain(&self) -> Claim {
        let printed = paper::numbers(paper::MIXES[2])
            .and_then(|paper| paper.gain)
            .unwrap_or_default();
        let finding = |series| {
            let gain = self.paired(2, 0, &|run, base| metrics::gain(run, base, series));
            // an interval without the paper's number speaks against it, one around it for it where it is narrow
            let holds = gain.and_then(|gain| gain.interval).and_then(|[low, high]| {
                let around = (low..=high).contains(&printed);
                (!around || high - low < printed).then_some(around)
            });
            let side = match gain.and_then(|gain| gain.beyond(printed)) {
                Some(true) => ", more",
                Some(false) => ", less",
                None => ", compatible",
            };
            Finding {
                series: series.title().to_owned(),
                measured: percent(gain) + side,
                holds,
            }
        };
        let says = format!("4 / 4 gathers {printed:.1} % more than 8 / 0 (printed as 94 %)");
        Claim {
            says,
            quantity: "gain of 4 / 4 over 8 / 0",
            findings: Series::ALL.map(finding).into(),
            note: "",
            code: (file!(), line!()),
        }
    }

    fn too_much(&self) -> Claim {
        let finding = |series| {
            let difference = self.difference(2, 3, series);
            Finding {
                series: series.title().to_owned(),
                measured: number(difference, 1),
                holds: difference.and_then(|d| d.beyond(0.0)),
            }
        };
        let says = "2 / 6 gathers less than 4 / 4: too much sharing hurts".to_owned();
        Claim {
            says,
            quantity: "cumulative reward of 4 / 4 less that of 2 / 6",
            findings: Series::ALL.map(finding).into(),
            note: "",
            code: (file!(), line!()),
        }
    }

    /// A number of each run, mix after mix, and how it grows with every external rollout.
    fn growth(
        &self,
        series: Series,
        decimals: usize,
        of: fn(&Run, Series) -> Option<f64>,
    ) -> Finding {
        let means = (0..4).map(|mix| number(self.over(mix, &|run| of(run, series)), decimals));
        let slope = |seed: u64| {
            let point = |mix: usize| {
                let external = paper::MIXES[mix].external as f64;
                Some((external, of(self.run(mix, seed)?, series)?))
            };
            let points: Option<Vec<(f64, f64)>> = (0..4).map(point).collect();
            Some(line(&points?)?.1)
        };
        let slopes = estimate(
            &self.0[0]
                .iter()
                .filter_map(|run| slope(run.seed))
                .collect::<Vec<_>>(),
        );
        let means = means.collect::<Vec<_>>().join(" → ");
        let measured = format!("{means}; a rollout more: {}", number(slopes, decimals + 1));
        Finding {
            series: series.title().to_owned(),
            measured,
            holds: slopes.and_then(|slope| slope.beyond(0.0)),
        }
    }

    fn swings(&self) -> Claim {
        let findings =
            [Series::Own, Series::Train].map(|series| self.growth(series, 4, metrics::oscillation));
        let says = "Oscillation grows with J".to_owned();
        Claim {
            says,
            quantity: "oscillation of 8 / 0 → 6 / 2 → 4 / 4 → 2 / 6",
            findings: findings.into(),
            note: FEWER,
            code: (file!(), line!()),
        }
    }

    fn peaks(&self) -> Claim {
        let findings =
            [Series::Own, Series::Train].map(|series| self.growth(series, 3, metrics::peak));
        let says = "Peaks rise with J".to_owned();
        Claim {
            says,
            quantity: "peak of 8 / 0 → 6 / 2 → 4 / 4 → 2 / 6",
            findings: findings.into(),
            note: FEWER,
            code: (file!(), line!()),
        }
    }

    /// No reward is for tags around an answer, so what is learned of them is learned from answers that score.
    fn format(&self) -> Claim {
        let rise = |run: &Run| Some(metrics::final_reward(run)? - metrics::start_reward(run)?);
        let rises = [1, 2, 3, 0].map(|mix| (mix, self.over(mix, &rise)));
        let text = rises
            .iter()
            .map(|(mix, rise)| format!("{}: {}", paper::MIXES[*mix], number(*rise, 3)));
        let sharing = rises[..3]
            .iter()
            .map(|(_, rise)| rise.and_then(|rise| rise.beyond(0.0)));
        let sharing: Vec<Option<bool>> = sharing.collect();
        let finding = Finding {
            series: Series::Own.title().to_owned(),
            measured: text.collect::<Vec<_>>().join("; "),
            holds: if sharing.contains(&Some(false)) {
                Some(false)
            } else {
                sharing
                    .into_iter()
                    .collect::<Option<Vec<_>>>()
                    .map(|_| true)
            },
        };
        let says = "A reward for the form of answers is needless under sharing".to_owned();
        Claim {
            says,
            quantity: "own reward, last less first rounds; nothing is paid for the tags as such",
            findings: vec![finding],
            note: "",
            code: (file!(), line!()),
        }
    }
}
