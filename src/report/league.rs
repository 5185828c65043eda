//! `league.md`: rules of sharing at an equal number of completions, ranked, and compared with the best of the paper's
//! mixes and with the best of the agents that learn from their own past.

use super::{
    arms::{ArmRuns, League},
    format::{NONE, number, percent, probability, without_interval},
    metrics,
    runs::{Run, Series},
    stats::{estimate, holm, mean_rows, paired_p},
};

/// What a rule must beat, and what it is called.
const REFERENCES: [(League, &str); 2] = [
    (League::Mix, "best mix"),
    (League::SelfReplay, "self-replay"),
];

/// What a run has come to when the completions of the league are spent.
struct Standing<'a> {
    run: &'a Run,
    /// Reward of the completions that were generated until then.
    own: f64,
    /// Held-out reward, the mean over the completions that were generated until then.
    held_out: f64,
    /// Held-out reward then.
    last: f64,
    /// Optimizer steps of an agent until then.
    steps: Option<f64>,
    /// Rounds until then.
    rounds: usize,
}

/// An arm and where its runs stand, by seed.
struct Entry<'a> {
    arm: &'a ArmRuns,
    league: League,
    standings: Vec<Standing<'a>>,
}

impl Entry<'_> {
    fn mean(&self, of: fn(&Standing<'_>) -> f64) -> f64 {
        let values: Vec<f64> = self.standings.iter().map(of).collect();
        estimate(&values).map_or(f64::NEG_INFINITY, |estimate| estimate.mean)
    }

    /// A number of each run of a seed that both have, with that of the other arm.
    fn pairs(&self, other: &Entry<'_>, of: fn(&Standing<'_>) -> f64) -> Vec<(f64, f64)> {
        let seed = |standing: &Standing<'_>| {
            let same = |s: &&Standing<'_>| s.run.seed == standing.run.seed;
            Some((of(standing), of(other.standings.iter().find(same)?)))
        };
        self.standings.iter().filter_map(seed).collect()
    }
}

/// The two outcomes that a rule is judged by.
const OUTCOMES: [fn(&Standing<'_>) -> f64; 2] = [|s| s.own, |s| s.held_out];

/// The whole of `league.md`; none where no arm is in a league.
pub(super) fn markdown(arms: &[ArmRuns]) -> Option<String> {
    let in_league = |arm: &&ArmRuns| arm.arm.league.is_some() && !arm.grown().is_empty();
    let arms: Vec<&ArmRuns> = arms.iter().filter(in_league).collect();
    let total = |run: &Run| run.completions_of.iter().sum::<f64>();
    let runs = arms.iter().flat_map(|arm| arm.grown());
    let spent = runs.map(total).fold(f64::INFINITY, f64::min);
    let mut entries: Vec<Entry<'_>> = arms.iter().filter_map(|arm| entry(arm, spent)).collect();
    if entries.is_empty() {
        return None;
    }
    entries.sort_by(|a, b| b.mean(OUTCOMES[0]).total_cmp(&a.mean(OUTCOMES[0])));
    let best = |kind| entries.iter().find(|entry| entry.league == kind);
    let references = REFERENCES.map(|(kind, name)| (best(kind), name));
    let against: Vec<String> = references
        .iter()
        .filter_map(|(entry, name)| Some(format!("{name}: {}", (*entry)?.arm.arm.title())))
        .collect();
    let head = format!(
        "# League of sharing rules\n\nEvery arm when all agents together have generated **{spent:.0} completions**, ranked \
         by own reward. *Own*: mean reward of those completions. *Held-out*: mean over those completions of the held-out \
         reward, on the straight lines between evaluations; *last*: when they are spent. In brackets the 95 % interval of \
         Student's t over seeds. A rule is compared, seed by seed, with the arm of each kind that gathers most ({}); *p*: \
         paired t, after Holm over all comparisons of both rewards.\n",
        against.join(", ")
    );
    let rules = || entries.iter().filter(|entry| entry.league == League::Rule);
    let compared = |rule| {
        references
            .iter()
            .flat_map(move |(to, _)| comparisons(rule, *to))
    };
    let all: Vec<Comparison> = rules().flat_map(compared).collect();
    let ps = holm(&all.iter().map(|c| c.p).collect::<Vec<_>>());
    let cells: Vec<String> = all.iter().zip(&ps).map(|(c, p)| c.cell(*p)).collect();
    let mut text = format!("{head}{}", standings(&entries));
    if !all.is_empty() {
        let columns =
            references.map(|(_, name)| format!("own over {name} | held-out over {name} | "));
        text += &format!(
            "\n| rule | {}\n|---|{}\n",
            columns.concat().trim_end(),
            "--:|".repeat(4)
        );
        for (rule, cells) in rules().zip(cells.chunks(2 * REFERENCES.len())) {
            text += &format!("| {} | {} |\n", rule.arm.arm.title(), cells.join(" | "));
        }
    }
    Some(text)
}

fn entry(arm: &ArmRuns, spent: f64) -> Option<Entry<'_>> {
    let runs = arm.grown().into_iter();
    Some(Entry {
        arm,
        league: arm.arm.league?,
        standings: runs.filter_map(|run| standing(run, spent)).collect(),
    })
}

fn standing(run: &Run, spent: f64) -> Option<Standing<'_>> {
    let costs = &run.completions_of;
    let rounds = metrics::round_of(costs, spent)?;
    let steps = run.column("steps").map(|grid| mean_rows(grid));
    Some(Standing {
        run,
        own: metrics::over(run, Series::Own, costs, spent)?,
        held_out: metrics::over(run, Series::Eval, costs, spent)?,
        last: metrics::held_out_after(run, costs, spent)?,
        steps: steps.map(|steps| steps.into_iter().take(rounds).flatten().sum()),
        rounds,
    })
}

