//! The rules that draw external rollouts from the pool.
//!
//! A rule sees the rewards that the reader itself gave, and answers with positions in the pool.

use crate::rollout::{AgentId, ScoredRollout, std};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How external rollouts are drawn. Whatever the rule, no rollout is drawn twice, and fewer than
/// asked for are drawn when there are no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// The paper: drop rollouts whose rewards are all equal, then draw uniformly.
    NonzeroAdvantage,
    /// Draw uniformly from all.
    Uniform,
    /// GenRL: drop rollouts without any reward, then take those of the highest total; ties at random.
    TopReward,
    /// Drop rollouts whose rewards are all equal, then take those whose rewards vary most; ties at random.
    LargestVariance,
    /// Take the first in order of arrival. Agents arrive in an order that is random each round.
    First,
}

/// As the experiment's TOML has it.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Whose rollouts fill the external part of a training set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DrawFrom {
    /// Those of the other agents.
    #[default]
    Others,
    /// Those of the agent itself, of earlier rounds: replay without any sharing.
    #[serde(rename = "self")]
    Itself,
    /// Those of the other agents of this round and, where these do not fill the places, of earlier ones.
    #[serde(rename = "others-and-memory")]
    OthersAndMemory,
}

/// How many of a training set's rollouts may carry a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignalLimit {
    /// All.
    #[default]
    None,
    /// As many as the agent's own do, whichever of all are chosen at random: what is drawn takes the
    /// place of own ones, and brings no more of them.
    Own,
}

/// The positions that stay where no more rollouts than `most` may carry a signal, in ascending order:
/// those without one, and as many of the others as may, chosen uniformly.
pub(super) fn limited(signal: &[bool], most: usize, seed: Seed) -> Vec<usize> {
    let (mut with, mut kept): (Vec<usize>, Vec<usize>) =
        (0..signal.len()).partition(|&i| signal[i]);
    seed.rng().shuffle(&mut with);
    kept.extend(with.into_iter().take(most));
    kept.sort_unstable();
    kept
}

/// What a rule of the draw sees of the pool, one entry per rollout.
#[derive(Clone, Debug, Default)]
pub struct Pool<'a> {
    /// The rewards that the reader itself gave.
    pub rewards: Vec<&'a [f64]>,
    /// Who generated it.
    pub authors: Vec<AgentId>,
}

