//! The bus of one process: a list of what was published in the newest ticks.

use super::{Bus, Delivery};
use crate::rollout::{AgentId, Rollout};
use anyhow::Result;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Holds the rollouts of the newest ticks.
#[derive(Debug)]
pub struct MemoryBus {
    /// How many ticks are held.
    ticks: u64,
    deliveries: Vec<(u64, Delivery)>,
}

impl MemoryBus {
    /// A bus on which rollouts can be read for so many ticks, at least one.
    pub fn new(ticks: u64) -> Self {
        Self {
            ticks,
            deliveries: Vec::new(),
        }
    }
}

impl Default for MemoryBus {
    /// Of the newest tick alone.
    fn default() -> Self {
        Self::new(1)
    }
}

impl Bus for MemoryBus {
    fn publish(&mut self, sender: AgentId, tick: u64, rollouts: Vec<Arc<Rollout>>) -> Result<()> {
        let ticks = self.ticks;
        self.deliveries.retain(|(then, _)| then + ticks > tick);
        let delivery = |rollout| (tick, Delivery { sender, rollout });
        self.deliveries.extend(rollouts.into_iter().map(delivery));
        Ok(())
    }

    fn collect(&mut self, reader: AgentId, ticks: RangeInclusive<u64>) -> Result<Vec<Delivery>> {
        let wanted = |(tick, d): &&(u64, Delivery)| ticks.contains(tick) && d.sender != reader;
        let found = self.deliveries.iter().filter(wanted);
        let mut found: Vec<Delivery> = found.map(|(_, delivery)| delivery.clone()).collect();
        found.sort_by_key(|d| (d.sender, d.rollout.id));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{Question, RolloutId};

    fn rollout(author: u16, round: u32, index: u32) -> Arc<Rollout> {
        let id = RolloutId {
            author: AgentId(author),
            round,
            index,
        };
        let question = Question {
            task: "t".into(),
            text: String::new(),
            answer: None,
            metadata: serde_json::Map::new().into(),
            seed: None,
        };
        Arc::new(Rollout {
            id,
            question,
            completions: Vec::new(),
        })
    }

    fn found(bus: &mut MemoryBus, reader: u16, ticks: RangeInclusive<u64>) -> Vec<(u16, u32)> {
        let found = bus.collect(AgentId(reader), ticks).unwrap();
        found
            .iter()
            .map(|d| (d.sender.0, d.rollout.id.index))
            .collect()
    }

    #[test]
    fn a_reader_finds_the_others_rollouts_in_order_and_none_of_its_own() {
        let mut bus = MemoryBus::default();
        for author in [2, 0, 1] {
            let rollouts = vec![rollout(author, 1, 1), rollout(author, 1, 0)];
            bus.publish(AgentId(author), 1, rollouts).unwrap();
        }
        assert_eq!(found(&mut bus, 1, 1..=1), [(0, 0), (0, 1), (2, 0), (2, 1)]);
        assert_eq!(found(&mut bus, 1, 2..=2), []);
        bus.publish(AgentId(0), 2, vec![rollout(0, 2, 0)]).unwrap();
        assert_eq!(found(&mut bus, 1, 2..=2), [(0, 0)]);
        assert_eq!(found(&mut bus, 1, 1..=1), []);
    }

    #[test]
    fn what_is_older_than_it_holds_is_forgotten() {
        let mut bus = MemoryBus::new(2);
        for tick in 1..=3 {
            let rollouts = vec![rollout(0, tick as u32, tick as u32)];
            bus.publish(AgentId(0), tick, rollouts).unwrap();
        }
        assert_eq!(found(&mut bus, 1, 1..=3), [(0, 2), (0, 3)]);
        assert_eq!(found(&mut bus, 1, 3..=3), [(0, 3)]);
    }

    #[test]
    fn all_readers_hold_the_same_rollout() {
        let mut bus = MemoryBus::default();
        let shown = rollout(0, 1, 0);
        bus.publish(AgentId(0), 1, vec![Arc::clone(&shown)])
            .unwrap();
        for reader in [1, 2] {
            let found = bus.collect(AgentId(reader), 1..=1).unwrap();
            assert!(Arc::ptr_eq(&found[0].rollout, &shown));
        }
    }

    #[test]
    fn who_published_is_told_by_the_bus() {
        let mut bus = MemoryBus::default();
        bus.publish(AgentId(3), 1, vec![rollout(0, 1, 0)]).unwrap();
        let found = bus.collect(AgentId(0), 1..=1).unwrap();
        assert_eq!(
            (found[0].sender, found[0].rollout.id.author),
            (AgentId(3), AgentId(0))
        );
    }
}
