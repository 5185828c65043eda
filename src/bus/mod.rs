//! What carries rollouts between agents.
//!
//! A [`Bus`] takes what one agent publishes and gives it to the others. It carries rollouts as they
//! travel (question and decoded text, no tokens, no rewards), changes none, and believes nobody:
//! who published a rollout is told by the bus, not by the rollout.
//!
//! [`MemoryBus`] serves agents of one process, `NatsBus` those of several, on one machine or many. Another bus is one file beside it and a name in the
//! experiment's TOML.

mod memory;
#[cfg(feature = "nats")]
mod nats;

pub use memory::MemoryBus;
#[cfg(feature = "nats")]
pub use nats::{NatsBus, Run};

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

    /// Tells other nodes the records of a round of the agents that are here; the records of all agents, in their order.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    fn exchange(&mut self, round: u32, own: Vec<(AgentId, String)>) -> Result<Vec<String>> {
        let _ = round;
        Ok(own.into_iter().map(|(_, record)| record).collect())
    }

    /// Whether agents can be elsewhere.
    fn is_shared(&self) -> bool {
        false
    }

    /// Messages so far that were dropped because nobody should have published them.
    fn dropped(&self) -> u64 {
        0
    }
}