impl<'a> Pool<'a> {
    /// What is to be seen of these rollouts.
    pub fn new(rollouts: &[&'a ScoredRollout]) -> Self {
        Self {
            rewards: rollouts.iter().map(|r| r.rewards.as_slice()).collect(),
            authors: rollouts.iter().map(|r| r.rollout.id.author).collect(),
        }
    }

    /// Positions of the rollouts whose rewards differ, so that some advantage is not zero.
    pub fn with_signal(&self) -> Vec<usize> {
        let differ = |&i: &usize| self.rewards[i].iter().any(|r| *r != self.rewards[i][0]);
        (0..self.rewards.len()).filter(differ).collect()
    }
}

/// A rule of the draw.
pub trait Draw: Send + Sync {
    /// Positions in the pool of at most `count` rollouts, each once. `arrival` seeds what must be the same for all
    /// readers of the round, `seed` what is the reader's own.
    fn draw(&self, pool: &Pool<'_>, count: usize, arrival: Seed, seed: Seed) -> Vec<usize>;
}

impl Draw for Selection {
    fn draw(&self, pool: &Pool<'_>, count: usize, arrival: Seed, seed: Seed) -> Vec<usize> {
        let (rewards, all) = (&pool.rewards, 0..pool.rewards.len());
        let total = |i: usize| rewards[i].iter().sum::<f64>();
        let mut drawn = match self {
            Self::NonzeroAdvantage | Self::LargestVariance => pool.with_signal(),
            Self::TopReward => all.filter(|&i| total(i) != 0.0).collect(),
            Self::Uniform | Self::First => all.collect(),
        };
        if *self != Self::First {
            seed.rng().shuffle(&mut drawn);
        }
        // sorts are stable: ties stay shuffled
        match self {
            Self::NonzeroAdvantage | Self::Uniform => {}
            Self::TopReward => drawn.sort_by(|&a, &b| total(b).total_cmp(&total(a))),
            Self::LargestVariance => {
                drawn.sort_by(|&a, &b| std(rewards[b]).total_cmp(&std(rewards[a])));
            }
            Self::First => {
                let agent = |i: usize| arrival.child("agent", u64::from(pool.authors[i].0));
                let rank = |i: usize| agent(i).rng().below(u64::MAX);
                drawn.sort_by_key(|&i| (rank(i), pool.authors[i], i));
            }
        }
        drawn.truncate(count);
        drawn.sort_unstable();
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of eight with these totals, all rewards 0 or 1.
    fn drawn(selection: Selection, totals: &[usize], count: usize, seed: u64) -> Vec<usize> {
        let groups: Vec<Vec<f64>> = totals
            .iter()
            .map(|&t| (0..8).map(|i| f64::from(u8::from(i < t))).collect())
            .collect();
        let pool = Pool {
            rewards: groups.iter().map(Vec::as_slice).collect(),
            authors: (0..totals.len()).map(|i| AgentId(i as u16 / 2)).collect(),
        };
        selection.draw(&pool, count, Seed::new(99), Seed::new(seed))
    }

    /// The group totals of the paper's notes, point 3, where GenRL's rule goes wrong.
    const ONE_RIGHT: [usize; 7] = [8, 0, 0, 0, 0, 0, 0];
    const MANY_RIGHT: [usize; 7] = [8, 8, 8, 8, 3, 4, 5];

    #[test]
    fn nonzero_advantage_draws_only_groups_with_signal() {
        assert_eq!(
            drawn(Selection::NonzeroAdvantage, &ONE_RIGHT, 4, 1),
            [0usize; 0]
        );
        for seed in 0..20 {
            assert_eq!(
                drawn(Selection::NonzeroAdvantage, &MANY_RIGHT, 4, seed),
                [4, 5, 6]
            );
            assert_eq!(
                drawn(Selection::NonzeroAdvantage, &MANY_RIGHT, 2, seed).len(),
                2
            );
        }
    }

    #[test]
    fn top_reward_takes_the_highest_totals_and_no_zero() {
        for seed in 0..20 {
            assert_eq!(drawn(Selection::TopReward, &ONE_RIGHT, 4, seed), [0]);
            assert_eq!(
                drawn(Selection::TopReward, &MANY_RIGHT, 4, seed),
                [0, 1, 2, 3]
            );
            assert_eq!(
                drawn(Selection::TopReward, &MANY_RIGHT, 6, seed),
                [0, 1, 2, 3, 5, 6]
            );
        }
    }

    #[test]
    fn largest_variance_takes_what_is_half_solved() {
        for seed in 0..20 {
            let drawn = |totals, count| drawn(Selection::LargestVariance, totals, count, seed);
            assert_eq!(drawn(&MANY_RIGHT, 1), [5]);
            assert_eq!(drawn(&MANY_RIGHT, 7), [4, 5, 6]);
            assert_eq!(drawn(&ONE_RIGHT, 4), [0usize; 0]);
            assert_eq!(drawn(&[1, 4, 2, 3, 4], 3), [1, 3, 4]);
        }
    }

    #[test]
    fn uniform_ignores_rewards_and_reaches_all() {
        let mut seen = [0; 7];
        for seed in 0..700 {
            let drawn = drawn(Selection::Uniform, &ONE_RIGHT, 4, seed);
            assert_eq!(drawn.len(), 4);
            drawn.iter().for_each(|&i| seen[i] += 1);
        }
        assert!(
            seen.iter().all(|&count| (340..460).contains(&count)),
            "{seen:?}"
        );
    }

    #[test]
    fn first_is_the_same_for_all_readers_and_keeps_agents_together() {
        let first = drawn(Selection::First, &MANY_RIGHT, 4, 1);
        assert_eq!(first, drawn(Selection::First, &ONE_RIGHT, 4, 2));
        assert_eq!(first.len(), 4);
    }

    #[test]
    fn a_limit_keeps_what_is_silent_and_chooses_among_the_rest() {
        let signal = [true, false, true, true, false];
        let mut seen = [0; 5];
        for seed in 0..300 {
            let kept = limited(&signal, 2, Seed::new(seed));
            assert_eq!(kept.iter().filter(|&&i| signal[i]).count(), 2);
            assert!(kept.is_sorted() && kept.contains(&1) && kept.contains(&4));
            kept.iter().for_each(|&i| seen[i] += 1);
        }
        assert!(
            [0, 2, 3].iter().all(|&i| (150..250).contains(&seen[i])),
            "{seen:?}"
        );
        assert_eq!(limited(&signal, 9, Seed::new(1)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn nothing_to_draw_is_legal() {
        for selection in [
            Selection::NonzeroAdvantage,
            Selection::Uniform,
            Selection::TopReward,
            Selection::LargestVariance,
            Selection::First,
        ] {
            assert!(drawn(selection, &[], 4, 1).is_empty());
            assert!(drawn(selection, &MANY_RIGHT, 0, 1).is_empty());
            assert!(drawn(selection, &MANY_RIGHT, 99, 1).len() <= 7);
        }
    }
}
