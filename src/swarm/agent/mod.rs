//! One seat of the swarm: its member, its reward, its seed, and its part of a round.

mod generate;
mod learn;

use super::asking::Asker;
use super::balance::Signals;
use super::config::ShareLogprobs;
use super::memory::Memory;
use super::metrics::RoundRecord;
use super::questions::TaskProportions;
use super::shadow::ShadowReward;
use crate::member::Responder;
use crate::reward::Reward;
use crate::rollout::{AgentId, AuthorLogprobs, Completion, Rollout, RolloutId, ScoredRollout};
use crate::seed::Seed;
use crate::wire::Limits;
use anyhow::Result;
use std::path::Path;
use std::sync::Arc;

/// Who sits down as an agent.
pub struct Seat {
    /// What kind of member it is, by name.
    pub name: String,
    /// Answers, and perhaps learns.
    pub member: Box<dyn Responder>,
    /// Scores own rollouts and those of others.
    pub reward: Box<dyn Reward>,
    /// How often it is asked each task.
    pub tasks: TaskProportions,
}

/// What an agent must remember to go on, besides what its member saves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentState {
    /// Prompt and completion tokens of its own completions so far.
    pub num_tokens: u64,
    /// How often its own rollouts have had a signal.
    pub signals: Signals,
    /// Rollouts of earlier rounds as text; empty where none are drawn from.
    pub memory: Vec<u8>,
    /// Those whose questions it may ask itself; empty where it asks none.
    pub known: Vec<u8>,
    /// What it has seen of each task; empty where it does not matter.
    pub task_counts: Vec<[f64; 2]>,
    /// The first tick that it has not looked at what others have published.
    pub unread: u64,
    /// Optimizer steps taken so far.
    pub global_step: usize,
}

/// One seat of the swarm.
pub struct Agent {
    id: AgentId,
    seat: Seat,
    /// Of the agent: everything it does is drawn from here.
    seed: Seed,
    /// This round's own rollouts, with tokens and rewards.
    own: Vec<ScoredRollout>,
    /// Own rollouts of this round that were dropped for want of a signal.
    unused: Vec<ScoredRollout>,
    /// Rollouts of earlier rounds.
    memory: Memory,
    /// What it knows of the questions of the swarm.
    asker: Asker,
    num_tokens: u64,
    /// How often its own rollouts have had a signal.
    signals: Signals,
    /// Questions of this round left out because their prompts are too long.
    overlong: usize,
    /// Questions of this round without a completion that could be scored.
    unanswered: usize,
    /// The tick after that at which it last looked at what others have published.
    unread: u64,
    /// Optimizer steps taken so far.
    global_step: usize,
    /// What there is to be said of its member's and its reward's round.
    notes: Vec<String>,
    /// The rollouts that it has drawn this round.
    drawn: Vec<RolloutId>,
    /// False after an update that left a weight that is not finite.
    sound: bool,
}

impl Agent {
    pub(in crate::swarm) fn new(id: AgentId, seat: Seat, seed: Seed) -> Self {
        Self {
            id,
            seat,
            seed,
            own: Vec::new(),
            unused: Vec::new(),
            memory: Memory::default(),
            asker: Asker::default(),
            num_tokens: 0,
            signals: Signals::default(),
            overlong: 0,
            unanswered: 0,
            unread: 0,
            global_step: 0,
            notes: Vec::new(),
            drawn: Vec::new(),
            sound: true,
        }
    }

    /// What kind of member it is, by name.
    pub fn name(&self) -> &str {
        &self.seat.name
    }

    /// Its number.
    pub fn id(&self) -> AgentId {
        self.id
    }

    /// Who answers.
    pub fn member(&self) -> &dyn Responder {
        self.seat.member.as_ref()
    }

    /// This round's own rollouts.
    pub fn own(&self) -> &[ScoredRollout] {
        &self.own
    }

    /// The rollouts that it has drawn this round.
    pub fn drawn(&self) -> &[RolloutId] {
        &self.drawn
    }

    /// What it shows the others: its rollouts as they travel, one copy for all readers.
    pub fn shown(&self, logprobs: ShareLogprobs) -> Vec<Arc<Rollout>> {
        let share = |own: &ScoredRollout| {
            let mut shared = own.rollout.shared();
            let pairs = shared.completions.iter_mut().zip(&own.rollout.completions);
            for (shown, completion) in pairs {
                shown.logprobs = self.told(completion, logprobs);
            }
            shared
        };
        let own = self.own.iter().map(share).collect();
        let published = self.seat.member.publishes(own);
        published.into_iter().map(Arc::new).collect()
    }

    /// What it tells of the log-probs of one of its completions.
    fn told(&self, completion: &Completion, logprobs: ShareLogprobs) -> AuthorLogprobs {
        let sum = || {
            let sum: f32 = completion.tokens.iter().map(|t| t.logprob).sum();
            AuthorLogprobs::Sequence(sum.min(0.0))
        };
        match logprobs {
            // who only has text has none to tell
            _ if completion.tokens.is_empty() => AuthorLogprobs::Untold,
            ShareLogprobs::None => AuthorLogprobs::Untold,
            ShareLogprobs::Sequence => sum(),
            ShareLogprobs::Token => {
                let of_tokens = self.seat.member.token_logprobs(completion);
                of_tokens.unwrap_or_else(sum)
            }
        }
    }

    /// Looks at what others have published up to a tick; the first tick that it has not looked at before.
    pub(in crate::swarm) fn look(&mut self, tick: u64) -> u64 {
        std::mem::replace(&mut self.unread, tick + 1)
    }

    /// Begins again from what it was at first; what it has generated so far still counts.
    pub(in crate::swarm) fn begin_again(&mut self) {
        self.seat.member.begin_again();
        self.signals = Signals::default();
        self.memory = Memory::default();
        self.asker = Asker::default();
        self.global_step = 0;
    }

    /// The record of a round in which no part of it ends.
    pub(in crate::swarm) fn idle(
        &self,
        round: u32,
        tasks: &[String],
        shadows: usize,
    ) -> RoundRecord {
        RoundRecord {
            num_tokens: self.num_tokens,
            global_step: self.global_step,
            task_rewards: vec![None; tasks.len()],
            shadows: vec![ShadowReward::default(); shadows],
            ..RoundRecord::new(round, self.id)
        }
    }

    /// What there is to be said of the last round: programs that have died, answers that are none.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// False after an update that left a weight that is not finite.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// What it must remember to go on.
    ///
    /// # Errors
    /// When a remembered rollout holds what JSON cannot.
    pub fn state(&self) -> Result<AgentState> {
        Ok(AgentState {
            num_tokens: self.num_tokens,
            signals: self.signals,
            memory: self.memory.save()?,
            known: self.asker.known.save()?,
            task_counts: self.asker.counts.clone(),
            unread: self.unread,
            global_step: self.global_step,
        })
    }

    /// Goes on from what its member wrote into a folder and from its own state.
    pub(in crate::swarm) fn restore(
        &mut self,
        dir: &Path,
        state: &AgentState,
        limits: &Limits,
    ) -> Result<()> {
        self.num_tokens = state.num_tokens;
        self.signals = state.signals;
        self.unread = state.unread;
        self.global_step = state.global_step;
        let Seat { member, reward, .. } = &mut self.seat;
        member.restore(dir)?;
        let mut memory = |text| Memory::restore(text, limits, member.as_ref(), reward.as_mut());
        self.memory = memory(&state.memory)?;
        self.asker.known = memory(&state.known)?;
        self.asker.counts = state.task_counts.clone();
        Ok(())
    }
}
