//! Recorded rollouts as a member: what was asked and answered once is published again, without anybody who answers.
//! So a run with a program or a person in it can be repeated without them, and text from elsewhere can be shared.

use super::{Asked, Responder, Unreadable};
use crate::rollout::{Completion, Prompt, Question};
use crate::seed::Seed;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was asked and how it was answered.
pub type Record = (Question, Vec<Completion>);

/// Publishes what is recorded of each round.
pub struct Recorded {
    rounds: Arc<BTreeMap<u32, Vec<Record>>>,
    /// Whether the recorded rounds begin again after the last.
    cycle: bool,
}

impl Recorded {
    /// Rollouts by their rounds, counted from 1.
    pub fn new(rounds: Arc<BTreeMap<u32, Vec<Record>>>, cycle: bool) -> Self {
        Self { rounds, cycle }
    }
}

impl Responder for Recorded {
    fn prompt(&self, _: &Question) -> Result<Prompt, Unreadable> {
        Ok(Prompt::of_text())
    }

    fn brings(&mut self, round: u32) -> Option<Vec<Record>> {
        let rounds = self.rounds.len() as u32;
        if !self.cycle || rounds == 0 {
            return Some(self.rounds.get(&round).cloned().unwrap_or_default());
        }
        // in a cycle the numbers of the rounds only say their order
        let place = (round - 1) % rounds;
        let found = self.rounds.values().nth(place as usize);
        Some(found.cloned().unwrap_or_default())
    }

    fn complete(&mut self, asked: &[Asked<'_>], _: usize, _: Seed) -> Result<Vec<Vec<Completion>>> {
        Ok(vec![Vec::new(); asked.len()])
    }

    fn reencodes_differently(&self, _: &Completion) -> bool {
        false
    }

    fn is_examined(&self) -> bool {
        false
    }
}
