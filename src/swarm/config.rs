//! What shapes a round, checked before it comes here.

use super::balance::Balance;
use super::memory::Replay;
use super::selection::{Selection, SignalLimit};
use super::shadow::Shadow;
use crate::rollout::ScaleRewards;
use crate::wire::Limits;
use serde::{Deserialize, Serialize};

/// Where agents take their questions from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionStream {
    /// Each agent asks its own (the paper's text).
    Independent,
    /// All agents ask the same (GenRL's code).
    Shared,
}

/// What shapes a round.
#[derive(Clone, Debug, PartialEq)]
pub struct SwarmConfig {
    /// Own and external rollouts.
    pub balance: Balance,
    /// The rule of the draw.
    pub selection: Selection,
    /// What is drawn from.
    pub replay: Replay,
    /// How many rollouts with a signal a training set may have.
    pub signal_limit: SignalLimit,
    /// Draws that nobody learns from.
    pub shadows: Vec<Shadow>,
    /// How often own rollouts without signal are dropped and others asked for, in a round.
    pub max_redraws: usize,
    /// The question stream.
    pub questions: QuestionStream,
    /// Completions per question (the paper's L).
    pub num_generations: usize,
    /// How advantages are scaled.
    pub scale_rewards: ScaleRewards,
    /// Held-out questions of an evaluation.
    pub eval_questions: usize,
    /// An evaluation every so many rounds, the first and the last round included; 0 for none.
    pub eval_every: u32,
    /// Rounds in all.
    pub rounds: u32,
    /// How much a sender may publish.
    pub limits: Limits,
}

impl SwarmConfig {
    /// Whether held-out questions are answered in this round.
    pub fn evaluates(&self, round: u32) -> bool {
        let every = self.eval_every;
        let due = every > 0 && ((round - 1).is_multiple_of(every) || round == self.rounds);
        due && self.eval_questions > 0
    }
}
