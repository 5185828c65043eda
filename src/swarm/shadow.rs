//! Shadow draws: what the reward of the training set would have been with another mix or selection.
//!
//! The policies of a real run are held fixed and only the draw differs, so what a shadow gains over
//! the run's own reward is selection and nothing else. Nobody learns from it.

use super::balance::Mix;
use super::selection::{Draw, Pool, Selection};
use crate::rollout::{ScoredRollout, mean};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mix and a rule of the draw that nobody learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadow {
    /// As if each agent had generated `local` rollouts and drawn `external`.
    pub mix: Mix,
    /// By this rule.
    pub selection: Selection,
}

/// As it names columns: `shadow_4-4_nonzero-advantage`.
impl fmt::Display for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shadow_{}_{}", self.mix, self.selection)
    }
}

/// What a shadow draw found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShadowReward {
    /// Mean reward of the completions of its training set.
    pub reward: Option<f64>,
    /// Rollouts in its training set.
    pub groups: usize,
}

impl Shadow {
    /// The training set that an agent would have had: its first `local` rollouts, and `external`
    /// drawn from the first `local` of every other agent, as far as there are so many.
    pub(super) fn reward<'a>(
        &self,
        own: impl Iterator<Item = &'a ScoredRollout>,
        pool: &'a [ScoredRollout],
        arrival: Seed,
        seed: Seed,
    ) -> ShadowReward {
        let Mix { local, external } = self.mix;
        let first = |r: &&ScoredRollout| (r.rollout.id.index as usize) < local;
        let pool: Vec<&ScoredRollout> = pool.iter().filter(first).collect();
        let pool = Pool::new(&pool);
        let drawn = self.selection.draw(&pool, external, arrival, seed);
        let mut set: Vec<&[f64]> = own.filter(first).map(|r| &r.rewards[..]).collect();
        set.extend(drawn.into_iter().map(|i| pool.rewards[i]));
        let all = set.concat();
        ShadowReward {
            reward: (!all.is_empty()).then(|| mean(&all)),
            groups: set.len(),
        }
    }
}
