//! The in-memory bus: what agents publish in a round, and what the others find there.
//!
//! It holds rollouts as they travel (decoded text, no tokens, no rewards) and changes none.

use crate::rollout::{AgentId, Rollout};

/// The rollouts of one round.
#[derive(Debug, Default)]
pub struct Bus {
    rollouts: Vec<Rollout>,
}

impl Bus {
    /// Puts an agent's rollouts on the bus, under its name and without what must not travel.
    pub fn publish(&mut self, author: AgentId, rollouts: &[Rollout]) {
        self.rollouts.extend(rollouts.iter().map(|rollout| Rollout {
            author,
            ..rollout.shared()
        }));
    }

    /// Forgets the round. Rollouts from now on belong to the next one.
    pub fn clear(&mut self) {
        self.rollouts.clear();
    }

    /// The rollouts of all other agents in the order of (author, index), whoever published first.
    pub fn of_others(&self, reader: AgentId) -> Vec<&Rollout> {
        let mut pool: Vec<&Rollout> = self
            .rollouts
            .iter()
            .filter(|r| r.author != reader)
            .collect();
        pool.sort_by_key(|r| (r.author, r.index));
        pool
    }
}
