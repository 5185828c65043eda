//! What shapes a round, checked before it comes here.

use super::asking::{Ask, QuestionStream};
use super::balance::Balance;
use super::clock::VirtualClock;
use super::memory::Replay;
use super::sampling::Sampling;
use super::selection::{Draw, SignalLimit};
use super::shadow::Shadow;
use crate::advantage::ScaleRewards;
use crate::wire::Limits;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What of its completions' log-probs an author publishes beside the text (`swarm.share_logprobs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShareLogprobs {
    /// Nothing, as in the paper.
    #[default]
    None,
    /// Their sum over the tokens of each completion.
    Sequence,
    /// That of every token, where the text encodes to the very tokens that were generated; else their sum.
    Token,
}

/// What is asked of rollouts besides that they can be read and judged: the `[swarm.admission]` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Admission {
    /// Whether a question must be what its task makes of its seed, text and ground truth, or one of those that were
    /// given.
    pub remake_questions: bool,
    /// Most rollouts of a sender in a round; 0 for as many as it is asked for.
    pub max_per_sender: usize,
}

/// What shapes a round.
#[derive(Clone)]
pub struct SwarmConfig {
    /// Who acts when; none for lock-step.
    pub clock: Option<VirtualClock>,
    /// Own and external rollouts.
    pub balance: Balance,
    /// The rule of the draw.
    pub selection: Arc<dyn Draw>,
    /// What is drawn from.
    pub replay: Replay,
    /// What of its log-probs an author publishes.
    pub share_logprobs: ShareLogprobs,
    /// How many rollouts with a signal a training set may have.
    pub signal_limit: SignalLimit,
    /// Draws that nobody learns from.
    pub shadows: Vec<Shadow>,
    /// How often own rollouts without signal are dropped and others asked for, in a round.
    pub max_redraws: usize,
    /// The question stream.
    pub questions: QuestionStream,
    /// How an agent chooses what it asks itself.
    pub ask: Ask,
    /// How it answers.
    pub sampling: Sampling,
    /// What is asked of rollouts of others.
    pub admission: Admission,
    /// Words whose share in own completions is counted, where a member spreads them.
    pub payload: Option<&'static str>,
    /// Whether external completions are weighted or left out by what the learner makes of them.
    pub weighs_foreign: bool,
    /// Whether some agents are programs or recordings, or have programs for rewards.
    pub outsiders: bool,
    /// Whether its members are of several kinds.
    pub mixed: bool,
    /// How advantages are scaled.
    pub scale_rewards: ScaleRewards,
    /// Added to the rewards of external rollouts with a signal.
    pub foreign_lean: f64,
    /// Held-out questions of an evaluation.
    pub eval_questions: usize,
    /// An evaluation every so many rounds, the first and the last round included; 0 for none.
    pub eval_every: u32,
    /// Whether each agent is asked one more held-out question a round, the same for all.
    pub judge: bool,
    /// Rounds in all.
    pub rounds: u32,
    /// How much a sender may publish.
    pub limits: Limits,
}

impl SwarmConfig {
    /// Who acts when.
    pub fn clock(&self) -> VirtualClock {
        self.clock.unwrap_or(VirtualClock::LOCK_STEP)
    }

    /// Whether held-out questions are answered in this round.
    pub fn evaluates(&self, round: u32) -> bool {
        let every = self.eval_every;
        let due = every > 0 && ((round - 1).is_multiple_of(every) || round == self.rounds);
        due && self.eval_questions > 0
    }
}
