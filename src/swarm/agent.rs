//! One seat of the swarm: its member, its reward, its seed, and its part of a round.

use super::admit::admit;
use super::config::{QuestionStream, SwarmConfig};
use super::memory::Memory;
use super::metrics::RoundRecord;
use super::questions::{Split, TaskProportions, Tasks};
use super::selection::{DrawFrom, SignalLimit, draw, limited};
use super::shadow::ShadowReward;
use crate::bus::Delivery;
use crate::member::{Asked, Responder, TrainingRollout, Unreadable, UpdateStats};
use crate::reward::Reward;
use crate::rollout::{
    AgentId, Prompt, Question, Rollout, RolloutId, ScoredRollout, advantages, mean,
};
use crate::seed::Seed;
use crate::wire::Limits;
use anyhow::{Result, bail};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Who sits down as an agent.
pub struct Seat {
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
    /// Rollouts of earlier rounds as text; empty where none are drawn from.
    pub memory: Vec<u8>,
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
    num_tokens: u64,
    /// Questions of this round left out because their prompts are too long.
    overlong: usize,
    /// The rollouts that it has drawn this round.
    drawn: Vec<RolloutId>,
    /// False after an update that left a weight that is not finite.
    sound: bool,
}

impl Agent {
    pub(super) fn new(id: AgentId, seat: Seat, seed: Seed) -> Self {
        Self {
            id,
            seat,
            seed,
            own: Vec::new(),
            unused: Vec::new(),
            memory: Memory::default(),
            num_tokens: 0,
            overlong: 0,
            drawn: Vec::new(),
            sound: true,
        }
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
    pub(super) fn shared(&self) -> Vec<Arc<Rollout>> {
        let share = |own: &ScoredRollout| Arc::new(own.rollout.shared());
        self.own.iter().map(share).collect()
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
            memory: self.memory.save()?,
        })
    }

    /// Goes on from what its member wrote into a folder and from its own state.
    pub(super) fn restore(
        &mut self,
        dir: &Path,
        state: &AgentState,
        limits: &Limits,
    ) -> Result<()> {
        self.num_tokens = state.num_tokens;
        let Seat { member, reward, .. } = &mut self.seat;
        member.restore(dir)?;
        self.memory = Memory::restore(&state.memory, limits, member.as_ref(), reward.as_mut())?;
        Ok(())
    }

    /// Asks, completes and scores the own rollouts of a round.
    pub(super) fn generate(
        &mut self,
        round: u32,
        root: Seed,
        config: &SwarmConfig,
        tasks: &Tasks,
    ) -> Result<()> {
        let stream = match config.questions {
            QuestionStream::Independent => self.seed,
            QuestionStream::Shared => root,
        };
        let stream = stream.child("questions", u64::from(round));
        let seed = self.seed.child("complete", u64::from(round));
        let count = config.num_generations;
        let mut asked = config.balance.local();
        let questions = self.questions(stream, 0..asked, tasks);
        self.own = self.answer(round, 0, questions, count, seed)?;
        self.unused.clear();
        for redraw in 0..config.max_redraws {
            let all = std::mem::take(&mut self.own).into_iter();
            let (kept, unused): (_, Vec<_>) = all.partition(ScoredRollout::has_signal);
            self.own = kept;
            let missing = unused.len();
            self.unused.extend(unused);
            if missing == 0 {
                break;
            }
            let questions = self.questions(stream, asked..asked + missing, tasks);
            let seed = seed.child("redraw", redraw as u64);
            let new = self.answer(round, asked as u32, questions, count, seed)?;
            self.own.extend(new);
            asked += missing;
        }
        Ok(())
    }

    /// Some of the questions of a stream.
    fn questions(&self, stream: Seed, which: Range<usize>, tasks: &Tasks) -> Vec<Question> {
        let seed = |i: usize| stream.child("question", i as u64);
        which
            .map(|i| tasks.question(&self.seat.tasks, Split::Training, seed(i)))
            .collect()
    }

    /// Own rollouts of questions, scored; their indices count from `first`.
    fn answer(
        &mut self,
        round: u32,
        first: u32,
        questions: Vec<Question>,
        count: usize,
        seed: Seed,
    ) -> Result<Vec<ScoredRollout>> {
        let questions = self.read(questions)?;
        let groups = self
            .seat
            .member
            .complete(&Asked::all(&questions), count, seed)?;
        let mut own = Vec::new();
        for (index, ((question, prompt), completions)) in
            (first..).zip(questions.into_iter().zip(groups))
        {
            let tokens = completions
                .iter()
                .map(|c| c.tokens.len() + prompt.tokens.len());
            self.num_tokens += tokens.sum::<usize>() as u64;
            let rewards = self.seat.reward.score(&question, &completions);
            let Some(rewards) = rewards.filter(|rewards| !rewards.is_empty()) else {
                continue;
            };
            let id = RolloutId {
                author: self.id,
                round,
                index,
            };
            own.push(ScoredRollout {
                rollout: Arc::new(Rollout {
                    id,
                    question,
                    completions,
                }),
                prompt,
                rewards,
            });
        }
        Ok(own)
    }

    /// The questions that its member can read; those that are too long are counted.
    fn read(&mut self, questions: Vec<Question>) -> Result<Vec<(Question, Prompt)>> {
        let mut readable = Vec::with_capacity(questions.len());
        for question in questions {
            match self.seat.member.prompt(&question) {
                Ok(prompt) => readable.push((question, prompt)),
                Err(Unreadable::TooLong { .. }) => self.overlong += 1,
                Err(Unreadable::Refused(why)) => {
                    bail!("agent {}: a question of {}: {why}", self.id, question.task)
                }
            }
        }
        Ok(readable)
    }

    /// Mean reward on given questions, one completion each; none when none of them can be asked.
    pub(super) fn evaluate(&mut self, round: u32, questions: &[Question]) -> Result<Option<f64>> {
        let questions = self.read(questions.to_vec())?;
        let seed = self.seed.child("evaluate", u64::from(round));
        let groups = self
            .seat
            .member
            .complete(&Asked::all(&questions), 1, seed)?;
        let mut rewards = Vec::new();
        for ((question, _), group) in questions.iter().zip(&groups) {
            rewards.extend(self.seat.reward.score(question, group).unwrap_or_default());
        }
        Ok((!rewards.is_empty()).then(|| mean(&rewards)))
    }

    /// Reads and scores the pool, draws, and updates. Returns the round's record.
    pub(super) fn learn(
        &mut self,
        round: u32,
        root: Seed,
        config: &SwarmConfig,
        tasks: &[String],
        pool: &[Delivery],
    ) -> RoundRecord {
        let delivered = pool.len();
        let Seat { member, reward, .. } = &mut self.seat;
        let pool = admit(
            pool,
            round,
            &config.limits,
            member.as_ref(),
            reward.as_mut(),
        );
        let arrival = root.child("arrival", u64::from(round));
        let drawn = self.draw(round, config, &pool, arrival);
        self.drawn = drawn.iter().map(|r| r.rollout.id).collect();
        let seed = self.seed.child("limit", u64::from(round));
        let set = training_set(&self.own, &drawn, config.signal_limit, seed);
        let own_now = |r: &&&ScoredRollout| {
            let id = r.rollout.id;
            id.author == self.id && id.round == round
        };
        let own = set.iter().filter(own_now).count();
        let seed = self.seed.child("update", u64::from(round));
        let stats = update(self.id, self.seat.member.as_mut(), &set, config, seed);
        let mut record = RoundRecord::new(round, self.id);
        record.add_trained(&set, own, &stats);
        self.sound = !stats.bad_weights;
        let (member, reward) = (self.seat.member.as_ref(), self.seat.reward.as_ref());
        record.add_generated(&self.own, &self.unused, member, reward, tasks);
        record.add_pool(&pool, delivered);
        record.shadows = self.shadows(round, config, &pool, arrival);
        record.num_tokens = self.num_tokens;
        record.overlong_prompts = std::mem::take(&mut self.overlong);
        if config.replay.rounds > 0 {
            let new = match config.replay.from {
                DrawFrom::Others => &pool,
                DrawFrom::Itself => &self.own,
            };
            self.memory.add(round, config.replay.rounds, new);
        }
        record
    }

    /// The external part of its training set.
    fn draw(
        &self,
        round: u32,
        config: &SwarmConfig,
        pool: &[ScoredRollout],
        arrival: Seed,
    ) -> Vec<ScoredRollout> {
        let from = match config.replay.rounds {
            0 => pool,
            _ => self.memory.rollouts(),
        };
        let rewards: Vec<&[f64]> = from.iter().map(|r| r.rewards.as_slice()).collect();
        let authors: Vec<AgentId> = from.iter().map(|r| r.rollout.id.author).collect();
        let seed = self.seed.child("draw", u64::from(round));
        let count = config.balance.external();
        let drawn = draw(config.selection, &rewards, &authors, count, arrival, seed);
        drawn.into_iter().map(|i| from[i].clone()).collect()
    }

    /// What other draws would have found, from all that it has generated and seen.
    fn shadows(
        &self,
        round: u32,
        config: &SwarmConfig,
        pool: &[ScoredRollout],
        arrival: Seed,
    ) -> Vec<ShadowReward> {
        let seed = self.seed.child("shadow", u64::from(round));
        let all = config.shadows.iter().zip(0..);
        all.map(|(shadow, i)| {
            let generated = self.own.iter().chain(&self.unused);
            shadow.reward(generated, pool, arrival, seed.child("draw", i))
        })
        .collect()
    }
}

