//! What an agent remembers of earlier rounds, to draw from it again.
//!
//! The rollouts of the last rounds, own or others', scored when they were new. Written into
//! checkpoints as one JSON line each: the message of the wire, and the tokens of own completions.

use super::selection::DrawFrom;
use crate::member::Responder;
use crate::reward::Reward;
use crate::rollout::{Completion, Rollout, ScoredRollout, Token};
use crate::wire::{self, Limits};
use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rollouts of the last rounds, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<ScoredRollout>);

/// A remembered rollout in a checkpoint.
#[derive(Serialize, Deserialize)]
struct Line {
    rollout: serde_json::Value,
    /// Of each completion; empty where another agent wrote it.
    tokens: Vec<Vec<u32>>,
}

impl Memory {
    /// What is remembered of the rounds before this one.
    pub(super) fn rollouts(&self) -> &[ScoredRollout] {
        &self.0
    }

    /// Takes in the rollouts of a round, and forgets those that lie `rounds` rounds back.
    pub(super) fn add(&mut self, round: u32, rounds: u32, new: &[ScoredRollout]) {
        self.0
            .retain(|r| r.rollout.id.round.saturating_add(rounds) > round);
        self.0.extend_from_slice(new);
    }

    /// As text, for a checkpoint.
    ///
    /// # Errors
    /// When a rollout holds what JSON cannot.
    pub(super) fn save(&self) -> Result<Vec<u8>> {
        let mut lines = Vec::new();
        for ScoredRollout { rollout, .. } in &self.0 {
            let tokens = |c: &Completion| c.tokens.iter().map(|t| t.id).collect();
            let line = Line {
                rollout: serde_json::from_slice(&wire::encode(rollout)?)?,
                tokens: rollout.completions.iter().map(tokens).collect(),
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
            all.push(ScoredRollout {
                prompt: prompt.map_err(|why| anyhow!(why))?,
                rewards: rewards.context("a remembered rollout cannot be scored")?,
                rollout: Arc::new(rollout),
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
}
