//! What carries rollouts between agents.
//!
//! A [`Bus`] takes what one agent publishes and gives it to the others. It carries rollouts as they
//! travel (question and decoded text, no tokens, no rewards), changes none, and believes nobody:
//! who published a rollout is told by the bus, not by the rollout.
//!
//! [`MemoryBus`] serves agents of one process. Another bus is one file beside it and a name in the
//! experiment's TOML.

mod memory;

pub use memory::MemoryBus;

use crate::rollout::{AgentId, Rollout};
use anyhow::Result;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A rollout as a reader finds it.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Who published it, whatever name it bears itself.
    pub sender: AgentId,
    /// What was published; all readers hold the same.
    pub rollout: Arc<Rollout>,
}

/// Carries rollouts from agents to agents.
pub trait Bus: Send {
    /// Shows the others some rollouts of an agent. Ticks never go back.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    fn publish(&mut self, sender: AgentId, tick: u64, rollouts: Vec<Arc<Rollout>>) -> Result<()>;

    /// What all others have published in these ticks, in the order of sender, round and index, whoever came first.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    fn collect(&mut self, reader: AgentId, ticks: RangeInclusive<u64>) -> Result<Vec<Delivery>>;
}