fn standings(entries: &[Entry<'_>]) -> String {
    let mut text =
        "\n| rank | arm | seeds | step size | own | held-out | last | rounds | steps |\n\
                    |--:|---|--:|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    let mut rank = 0;
    for entry in entries {
        let ranked = entry.league != League::Bound;
        rank += usize::from(ranked);
        let of = |of: &dyn Fn(&Standing<'_>) -> Option<f64>| {
            estimate(&entry.standings.iter().filter_map(of).collect::<Vec<_>>())
        };
        let place = if ranked {
            rank.to_string()
        } else {
            NONE.to_owned()
        };
        let arm = &entry.arm.arm;
        text += &format!(
            "| {place} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            arm.title(),
            entry.standings.len(),
            arm.learning_rate,
            number(of(&|s| Some(s.own)), 4),
            number(of(&|s| Some(s.held_out)), 4),
            number(of(&|s| Some(s.last)), 4),
            without_interval(of(&|s| Some(s.rounds as f64)), 0),
            without_interval(of(&|s| s.steps), 0)
        );
    }
    text
}

/// A rule and what it is compared with, in one outcome.
struct Comparison {
    /// By how many percent the rule exceeds the other, a seed each.
    gains: Vec<f64>,
    p: Option<f64>,
}

impl Comparison {
    fn cell(&self, corrected: Option<f64>) -> String {
        let p = corrected.map_or(String::new(), |p| format!(", p {}", probability(p)));
        format!("{}{p}", percent(estimate(&self.gains)))
    }
}

fn comparisons(rule: &Entry<'_>, to: Option<&Entry<'_>>) -> [Comparison; 2] {
    OUTCOMES.map(|of| {
        let pairs = to.map_or(Vec::new(), |to| rule.pairs(to, of));
        let gains = pairs
            .iter()
            .filter_map(|(own, other)| metrics::percent_over(*own, *other));
        let differences: Vec<f64> = pairs.iter().map(|(own, other)| own - other).collect();
        Comparison {
            gains: gains.collect(),
            p: paired_p(&differences),
        }
    })
}
