//! `members.md`: each kind of member in each arm, and what it gains or loses against a swarm of its own kind alone,
//! where an arm has members of several kinds.

use super::{
    arms::{ArmRuns, distinct},
    format::{NONE, number, percent, probability},
    means::PAYLOAD,
    metrics,
    runs::{Run, Series},
    stats::{Estimate, estimate, holm, paired_p},
};

/// The outcomes in which kinds are compared: own reward, held-out reward over all rounds.
const OUTCOMES: [Series; 2] = [Series::Own, Series::Eval];

/// A kind of member in an arm.
struct Kind<'a> {
    arm: &'a ArmRuns,
    name: String,
    /// How many of an arm's agents are of that kind.
    agents: usize,
    alone: bool,
    /// What each seed's run has of them.
    runs: Vec<Run>,
}

impl<'a> Kind<'a> {
    fn all_of(arm: &'a ArmRuns) -> Vec<Self> {
        let runs = arm.grown();
        let Some(first) = runs.first() else {
            return Vec::new();
        };
        let names = distinct(first.members.iter().cloned());
        let alone = names.len() < 2;
        let kind = |name: String| {
            let runs: Vec<Run> = runs.iter().filter_map(|run| run.of_member(&name)).collect();
            Kind {
                arm,
                agents: runs.first().map_or(0, |run| run.agents),
                name: if alone { model(arm) } else { name },
                alone,
                runs,
            }
        };
        names.into_iter().map(kind).collect()
    }

    /// The share of completions with the payload of an attack in the last tenth of the rounds.
    fn payload(&self) -> Option<Estimate> {
        let of = |run: &Run| metrics::last_of(run, PAYLOAD);
        estimate(&self.runs.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// What the runs of the same seed have gained over those of another arm, in the mean over rounds.
    fn pairs(&self, other: &Kind<'_>, series: Series) -> Vec<(f64, f64)> {
        let pair = |run: &Run| {
            let same = other.runs.iter().find(|other| other.seed == run.seed)?;
            Some((over_rounds(run, series)?, over_rounds(same, series)?))
        };
        self.runs.iter().filter_map(pair).collect()
    }
}

/// What a swarm of one kind consists of.
fn model(arm: &ArmRuns) -> String {
    let path = arm.arm.model.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// The mean over all rounds.
fn over_rounds(run: &Run, series: Series) -> Option<f64> {
    let cost = vec![1.0; run.rounds];
    metrics::over(run, series, &cost, run.rounds as f64)
}

/// The whole of `members.md`; none where no arm has members of several kinds.
pub(super) fn markdown(arms: &[ArmRuns]) -> Option<String> {
    let kinds: Vec<Kind<'_>> = arms.iter().flat_map(Kind::all_of).collect();
    if kinds.iter().all(|kind| kind.alone) {
        return None;
    }
    let alone = |kind: &Kind<'_>| {
        let of = |other: &&Kind<'_>| other.alone && other.name == kind.name;
        kinds.iter().find(of).filter(|_| !kind.alone)
    };
    let gains: Vec<Option<Gain>> = kinds
        .iter()
        .flat_map(|kind| OUTCOMES.map(|series| Some(Gain::new(&kind.pairs(alone(kind)?, series)))))
        .collect();
    let ps: Vec<Option<f64>> = gains.iter().map(|gain| gain.as_ref()?.p).collect();
    let cells: Vec<String> = gains
        .iter()
        .zip(holm(&ps))
        .map(|(gain, p)| cell(gain.as_ref(), p))
        .collect();
    let attacked = kinds.iter().any(|kind| kind.payload().is_some());
    let mut text = "# Members\n\nEach kind of member in each arm, the mean over its agents. *Own*: mean reward of its completions over all \
         rounds, each kind by its own reward. *Held-out*: the mean over rounds of its held-out reward, on the straight lines between \
         evaluations; *last*: in the last round. In brackets the 95 % interval of Student's t over seeds. *Over its kind alone*: seed by \
         seed against the swarm that consists of this kind alone, where there is one; *p*: paired t, after Holm over the table.\n\n\
         | arm | member | agents | seeds | own | held-out | last | own over its kind alone | held-out over its kind alone |"
        .to_owned();
    text += if attacked {
        " payload in the last tenth |"
    } else {
        ""
    };
    text += &format!("\n|---|---|{}\n", "--:|".repeat(7 + usize::from(attacked)));
    for (kind, gains) in kinds.iter().zip(cells.chunks(OUTCOMES.len())) {
        let of = |of: &dyn Fn(&Run) -> Option<f64>| {
            number(
                estimate(&kind.runs.iter().filter_map(of).collect::<Vec<_>>()),
                4,
            )
        };
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            kind.arm.arm.title(),
            kind.name,
            kind.agents,
            kind.runs.len(),
            of(&|run| over_rounds(run, Series::Own)),
            of(&|run| over_rounds(run, Series::Eval)),
            of(&metrics::final_eval),
            gains.join(" | ")
        );
        if attacked {
            text.truncate(text.len() - 1);
            text += &format!(" {} |\n", number(kind.payload(), 4));
        }
    }
    Some(text)
}

/// By how many percent one exceeds the other, a seed each, and how likely that is by chance.
struct Gain {
    percents: Vec<f64>,
    p: Option<f64>,
}

impl Gain {
    fn new(pairs: &[(f64, f64)]) -> Self {
        let differences: Vec<f64> = pairs.iter().map(|(own, other)| own - other).collect();
        let percents = pairs
            .iter()
            .filter_map(|(own, other)| metrics::percent_over(*own, *other));
        Self {
            percents: percents.collect(),
            p: paired_p(&differences),
        }
    }
}

fn cell(gain: Option<&Gain>, corrected: Option<f64>) -> String {
    let Some(gain) = gain else {
        return NONE.to_owned();
    };
    let p = corrected.map_or(String::new(), |p| format!(", p {}", probability(p)));
    format!("{}{p}", percent(estimate(&gain.percents)))
}

#[cfg(test)]
mod tests {
    use super::{super::arms::Arm, super::rounds_file::parse_for_tests, *};

    #[test]
    fn a_kind_is_compared_with_its_kind_alone() {
        let header = "round,agent,member,own_reward,train_reward,eval_reward,completions";
        let mixed = format!(
            "{header}\n1,0,tiny,0.2,0,0.1,8\n1,1,strong,0.9,0,0.8,8\n1,2,tiny,0.4,0,0.3,8\n"
        );
        let alone =
            "round,agent,own_reward,train_reward,eval_reward,completions\n1,0,0.15,0,0.1,8\n";
        let arm = |name: &str, text: &str| ArmRuns {
            arm: Arm {
                name: name.to_owned(),
                model: "models/tiny".to_owned(),
                ..Arm::default()
            },
            runs: vec![parse_for_tests(text)],
        };
        assert_eq!(markdown(&[arm("alone", alone)]), None);
        let text = markdown(&[arm("alone", alone), arm("mixed", &mixed)]).unwrap();
        let row = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
        assert_eq!(
            row("| alone |"),
            "| alone | tiny | 1 | 1 | 0.1500 | 0.1000 | 0.1000 | – | – |"
        );
        assert_eq!(
            row("| mixed | tiny |"),
            "| mixed | tiny | 2 | 1 | 0.3000 | 0.2000 | 0.2000 | +100.0 % | +100.0 % |"
        );
        assert_eq!(
            row("| mixed | strong |"),
            "| mixed | strong | 1 | 1 | 0.9000 | 0.8000 | 0.8000 | – | – |"
        );
    }
}
