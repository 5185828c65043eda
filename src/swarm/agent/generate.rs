//! What an agent asks itself in a round, and how it answers.

use super::Agent;
use crate::member::{Asked, Record, Unreadable};
use crate::reward::Reward;
use crate::rollout::{Prompt, Question, Rollout, RolloutId, ScoredRollout, mean};
use crate::seed::Seed;
use crate::swarm::asking::Source;
use crate::swarm::config::SwarmConfig;
use crate::swarm::questions::Tasks;
use crate::swarm::sampling::{Group, Sampling};
use anyhow::{Result, bail};
use std::sync::Arc;

impl Agent {
    /// Asks, completes and scores the own rollouts of a round.
    pub(in crate::swarm) fn generate(
        &mut self,
        round: u32,
        root: Seed,
        config: &SwarmConfig,
        tasks: &Tasks,
    ) -> Result<()> {
        self.own.clear();
        self.unused.clear();
        if let Some(brought) = self.seat.member.brings(round) {
            self.score(round, brought);
            return Ok(());
        }
        let proportions = self.seat.tasks.clone();
        let source = Source {
            ask: config.ask,
            tasks,
            proportions: &proportions,
            stream: Source::stream(config.questions, self.seed, root, round),
            seed: self.seed.child("ask", u64::from(round)),
        };
        let seed = self.seed.child("complete", u64::from(round));
        let mut asked = config.balance.of(round, self.signals).local;
        let questions = self.asker.first(asked, source);
        self.answer(round, 0, questions, config.sampling, seed)?;
        for redraw in 0..config.max_redraws {
            let missing = self.drop_silent(config.sampling);
            if missing == 0 {
                break;
            }
            let questions = self.asker.fresh(asked..asked + missing, source);
            let seed = seed.child("redraw", redraw as u64);
            self.answer(round, asked as u32, questions, config.sampling, seed)?;
            asked += missing;
        }
        Ok(())
    }

    /// Takes what its member has brought as its own, as far as it can judge it.
    fn score(&mut self, round: u32, brought: Vec<Record>) {
        for (index, (question, completions)) in (0..).zip(brought) {
            let rewards = self.seat.reward.score(&question, &completions);
            let Some(rewards) = rewards.filter(|rewards| !rewards.is_empty()) else {
                self.unanswered += 1;
                continue;
            };
            let id = RolloutId {
                author: self.id,
                round,
                index,
            };
            self.own.push(ScoredRollout {
                rollout: Arc::new(Rollout {
                    id,
                    question,
                    completions,
                }),
                prompt: Prompt::of_text(),
                rewards,
            });
        }
    }

    /// Completions of this round so far.
    fn generated(&self) -> usize {
        let all = self.own.iter().chain(&self.unused);
        all.map(|r| r.rewards.len()).sum()
    }

    /// Drops the own rollouts without a signal, as far as others may be asked for in their place; how many they were.
    fn drop_silent(&mut self, sampling: Sampling) -> usize {
        let most = sampling.questions_left(self.generated(), sampling.num_generations);
        let all = std::mem::take(&mut self.own).into_iter();
        let (kept, mut silent): (_, Vec<_>) = all.partition(ScoredRollout::has_signal);
        self.own = kept;
        let dropped = most.min(silent.len());
        self.own.extend(silent.split_off(dropped));
        self.unused.extend(silent);
        dropped
    }

    /// Adds own rollouts of questions, scored; their indices count from `first`.
    fn answer(
        &mut self,
        round: u32,
        first: u32,
        questions: Vec<Question>,
        sampling: Sampling,
        seed: Seed,
    ) -> Result<()> {
        let questions = self.read(questions)?;
        let groups = self.groups(&questions, sampling, seed)?;
        let all = questions.into_iter().zip(groups);
        for (index, ((question, prompt), group)) in (first..).zip(all) {
            self.unanswered += usize::from(group.rewards.is_empty());
            let (kept, rest) = group.split(sampling.num_generations);
            for (place, group) in [(&mut self.own, kept), (&mut self.unused, rest)] {
                if group.rewards.is_empty() {
                    continue;
                }
                let id = RolloutId {
                    author: self.id,
                    round,
                    index,
                };
                place.push(ScoredRollout {
                    rollout: Arc::new(Rollout {
                        id,
                        question: question.clone(),
                        completions: group.completions,
                    }),
                    prompt: prompt.clone(),
                    rewards: group.rewards,
                });
            }
        }
        Ok(())
    }

    /// The completions of each question and their rewards; none where they cannot be scored.
    fn groups(
        &mut self,
        questions: &[(Question, Prompt)],
        sampling: Sampling,
        seed: Seed,
    ) -> Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        groups.resize_with(questions.len(), Group::default);
        let step = match sampling.at_a_time {
            0 => sampling.num_generations,
            step => step,
        };
        let most = sampling.most_of_a_question();
        for turn in 0..most.div_ceil(step) {
            let count = step.min(most - turn * step);
            let generated =
                self.generated() + groups.iter().map(|g| g.rewards.len()).sum::<usize>();
            let left = match turn {
                0 => usize::MAX,
                _ => sampling.questions_left(generated, count),
            };
            let is_open = |g: &Group| g.rewards.len() == turn * step && !g.is_divided();
            let open = (0..groups.len()).filter(|&i| is_open(&groups[i]));
            let open: Vec<usize> = open.take(left).collect();
            let asked: Vec<(Question, Prompt)> =
                open.iter().map(|&i| questions[i].clone()).collect();
            let seed = match turn {
                0 => seed,
                _ => seed.child("turn", turn as u64),
            };
            for (i, group) in open.into_iter().zip(self.complete(&asked, count, seed)?) {
                groups[i].completions.extend(group.completions);
                groups[i].rewards.extend(group.rewards);
            }
        }
        Ok(groups)
    }

    /// `count` completions of each question and their rewards; an empty group where they cannot be scored.
    fn complete(
        &mut self,
        questions: &[(Question, Prompt)],
        count: usize,
        seed: Seed,
    ) -> Result<Vec<Group>> {
        let member = &mut self.seat.member;
        let answers = member.complete(&Asked::all(questions), count, seed)?;
        let mut groups = Vec::with_capacity(questions.len());
        for ((question, prompt), completions) in questions.iter().zip(answers) {
            let tokens = completions
                .iter()
                .map(|c| c.tokens.len() + prompt.tokens.len());
            self.num_tokens += tokens.sum::<usize>() as u64;
            let rewards = self.seat.reward.score(question, &completions);
            groups.push(rewards.map_or_else(Group::default, |rewards| Group {
                completions,
                rewards,
            }));
        }
        Ok(groups)
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

    /// What a judge gives its one answer to a question; none where it cannot be asked.
    pub(in crate::swarm) fn judged(
        &mut self,
        round: u32,
        question: &Question,
        judge: &mut dyn Reward,
    ) -> Result<Option<f64>> {
        if !self.seat.member.is_examined() {
            return Ok(None);
        }
        let questions = self.read(vec![question.clone()])?;
        let seed = self.seed.child("judge", u64::from(round));
        let asked = Asked::all(&questions);
        let mut groups = self.seat.member.complete(&asked, 1, seed)?;
        let answer = groups.pop().unwrap_or_default();
        let rewards = judge.score(question, &answer).unwrap_or_default();
        Ok(rewards.first().copied())
    }

    /// Mean reward on given questions, one completion each; none when none of them can be asked.
    pub(in crate::swarm) fn evaluate(
        &mut self,
        round: u32,
        questions: &[Question],
    ) -> Result<Option<f64>> {
        if !self.seat.member.is_examined() {
            return Ok(None);
        }
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
}
