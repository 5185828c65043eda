//! `open-swarm.md` and `open-swarm.png`: cumulative reward by a judge against normalized rounds, in the form of the
//! paper's Figure 3, where a judge has asked.
//!
//! A normalized round counts how often an agent itself has taken part. Not all agents come as far: whose mean a curve
//! is decides what it shows.

use super::{
    arms::ArmRuns,
    curves::Curve,
    figure::Figure,
    format::NONE,
    means::JUDGED,
    panel::{Line, Panel, Scale},
    stats::{benjamini_hochberg, bonferroni, holm, mean, welch_p},
    theme,
};

/// Below this a difference is called significant.
const LEVEL: f64 = 0.05;

/// The paper's Figure 3, digitized at 500 normalized rounds: cumulative reward in the swarm and isolated, how many are
/// left there, and until about which round its stripes say that the difference is not significant.
const PAPER: &str = "The paper's Figure 3 at 500 normalized rounds: 59 in the swarm, 5.4 isolated; 29,400 runs of the swarm at its \
                     start and 1,140 at its end, 17 and 16 isolated ones; stripes of an adjusted p above 0.05 until about round 175.";

/// Whose cumulative reward a mean is of.
#[derive(Clone, Copy)]
enum Whose {
    /// Of those who have come so far.
    Survivors,
    /// Of all: who has not come so far keeps what it has.
    All,
    /// Of those who come to the end.
    Cohort,
}

/// An arm and the cumulative rewards of its agents, by their own normalized rounds.
struct World<'a> {
    arm: &'a ArmRuns,
    agents: Vec<Vec<f64>>,
}

impl World<'_> {
    fn new(arm: &ArmRuns) -> Option<World<'_>> {
        let of_run = |run: &'_ super::runs::Run| run.column(JUDGED).cloned().unwrap_or_default();
        let agents = arm.grown().into_iter().flat_map(of_run);
        let sums = |rewards: Vec<Option<f64>>| {
            let mut sum = 0.0;
            let rewards = rewards.into_iter().flatten();
            rewards
                .map(|reward| {
                    sum += reward;
                    sum
                })
                .collect::<Vec<f64>>()
        };
        let agents: Vec<Vec<f64>> = agents.map(sums).collect();
        let asked = agents.iter().any(|agent| !agent.is_empty());
        asked.then_some(World { arm, agents })
    }

    /// The cumulative rewards at a normalized round.
    fn at(&self, round: usize, end: usize, whose: Whose) -> Vec<f64> {
        let agents = self.agents.iter();
        match whose {
            Whose::Survivors => agents.filter_map(|a| a.get(round - 1).copied()).collect(),
            Whose::All => agents
                .map(|a| a.get(round - 1).or(a.last()).copied().unwrap_or(0.0))
                .collect(),
            Whose::Cohort => {
                let stay = agents.filter(|agent| agent.len() >= end);
                stay.map(|agent| agent[round - 1]).collect()
            }
        }
    }

    fn curve(&self, end: usize, whose: Whose) -> Curve {
        let point = |round| Some((round as f64, mean(self.at(round, end, whose))?));
        Curve {
            points: (1..=end).filter_map(point).collect(),
            band: Vec::new(),
        }
    }
}

/// The worlds, and the last normalized round to which an agent of each comes.
fn worlds(arms: &[ArmRuns]) -> Option<(Vec<World<'_>>, usize)> {
    let worlds: Vec<World<'_>> = arms.iter().filter_map(World::new).collect();
    let farthest = |world: &World<'_>| world.agents.iter().map(Vec::len).max();
    let end = worlds.iter().filter_map(farthest).min()?;
    Some((worlds, end))
}

/// p of each normalized round, of the agents that have come so far against those of the baseline.
fn ps(world: &World<'_>, base: &World<'_>, end: usize) -> Vec<Option<f64>> {
    let of = |world: &World<'_>, round| world.at(round, end, Whose::Survivors);
    (1..=end)
        .map(|round| welch_p(&of(world, round), &of(base, round)))
        .collect()
}

/// The round from which on every corrected p is below the level; none where the last is not.
fn from_round(ps: &[Option<f64>]) -> Option<usize> {
    let above = ps.iter().rposition(|p| p.is_none_or(|p| p >= LEVEL));
    let first = above.map_or(1, |at| at + 2);
    (first <= ps.len()).then_some(first)
}