/// Own rollouts and drawn ones, as far as the limit of signals lets them.
fn training_set<'a>(
    own: &'a [ScoredRollout],
    drawn: &'a [ScoredRollout],
    limit: SignalLimit,
    seed: Seed,
) -> Vec<&'a ScoredRollout> {
    let set: Vec<&ScoredRollout> = own.iter().chain(drawn).collect();
    match limit {
        SignalLimit::None => set,
        SignalLimit::Own => {
            let signal: Vec<bool> = set.iter().map(|r| r.has_signal()).collect();
            let most = own.iter().filter(|r| r.has_signal()).count();
            let kept = limited(&signal, most, seed);
            kept.into_iter().map(|i| set[i]).collect()
        }
    }
}

/// Lets a member learn from its training set; one that does not learn is left as it is.
fn update(
    id: AgentId,
    member: &mut dyn Responder,
    set: &[&ScoredRollout],
    config: &SwarmConfig,
    seed: Seed,
) -> UpdateStats {
    let Some(learner) = member.learner() else {
        return UpdateStats::default();
    };
    let rewards: Vec<&[f64]> = set.iter().map(|r| r.rewards.as_slice()).collect();
    let advantages = advantages(&rewards, config.scale_rewards);
    let training = set.iter().zip(advantages);
    let training: Vec<TrainingRollout<'_>> = training
        .map(|(scored, advantages)| TrainingRollout {
            scored,
            advantages,
            foreign: scored.rollout.id.author != id,
        })
        .collect();
    learner.update(&training, seed)
}
