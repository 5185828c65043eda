//! What is on its way: rollouts between being published and being read, with delay, loss and age.

use super::clock::VirtualClock;
use crate::bus::Bus;
use crate::rollout::{AgentId, Rollout};
use crate::seed::Seed;
use crate::wire;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an agent has published at a tick.
struct Posted {
    sender: AgentId,
    /// The tick at which others can read it.
    arrives: u64,
    rollouts: Vec<Arc<Rollout>>,
    /// Whether it has been handed to the bus.
    delivered: bool,
}

/// What can still be read, or will be.
pub(super) struct Mail {
    clock: VirtualClock,
    /// Of the run.
    root: Seed,
    posted: Vec<Posted>,
}

/// One rollout of it in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Line {
    sender: AgentId,
    arrives: u64,
    rollout: serde_json::Value,
}

impl Mail {
    pub(super) fn new(clock: VirtualClock, root: Seed) -> Self {
        Self {
            clock,
            root,
            posted: Vec::new(),
        }
    }

    /// Takes what an agent publishes at a tick.
    pub(super) fn post(&mut self, sender: AgentId, tick: u64, rollouts: Vec<Arc<Rollout>>) {
        let seed = self
            .root
            .child("mail", tick)
            .child("sender", u64::from(sender.0));
        if self.clock.loss > 0.0 && seed.rng().uniform() < self.clock.loss {
            return;
        }
        self.posted.push(Posted {
            sender,
            arrives: tick + u64::from(self.clock.delay),
            rollouts,
            delivered: false,
        });
    }

    /// Hands the bus what has arrived by a tick, and forgets what is too old to be read.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    pub(super) fn deliver(&mut self, tick: u64, bus: &mut dyn Bus) -> Result<()> {
        for posted in self
            .posted
            .iter_mut()
            .filter(|p| p.arrives <= tick && !p.delivered)
        {
            bus.publish(posted.sender, posted.arrives, posted.rollouts.clone())?;
            posted.delivered = true;
        }
        let oldest = self.oldest(tick);
        self.posted.retain(|posted| posted.arrives >= oldest);
        Ok(())
    }

    /// The first tick whose arrivals can still be read at a tick.
    pub(super) fn oldest(&self, tick: u64) -> u64 {
        (tick + 1).saturating_sub(u64::from(self.clock.staleness))
    }

    /// As text, for a checkpoint.
    ///
    /// # Errors
    /// When a rollout holds what JSON cannot.
    pub(super) fn save(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        for posted in &self.posted {
            for rollout in &posted.rollouts {
                let line = Line {
                    sender: posted.sender,
                    arrives: posted.arrives,
                    rollout: serde_json::from_slice(&wire::encode(rollout)?)?,
                };
                serde_json::to_writer(&mut lines, &line)?;
                lines.push(b'\n');
            }
        }
        Ok(lines)
    }

    /// Goes on from the text of a checkpoint.
    ///
    /// # Errors
    /// When it is not what [`Mail::save`] wrote.
    pub(super) fn restore(&mut self, text: &[u8]) -> Result<()> {
        self.posted.clear();
        for line in text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            let line: Line = serde_json::from_slice(line)?;
            let rollout = wire::read(&serde_json::to_vec(&line.rollout)?);
            let rollout = Arc::new(rollout.context("a rollout on its way cannot be read")?);
            let same = |p: &&mut Posted| (p.sender, p.arrives) == (line.sender, line.arrives);
            match self.posted.last_mut().filter(same) {
                Some(posted) => posted.rollouts.push(rollout),
                None => self.posted.push(Posted {
                    sender: line.sender,
                    arrives: line.arrives,
                    rollouts: vec![rollout],
                    delivered: false,
                }),
            }
        }
        Ok(())
    }
}
