//! What an agent takes from the others in a round, and what it learns from.

use super::{Agent, Seat};
use crate::advantage::{RewardGroup, advantages};
use crate::bus::Delivery;
use crate::member::{Responder, TrainingRollout, UpdateStats};
use crate::rollout::{AgentId, Completion, RolloutId, ScoredRollout};
use crate::seed::Seed;
use crate::swarm::admit::admit;
use crate::swarm::config::SwarmConfig;
use crate::swarm::metrics::RoundRecord;
use crate::swarm::questions::Tasks;
use crate::swarm::selection::DrawFrom;
use crate::swarm::shadow::ShadowReward;
use crate::swarm::training_set::{Sources, TrainingSet};

impl Agent {
    /// Reads and scores the pool, draws, and updates. Returns the round's record.
    pub(in crate::swarm) fn learn(
        &mut self,
        round: u32,
        root: Seed,
        config: &SwarmConfig,
        all_tasks: &Tasks,
        tasks: &[String],
        pool: &[Delivery],
    ) -> RoundRecord {
        let delivered = pool.len();
        let Seat { member, reward, .. } = &mut self.seat;
        let pool = admit(
            pool,
            round,
            config,
            all_tasks,
            member.as_ref(),
            reward.as_mut(),
        );
        let arrival = root.child("arrival", u64::from(round));
        let seed = |name: &str| self.seed.child(name, u64::from(round));
        let sources = Sources {
            config,
            mix: config.balance.of(round, self.signals),
            own: &self.own,
            pool: &pool,
            memory: &self.memory,
            arrival,
            seed: &seed,
        };
        let TrainingSet {
            rollouts: set,
            drawn,
        } = sources.training_set();
        self.drawn = drawn;
        let stats = update(
            self.id,
            self.seat.member.as_mut(),
            &set,
            config,
            self.seed.child("update", u64::from(round)),
        );
        let mut record = RoundRecord::new(round, self.id);
        record.add_trained(&set, &stats);
        self.sound = !stats.bad_weights;
        self.global_step = stats.global_step;
        let (member, reward) = (self.seat.member.as_ref(), self.seat.reward.as_ref());
        record.add_generated(&self.own, &self.unused, member, reward, tasks);
        record.payload_frac = self.share_with(config.payload);
        record.add_pool(&pool, delivered);
        record.shadows = self.shadows(round, config, &pool, arrival);
        record.num_tokens = self.num_tokens;
        record.overlong_prompts = std::mem::take(&mut self.overlong);
        record.unanswered = std::mem::take(&mut self.unanswered);
        self.remember(round, config, tasks, &pool, &set);
        record
    }

    /// Takes in what the round has shown it, for the rounds to come.
    fn remember(
        &mut self,
        round: u32,
        config: &SwarmConfig,
        tasks: &[String],
        pool: &[ScoredRollout],
        set: &[ScoredRollout],
    ) {
        if config.replay.rounds > 0 {
            let new = match config.replay.from {
                DrawFrom::Others | DrawFrom::OthersAndMemory => pool,
                DrawFrom::Itself => &self.own,
            };
            let used: Vec<RolloutId> = set.iter().map(|r| r.rollout.id).collect();
            self.memory.add(round, config.replay.rounds, new, &used);
        }
        let generated: Vec<&ScoredRollout> = self.own.iter().chain(&self.unused).collect();
        let with = generated.iter().filter(|r| r.has_signal()).count();
        self.signals.add(with, generated.len());
        let Seat { member, reward, .. } = &mut self.seat;
        self.notes = member.take_notes();
        self.notes.extend(reward.take_notes());
        self.asker.learn(round, config.ask, tasks, &generated, pool);
    }

    /// The share of its completions of this round that have these words in them.
    fn share_with(&self, words: Option<&str>) -> Option<f64> {
        let words = words?;
        let generated = self.own.iter().chain(&self.unused);
        let all: Vec<&Completion> = generated.flat_map(|r| &r.rollout.completions).collect();
        let with = all
            .iter()
            .filter(|completion| completion.text.contains(words))
            .count();
        (!all.is_empty()).then(|| with as f64 / all.len() as f64)
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

/// Lets a member learn from its training set; one that does not learn is left as it is.
fn update(
    id: AgentId,
    member: &mut dyn Responder,
    set: &[ScoredRollout],
    config: &SwarmConfig,
    seed: Seed,
) -> UpdateStats {
    let Some(learner) = member.learner() else {
        return UpdateStats::default();
    };
    let foreign = |scored: &ScoredRollout| scored.rollout.id.author != id;
    let lean = |scored| {
        if foreign(scored) {
            config.foreign_lean
        } else {
            0.0
        }
    };
    let groups = set.iter().map(|scored| RewardGroup {
        rewards: &scored.rewards,
        lean: lean(scored),
    });
    let groups: Vec<RewardGroup<'_>> = groups.collect();
    let advantages = advantages(&groups, config.scale_rewards);
    let training = set.iter().zip(advantages);
    let training: Vec<TrainingRollout<'_>> = training
        .map(|(scored, advantages)| TrainingRollout {
            scored,
            advantages,
            foreign: foreign(scored),
        })
        .collect();
    learner.update(&training, seed)
}
