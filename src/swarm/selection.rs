//! The rules that draw external rollouts from the pool.
//!
//! A rule sees the rewards that the reader itself gave, and answers with positions in the pool.

use crate::rollout::AgentId;
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

/// Positions in the pool of the `count` rollouts drawn, in ascending order. `rewards` and `authors`
/// hold one entry per rollout of the pool; `arrival` seeds what must be the same for all readers of
/// the round, `seed` what is the reader's own.
pub fn draw(
    selection: Selection,
    rewards: &[&[f64]],
    authors: &[AgentId],
    count: usize,
    arrival: Seed,
    seed: Seed,
) -> Vec<usize> {
    let total = |i: usize| rewards[i].iter().sum::<f64>();
    let mut pool: Vec<usize> = (0..rewards.len()).collect();
    match selection {
        Selection::NonzeroAdvantage => {
            pool.retain(|&i| rewards[i].iter().any(|r| *r != rewards[i][0]));
        }
        Selection::TopReward => pool.retain(|&i| total(i) != 0.0),
        Selection::Uniform | Selection::First => {}
    }
    if selection == Selection::First {
        let rank = |i: usize| {
            arrival
                .child("agent", u64::from(authors[i].0))
                .rng()
                .below(u64::MAX)
        };
        pool.sort_by_key(|&i| (rank(i), authors[i], i));
    } else {
        seed.rng().shuffle(&mut pool);
    }
    if selection == Selection::TopReward {
        pool.sort_by(|&a, &b| total(b).total_cmp(&total(a))); // stable: ties stay shuffled
    }
    pool.truncate(count);
    pool.sort_unstable();
    pool
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
        let rewards: Vec<&[f64]> = groups.iter().map(Vec::as_slice).collect();
        let authors: Vec<AgentId> = (0..totals.len()).map(|i| AgentId(i as u16 / 2)).collect();
        draw(
            selection,
            &rewards,
            &authors,
            count,
            Seed::new(99),
            Seed::new(seed),
        )
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
            Selection::First,
        ] {
            assert!(drawn(selection, &[], 4, 1).is_empty());
            assert!(drawn(selection, &MANY_RIGHT, 0, 1).is_empty());
            assert!(drawn(selection, &MANY_RIGHT, 99, 1).len() <= 7);
        }
    }
}
