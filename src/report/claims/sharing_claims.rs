//! What sharing adds where something else is held equal: steps, completions, reuse; and what the draw alone gives.

use super::claim::{Claim, Finding};
use crate::report::{
    arms::{Arm, ArmRuns},
    format::{number, percent},
    metrics, paper,
    runs::{Run, Series},
    shadows::{self, Shadow},
    stats::{Estimate, estimate},
};

/// Those that can be looked at with these arms.
pub(super) fn claims(arms: &[ArmRuns]) -> Vec<Claim> {
    let pairs: Vec<Pair<'_>> = arms
        .iter()
        .filter_map(|arm| Pair::sharing(arm, arms))
        .collect();
    let mut all = Vec::new();
    if !pairs.is_empty() {
        all.push(equal_steps(
            pairs.iter().filter(|pair| pair.same_step_size()),
        ));
        all.push(equal_completions(&pairs));
    }
    all.extend(replay(arms));
    all.extend(selection_alone(arms));
    all.retain(|claim| !claim.findings.is_empty());
    all
}

/// An arm and one that it is compared with.
struct Pair<'a> {
    arm: &'a ArmRuns,
    base: &'a ArmRuns,
}

impl<'a> Pair<'a> {
    /// An arm that draws from others and its baseline, which draws nothing.
    fn sharing(arm: &'a ArmRuns, arms: &'a [ArmRuns]) -> Option<Self> {
        let external = |arm: &Arm| arm.mix.map_or(0, |mix| mix.external);
        let name = arm.arm.baseline.as_ref()?;
        let base = arms.iter().find(|other| other.arm.name == *name)?;
        let shares = external(&arm.arm) > 0 && !arm.arm.replays;
        (shares && external(&base.arm) == 0).then_some(Self { arm, base })
    }

    /// Steps of another size would be another quantity.
    fn same_step_size(&self) -> bool {
        self.arm.arm.learning_rate == self.base.arm.learning_rate
    }

    fn title(&self) -> String {
        format!("{} over {}", self.arm.arm.title(), self.base.arm.title())
    }

    /// Over the runs of the same seed.
    fn paired(&self, of: &dyn Fn(&Run, &Run) -> Option<f64>) -> Option<Estimate> {
        let bases = self.base.grown();
        let pair = |run: &&Run| {
            let base = bases.iter().find(|base| base.seed == run.seed)?;
            of(run, base)
        };
        let values: Vec<f64> = self.arm.grown().iter().filter_map(pair).collect();
        estimate(&values)
    }

    fn finding(&self, series: &str, measured: String, difference: Option<Estimate>) -> Finding {
        Finding {
            series: format!("{}, {series}", self.title()),
            measured,
            holds: difference.and_then(|difference| difference.beyond(0.0)),
        }
    }

    /// Gains in what was gathered, and the difference of the last evaluation.
    fn findings(&self) -> [Finding; 3] {
        let gain = |series: Series| {
            let gain = self.paired(&|run, base| metrics::gain(run, base, series));
            self.finding(series.title(), percent(gain), gain)
        };
        let last =
            self.paired(&|run, base| Some(metrics::final_eval(run)? - metrics::final_eval(base)?));
        [
            gain(Series::Own),
            gain(Series::Eval),
            self.finding("held-out, last", number(last, 4), last),
        ]
    }
}

fn equal_steps<'a>(pairs: impl Iterator<Item = &'a Pair<'a>>) -> Claim {
    let finding = |pair: &Pair<'_>, series: Series| {
        let gain = pair.paired(&|run, base| {
            let total = metrics::steps_before_last;
            let steps = total(run)?.min(total(base)?) * (1.0 - 1e-9);
            let mean = |run| metrics::mean_over_steps(run, series, steps);
            metrics::percent_over(mean(run)?, mean(base)?)
        });
        gain.map(|_| pair.finding(series.title(), percent(gain), gain))
    };
    let of_pair = |pair| [Series::Own, Series::Eval].map(|series| finding(pair, series));
    Claim {
        says: "At equal steps with a signal, sharing is ahead".to_owned(),
        quantity: "gain of the reward as a function of steps, that of the round after each, averaged over as many as both took; of arms with the same step size",
        findings: pairs.flat_map(of_pair).flatten().collect(),
        note: "",
        code: (file!(), line!()),
    }
}

fn equal_completions(pairs: &[Pair<'_>]) -> Claim {
    let finding = |pair: &Pair<'_>| {
        let difference = pair.paired(&|run, base| {
            let spent = run.completions.min(base.completions);
            let then = |run: &Run| metrics::held_out_after(run, &run.completions_of, spent);
            Some(then(run)? - then(base)?)
        });
        pair.finding("held-out then", number(difference, 4), difference)
    };
    Claim {
        says: "At equal completions, sharing is ahead".to_owned(),
        quantity: "difference of held-out reward when the cheaper of the two is over",
        findings: pairs.iter().map(finding).collect(),
        note: "",
        code: (file!(), line!()),
    }
}

/// Sharing, and others' rollouts of the same age, against the agent's own past.
fn replay(arms: &[ArmRuns]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for base in arms.iter().filter(|arm| arm.arm.replays) {
        let alike = |rounds: usize| {
            arms.iter().find(move |arm| {
                let (arm, base) = (&arm.arm, &base.arm);
                !arm.replays
                    && arm.replay_rounds == rounds
                    && arm.mix == base.mix
                    && arm.tuned == base.tuned
                    && (arm.tuned || arm.learning_rate == base.learning_rate)
                    && arm.swept == base.swept
            })
        };
        let says = [
            (0, "Sharing gathers more than replaying one's own past"),
            (
                base.arm.replay_rounds,
                "Others' rollouts help more than one's own of the same age",
            ),
        ];
        for (rounds, says) in says {
            let Some(arm) = alike(rounds) else { continue };
            claims.push(Claim {
                says: says.to_owned(),
                quantity: "gain, and difference of the last evaluation",
                findings: Pair { arm, base }.findings().into(),
                note: "",
                code: (file!(), line!()),
            });
        }
    }
    claims
}

/// What the draw alone makes of the curves of the arm that shares nothing.
fn selection_alone(arms: &[ArmRuns]) -> Option<Claim> {
    let of_mix = |mix| arms.iter().find(|arm| arm.arm.named_mix() == Some(mix));
    let base = of_mix(paper::MIXES[0])?;
    let mut findings = Vec::new();
    for shadow in shadows::all(arms).into_iter().filter(Shadow::is_the_papers) {
        let printed = paper::numbers(shadow.mix).and_then(|paper| paper.gain);
        let Some(printed) = printed else { continue };
        for slots in [false, true] {
            let gain = shadow.gain(base, slots);
            // an interval around the paper's number speaks for it where it is narrow
            let narrow = |[low, high]: [f64; 2]| high - low < printed;
            let reaches = gain.and_then(|gain| match gain.beyond(printed) {
                None => gain.interval.filter(|ends| narrow(*ends)).map(|_| true),
                beyond => beyond,
            });
            let how = if slots {
                "an empty place counts 0"
            } else {
                "of what was drawn"
            };
            findings.push(Finding {
                series: format!("{}, {how}", shadow.title()),
                measured: format!("{}; the paper prints {printed:+.1} %", percent(gain)),
                holds: reaches,
            });
        }
    }
    Some(Claim {
        says: "The draw alone, without any effect on learning, gives the training set the paper's gain".to_owned(),
        quantity: "what 8 / 0's own curves gain when their rollouts are drawn as another mix would",
        findings,
        note: "",
        code: (file!(), line!()),
    })
}
