//! What an agent learns from in a round: its own rollouts and those that it draws.

use super::balance::Mix;
use super::config::SwarmConfig;
use super::memory::Memory;
use super::selection::{DrawFrom, Pool, SignalLimit, limited};
use crate::rollout::{RolloutId, ScoredRollout};
use crate::seed::Seed;

/// What a training set is put together from.
pub(super) struct Sources<'a> {
    pub(super) config: &'a SwarmConfig,
    /// How many of each kind this round.
    pub(super) mix: Mix,
    /// The agent's rollouts of this round.
    pub(super) own: &'a [ScoredRollout],
    /// Those of the others.
    pub(super) pool: &'a [ScoredRollout],
    /// Those of earlier rounds.
    pub(super) memory: &'a Memory,
    /// What is the same for all readers of the round.
    pub(super) arrival: Seed,
    /// The agent's in this round, by the name of what is drawn.
    pub(super) seed: &'a dyn Fn(&str) -> Seed,
}

/// The rollouts of a round that an agent learns from.
pub(super) struct TrainingSet {
    /// Own ones first.
    pub(super) rollouts: Vec<ScoredRollout>,
    /// The names of those that were drawn.
    pub(super) drawn: Vec<RolloutId>,
}

impl Sources<'_> {
    /// Own rollouts, and as many drawn ones as places are left, as far as there are so many.
    pub(super) fn training_set(&self) -> TrainingSet {
        let fills = self.config.balance.fills();
        let silent = |r: &&ScoredRollout| fills && !r.has_signal();
        let (silent, kept): (Vec<_>, Vec<_>) = self.own.iter().partition(silent);
        let places = if fills {
            self.mix.total().saturating_sub(kept.len())
        } else {
            self.mix.external
        };
        let drawn = self.drawn(places);
        // what nobody takes is theirs again
        let left = places - drawn.len();
        let own = kept.into_iter().chain(silent.into_iter().take(left));
        let set: Vec<&ScoredRollout> = own.chain(drawn.iter().copied()).collect();
        TrainingSet {
            rollouts: self.limited(&set),
            drawn: drawn.iter().map(|r| r.rollout.id).collect(),
        }
    }

    /// The rollouts that are drawn for so many places.
    fn drawn(&self, places: usize) -> Vec<&ScoredRollout> {
        let replay = self.config.replay;
        let remembered = || self.memory.usable(replay.max_uses);
        let pool = || self.pool.iter().collect::<Vec<_>>();
        match replay.from {
            DrawFrom::Others if replay.rounds == 0 => self.draw(&pool(), places, "draw"),
            DrawFrom::Others | DrawFrom::Itself => self.draw(&remembered(), places, "draw"),
            DrawFrom::OthersAndMemory => {
                let mut drawn = self.draw(&pool(), places, "draw");
                let left = places - drawn.len();
                drawn.extend(self.draw(&remembered(), left, "replay"));
                drawn
            }
        }
    }

    fn draw<'a>(
        &self,
        from: &[&'a ScoredRollout],
        places: usize,
        name: &str,
    ) -> Vec<&'a ScoredRollout> {
        let (rule, seed) = (&self.config.selection, (self.seed)(name));
        let drawn = rule.draw(&Pool::new(from), places, self.arrival, seed);
        drawn.into_iter().map(|i| from[i]).collect()
    }

    /// The set, as far as the limit of signals lets it.
    fn limited(&self, set: &[&ScoredRollout]) -> Vec<ScoredRollout> {
        let kept: Vec<usize> = match self.config.signal_limit {
            SignalLimit::None => (0..set.len()).collect(),
            SignalLimit::Own => {
                let signal: Vec<bool> = set.iter().map(|r| r.has_signal()).collect();
                let most = self.own.iter().filter(|r| r.has_signal()).count();
                limited(&signal, most, (self.seed)("limit"))
            }
        };
        kept.into_iter().map(|i| set[i].clone()).collect()
    }
}
