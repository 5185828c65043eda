//! What an agent remembers of earlier rounds, to draw from it again.
//!
//! The rollouts of the last rounds, own or others', scored when they were new. Written into
//! checkpoints as one JSON line each: the message of the wire, and the tokens of own completions.

use super::selection::DrawFrom;
use crate::member::Responder;
use crate::reward::Reward;
use crate::rollout::{Completion, Rollout, RolloutId, ScoredRollout, Token};
use crate::wire::{self, Limits};
use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Rollouts of the last rounds, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Remembered>);

/// A rollout, and how often its owner has learned from it.
#[derive(Clone, Debug)]
struct Remembered {
    scored: ScoredRollout,
    uses: u32,
}

/// A remembered rollout in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Line {
    rollout: serde_json::Value,
    /// Of each completion; empty where another agent wrote it.
    tokens: Vec<Vec<u32>>,
    /// How often the agent has learned from it.
    #[serde(default)]
    uses: u32,
}

impl Memory {
    /// What is remembered of the rounds before this one and has been learned from less than `max_uses`
    /// times; 0 for any number of times.
    pub(super) fn usable(&self, max_uses: u32) -> Vec<&ScoredRollout> {
        let usable = |r: &&Remembered| max_uses == 0 || r.uses < max_uses;
        self.0.iter().filter(usable).map(|r| &r.scored).collect()
    }

    /// Takes in the rollouts of a round, forgets those that lie `rounds` rounds back, and counts those that this round
    /// has used.
    pub(super) fn add<'a>(
        &mut self,
        round: u32,
        rounds: u32,
        new: impl IntoIterator<Item = &'a ScoredRollout>,
        used: &[RolloutId],
    ) {
        let age = |r: &Remembered| r.scored.rollout.id.round.saturating_add(rounds) > round;
        self.0.retain(age);
        let remember = |scored: &ScoredRollout| Remembered {
            scored: scored.clone(),
            uses: 0,
        };
        self.0.extend(new.into_iter().map(remember));
        let used: HashSet<&RolloutId> = used.iter().collect();
        for remembered in &mut self.0 {
            remembered.uses += u32::from(used.contains(&remembered.scored.rollout.id));
        }
    }

    /// As text, for a checkpoint.
    ///
    /// # Errors
    /// When a rollout holds what JSON cannot.
    pub(super) fn save(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        for Remembered { scored, uses } in &self.0 {
            let rollout = &scored.rollout;
            let tokens = |c: &Completion| c.tokens.iter().map(|t| t.id).collect();
            let line = Line {
                rollout: serde_json::from_slice(&wire::encode(rollout)?)?,
                tokens: rollout.completions.iter().map(tokens).collect(),
                uses: *uses,
            };
            serde_json::to_writer(&mut lines, &line)?;
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// From the text of a checkpoint, read and scored anew.
    ///
    /// # Errors
    /// When it is not what [`Memory::save`] wrote.
    pub(super) fn restore(
        text: &[u8],
        limits: &Limits,
        member: &dyn Responder,
        reward: &mut dyn Reward,
    ) -> Result<Self> {
        let lines = text.split(|byte| *byte == b'\n');
        let mut all = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let line: Line = serde_json::from_slice(line)?;
            let mut rollout = wire::decode(&serde_json::to_vec(&line.rollout)?, limits)?;
            restore_tokens(&mut rollout, &line.tokens);
            let prompt = member.prompt(&rollout.question);
            let rewards = reward.score(&rollout.question, &rollout.completions);
            let scored = ScoredRollout {
                prompt: prompt.map_err(|why| anyhow!(why))?,
                rewards: rewards.context("a remembered rollout cannot be scored")?,
                rollout: Arc::new(rollout),
            };
            all.push(Remembered {
                scored,
                uses: line.uses,
            });
        }
        Ok(Self(all))
    }
}

/// Log-probs and entropies are not remembered: they are of the policy that the agent was then.
fn restore_tokens(rollout: &mut Rollout, tokens: &[Vec<u32>]) {
    let token = |&id: &u32| Token {
        id,
        logprob: 0.0,
        entropy: 0.0,
    };
    for (completion, ids) in rollout.completions.iter_mut().zip(tokens) {
        completion.tokens = ids.iter().map(token).collect();
    }
}

/// Whose rollouts of earlier rounds are drawn, and of how many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Whose.
    pub from: DrawFrom,
    /// Of how many rounds before this one; 0 for those of this round.
    pub rounds: u32,
    /// How often an agent learns from a rollout at most; 0 for any number of times.
    pub max_uses: u32,
}
