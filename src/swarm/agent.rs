//! One member of the swarm: its policy, its seed, and its part of a round.

use super::admit::{admit, scored};
use super::draw::draw;
use super::questions::{Split, Tasks};
use super::{QuestionStream, SwarmConfig};
use crate::model::weights;
use crate::policy::{Policy, TrainingRollout, UpdateStats};
use crate::record::RoundRecord;
use crate::rollout::{AgentId, Completion, FinishReason, Question, Rollout, advantages, mean};
use crate::seed::Seed;
use std::ops::Range;
use std::path::Path;

/// One member of the swarm.
pub struct Agent {
    id: AgentId,
    policy: Box<dyn Policy>,
    /// Of the agent: everything it does is drawn from here.
    seed: Seed,
    /// This round's own rollouts, with tokens and rewards.
    own: Vec<Rollout>,
    /// Own rollouts of this round that were dropped for want of a signal.
    unused: Vec<Rollout>,
    num_tokens: u64,
    /// Questions of this round left out because their prompts are too long.
    overlong: usize,
    /// Author and index of the rollouts of others that it learned from this round.
    drawn: Vec<(AgentId, u32)>,
    /// False after an update that left a weight that is not finite.
    sound: bool,
}

impl Agent {
    pub(super) fn new(id: AgentId, policy: Box<dyn Policy>, seed: Seed) -> Self {
        Self {
            id,
            policy,
            seed,
            own: Vec::new(),
            unused: Vec::new(),
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

    /// Its policy.
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }

    /// This round's own rollouts.
    pub fn own(&self) -> &[Rollout] {
        &self.own
    }

    /// Author and index of the rollouts of others that it learned from this round.
    pub fn drawn(&self) -> &[(AgentId, u32)] {
        &self.drawn
    }

    /// What it shows the others of its rollouts.
    pub(super) fn shared(&self) -> Vec<Rollout> {
        self.policy.share(&self.own)
    }

    /// False after an update that left a weight that is not finite.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// Writes what it must remember to go on after a restart into an empty folder; returns the tokens
    /// that it has generated.
    pub(super) fn save(&self, dir: &Path) -> Result<u64, weights::Error> {
        self.policy.save(dir)?;
        Ok(self.num_tokens)
    }

    /// Goes on from there.
    pub(super) fn restore(&mut self, dir: &Path, num_tokens: u64) -> Result<(), weights::Error> {
        self.num_tokens = num_tokens;
        self.policy.restore(dir)
    }

    /// Asks, completes and scores the own rollouts of a round.
    pub(super) fn generate(&mut self, round: u32, root: Seed, config: &SwarmConfig, tasks: &Tasks) {
        let stream = match config.questions {
            QuestionStream::Independent => self.seed,
            QuestionStream::Shared => root,
        };
        let stream = stream.child("questions", u64::from(round));
        let seed = self.seed.child("complete", u64::from(round));
        let mut asked = config.mix.local;
        self.own = self.answer(stream, 0..asked, seed, config, tasks);
        self.unused.clear();
        for redraw in 0..config.max_redraws {
            let (kept, unused) = std::mem::take(&mut self.own)
                .into_iter()
                .partition(Rollout::has_signal);
            self.own = kept;
            let unused: Vec<Rollout> = unused;
            let missing = unused.len();
            self.unused.extend(unused);
            if missing == 0 {
                break;
            }
            let new = self.answer(
                stream,
                asked..asked + missing,
                seed.child("redraw", redraw as u64),
                config,
                tasks,
            );
            self.own.extend(new);
            asked += missing;
        }
    }

    /// Own rollouts of some of the questions of a stream, scored.
    fn answer(
        &mut self,
        stream: Seed,
        which: Range<usize>,
        seed: Seed,
        config: &SwarmConfig,
        tasks: &Tasks,
    ) -> Vec<Rollout> {
        let weights = config.specialists.get(&self.id).unwrap_or(tasks.weights());
        let ask =
            |i: usize| tasks.question(weights, Split::Training, stream.child("question", i as u64));
        let first = which.start;
        let (questions, lengths): (Vec<_>, Vec<_>) =
            self.askable(which.map(ask)).into_iter().unzip();
        let groups =
            self.policy
                .complete(&questions, config.num_generations, &config.decoding, seed);
        let generated = lengths.iter().zip(&groups).flat_map(|(prompt, group)| {
            group
                .iter()
                .map(move |completion| (completion.tokens.len() + prompt) as u64)
        });
        self.num_tokens += generated.sum::<u64>();
        let rollout = |(i, (question, completions)): (usize, (Question, Vec<Completion>))| {
            let index = (first + i) as u32;
            let rollout = Rollout {
                author: self.id,
                index,
                question,
                completions,
                rewards: Vec::new(),
            };
            scored(rollout, tasks)
        };
        questions
            .into_iter()
            .zip(groups)
            .enumerate()
            .filter_map(rollout)
            .collect()
    }

    /// The questions whose prompts its model can read, and the tokens of those; the others are counted.
    fn askable(&mut self, questions: impl Iterator<Item = Question>) -> Vec<(Question, usize)> {
        let mut askable = Vec::new();
        for question in questions {
            match self.policy.prompt_length(&question) {
                Some(length) => askable.push((question, length)),
                None => self.overlong += 1,
            }
        }
        askable
    }

    /// Mean reward on given questions, one completion each; none when none of them can be asked.
    pub(super) fn evaluate(
        &mut self,
        round: u32,
        questions: &[Question],
        config: &SwarmConfig,
        tasks: &Tasks,
    ) -> Option<f64> {
        let questions: Vec<Question> = self
            .askable(questions.iter().cloned())
            .into_iter()
            .map(|(q, _)| q)
            .collect();
        let seed = self.seed.child("evaluate", u64::from(round));
        let groups = self.policy.complete(&questions, 1, &config.decoding, seed);
        let scores = questions.iter().zip(&groups).flat_map(|(question, group)| {
            group.iter().map(|c| {
                tasks
                    .score(question, &c.text)
                    .expect("the swarm has the tasks that it asks")
            })
        });
        some_mean(scores)
    }

    /// Scores the pool with its own verifiers, draws, and updates. Returns the round's record.
    pub(super) fn learn(
        &mut self,
        round: u32,
        root: Seed,
        config: &SwarmConfig,
        tasks: &Tasks,
        pool: &[&Rollout],
    ) -> RoundRecord {
        let published = pool.len();
        let pool = admit(pool, tasks, config.mix.local);
        let rewards: Vec<&[f64]> = pool.iter().map(|r| r.rewards.as_slice()).collect();
        let authors: Vec<u16> = pool.iter().map(|r| r.author.0).collect();
        let arrival = root.child("arrival", u64::from(round));
        let seed = self.seed.child("draw", u64::from(round));
        let drawn = draw(
            config.selection,
            &rewards,
            &authors,
            config.mix.external,
            arrival,
            seed,
        );
        let external: Vec<&Rollout> = drawn.iter().map(|&i| &pool[i]).collect();
        let readable = |rollout: &&Rollout| self.policy.prompt_length(&rollout.question).is_some();
        let (external, unreadable): (Vec<_>, Vec<_>) = external.into_iter().partition(readable);
        let dropped = published - pool.len() + unreadable.len();

        let set: Vec<&Rollout> = self.own.iter().chain(external.iter().copied()).collect();
        let rewards: Vec<&[f64]> = set.iter().map(|r| r.rewards.as_slice()).collect();
        let advantages = advantages(&rewards, config.scale_rewards);
        let training: Vec<TrainingRollout<'_>> = set
            .iter()
            .zip(advantages)
            .map(|(rollout, advantages)| TrainingRollout {
                rollout,
                advantages,
                foreign: rollout.author != self.id,
            })
            .collect();
        let stats = self.policy.update(
            &training,
            &config.decoding,
            self.seed.child("update", u64::from(round)),
        );
        self.sound = !stats.bad_weights;
        self.drawn = external
            .iter()
            .map(|rollout| (rollout.author, rollout.index))
            .collect();
        let record = self.record(round, tasks, &set, &pool, &stats);
        self.overlong = 0;
        RoundRecord {
            pool_dropped: dropped,
            ..record
        }
    }

    fn record(
        &self,
        round: u32,
        tasks: &Tasks,
        set: &[&Rollout],
        pool: &[Rollout],
        stats: &UpdateStats,
    ) -> RoundRecord {
        // all that it generated, used or not: a reward of what was kept would be one of the selection
        let generated = || self.own.iter().chain(&self.unused);
        let completions: Vec<&Completion> = generated().flat_map(|r| &r.completions).collect();
        let tokens = || completions.iter().flat_map(|c| &c.tokens);
        let share = |count: usize, of: usize| (of > 0).then(|| count as f64 / of as f64);
        let count = completions.len();
        let of_task = |name: &String| {
            let rollouts = generated().filter(|r| r.question.task == *name);
            some_mean(rollouts.flat_map(|r| r.rewards.iter().copied()))
        };
        RoundRecord {
            round,
            agent: self.id.0,
            own_reward: some_mean(generated().flat_map(|r| r.rewards.iter().copied())),
            train_reward: some_mean(set.iter().flat_map(|r| r.rewards.iter().copied())),
            eval_reward: None,
            frac_reward_zero_std: share(set.iter().filter(|r| !r.has_signal()).count(), set.len()),
            own_groups: self.own.len(),
            external_groups: set.len() - self.own.len(),
            pool_groups: pool.len(),
            pool_dropped: 0,
            pool_nonzero_frac: share(pool.iter().filter(|r| r.has_signal()).count(), pool.len()),
            loss: stats.loss,
            grad_norm: stats.grad_norm,
            steps: stats.steps,
            bad_updates: stats.bad_steps,
            entropy: some_mean(tokens().map(|t| f64::from(t.entropy))),
            clip_ratio: stats.clip_ratio,
            kl: stats.kl,
            own_logp: some_mean(tokens().map(|t| f64::from(t.logprob))),
            foreign_logp: stats.foreign_logp,
            reencode_mismatch_frac: share(
                completions
                    .iter()
                    .filter(|c| self.policy.reencodes_differently(c))
                    .count(),
                count,
            ),
            overlong_prompts: self.overlong,
            completions: count,
            completion_length: share(completions.iter().map(|c| c.tokens.len()).sum(), count),
            clipped_completions: share(
                completions
                    .iter()
                    .filter(|c| c.finish_reason == FinishReason::Length)
                    .count(),
                count,
            ),
            num_tokens: self.num_tokens,
            task_rewards: tasks.names().iter().map(of_task).collect(),
        }
    }
}

fn some_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| mean(&values))
}