fn base<'a, 'b>(world: &World<'_>, worlds: &'b [World<'a>]) -> Option<&'b World<'a>> {
    let name = world.arm.arm.baseline.as_ref()?;
    worlds.iter().find(|other| other.arm.arm.name == *name)
}

/// The whole of `open-swarm.md`; none where no judge has asked.
pub(super) fn markdown(arms: &[ArmRuns]) -> Option<String> {
    let (worlds, end) = worlds(arms)?;
    let mut text = format!(
        "# The open swarm\n\nCumulative reward by the judge, one question a round, the same for all, up to {end} normalized rounds, \
         which count how often an agent itself has taken part. *Survivors*: the mean over those who have come so far; *all*: who \
         has not come so far keeps what it has; *cohort*: those alone who come to the end. {PAPER}\n\n\
         | arm | agents | at the end | survivors | all | cohort |\n|---|--:|--:|--:|--:|--:|\n"
    );
    let number = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.2}"));
    for world in &worlds {
        let at_end = |whose| mean(world.at(end, end, whose));
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            world.arm.arm.title(),
            world.agents.len(),
            world.at(end, end, Whose::Survivors).len(),
            number(at_end(Whose::Survivors)),
            number(at_end(Whose::All)),
            number(at_end(Whose::Cohort))
        );
    }
    text += "\n**From which round on the survivors' difference has p < 0.05** (Welch's t in each round; corrected over all rounds)\n\n\
             | arm | over | uncorrected | Benjamini and Hochberg | Holm | Bonferroni |\n|---|---|--:|--:|--:|--:|\n";
    for world in &worlds {
        let Some(base) = base(world, &worlds) else {
            continue;
        };
        let ps = ps(world, base, end);
        let rounds = [
            ps.clone(),
            benjamini_hochberg(&ps),
            holm(&ps),
            bonferroni(&ps),
        ];
        let cells =
            rounds.map(|ps| from_round(&ps).map_or("never".to_owned(), |round| round.to_string()));
        text += &format!(
            "| {} | {} | {} |\n",
            world.arm.arm.title(),
            base.arm.arm.title(),
            cells.join(" | ")
        );
    }
    Some(text)
}

/// The picture; none where no judge has asked.
pub(super) fn figure(arms: &[ArmRuns]) -> Option<Figure> {
    let (worlds, end) = worlds(arms)?;
    let pens = theme::sweep_pens(worlds.len());
    let panel = |title: &str, curve: &dyn Fn(&World<'_>) -> Curve| {
        let lines = worlds.iter().zip(&pens).map(|(world, pen)| Line {
            curve: curve(world),
            pen: *pen,
            label: String::new(),
        });
        let lines: Vec<Line> = lines.collect();
        Panel {
            title: title.to_owned(),
            x_label: "normalized round",
            x_end: end as f64,
            x_ticks: None,
            y: Scale::holding(&lines),
            lines,
        }
    };
    let left = |world: &World<'_>| Curve {
        points: (1..=end)
            .map(|round| {
                (
                    round as f64,
                    world.at(round, end, Whose::Survivors).len() as f64,
                )
            })
            .collect(),
        band: Vec::new(),
    };
    let corrected = |world: &World<'_>| {
        let ps = base(world, &worlds).map_or(Vec::new(), |base| holm(&ps(world, base, end)));
        let points = (1..)
            .zip(ps)
            .filter_map(|(round, p)| Some((f64::from(round), p?)));
        Curve {
            points: points.collect(),
            band: Vec::new(),
        }
    };
    let titles = worlds.iter().map(|world| world.arm.arm.title());
    Some(Figure {
        title: "The open swarm, in the form of the paper's Figure 3".to_owned(),
        subtitle: "Cumulative reward by the judge, the mean over agents; p against each arm's baseline, Welch, after Holm".to_owned(),
        legend_head: "arm:",
        legend: pens.iter().copied().zip(titles).collect(),
        y_label: "",
        panels: vec![
            panel("survivors", &|world| world.curve(end, Whose::Survivors)),
            panel("all", &|world| world.curve(end, Whose::All)),
            panel("fixed cohort", &|world| world.curve(end, Whose::Cohort)),
            panel("agents that have come so far", &left),
            panel("p of the survivors' difference", &corrected),
        ],
        columns: 3,
        height: 560.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_significant_must_stay_so() {
        let some = |ps: &[f64]| ps.iter().map(|p| Some(*p)).collect::<Vec<_>>();
        assert_eq!(from_round(&some(&[0.2, 0.01, 0.3, 0.04, 0.001])), Some(4));
        assert_eq!(from_round(&some(&[0.01, 0.02])), Some(1));
        assert_eq!(from_round(&some(&[0.01, 0.2])), None);
        assert_eq!(from_round(&[None, Some(0.01)]), Some(2));
    }
}
