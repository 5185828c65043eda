//! The nouns of the swarm: questions, completions, rollouts, and the advantages of a group.
//!
//! Plain data and plain floats: nothing here knows a tensor, a tokenizer or a file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// One seat of the swarm, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(pub u16);

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Text, ground truth and metadata of one task instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Registered name of the task that made it.
    pub task: Cow<'static, str>,
    /// What the model is asked.
    pub text: String,
    /// The ground truth, where the task has a single one.
    pub answer: Option<String>,
    /// What the scorer needs, and where the question came from.
    pub metadata: Metadata,
}

/// A JSON object. One that a task makes is made when it is first read: training reads most of them
/// never, and they cost more than the question itself. Copies share it.
#[derive(Clone)]
pub enum Metadata {
    /// What a task of this program will make.
    Later(Arc<dyn Deref<Target = Map<String, Value>> + Send + Sync>),
    /// What came from elsewhere, and may hold anything.
    Given(Arc<Map<String, Value>>),
}

impl Metadata {
    /// What `make` will return.
    pub fn later(make: impl FnOnce() -> Map<String, Value> + Send + 'static) -> Self {
        Self::Later(Arc::new(LazyLock::new(make)))
    }
}

impl From<Map<String, Value>> for Metadata {
    fn from(map: Map<String, Value>) -> Self {
        Self::Given(Arc::new(map))
    }
}

impl Deref for Metadata {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Later(made) => made,
            Self::Given(map) => map,
        }
    }
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Why a completion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FinishReason {
    /// The member ended it with an end-of-sequence token.
    Stop,
    /// It was cut off at the longest length allowed.
    Length,
}

/// A token that a member generated, as it was at that moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    /// Index in the vocabulary.
    pub id: u32,
    /// Its log-probability at the temperature of generation (nats).
    pub logprob: f32,
    /// Entropy of the distribution that it was drawn from (nats).
    pub entropy: f32,
}

/// One answer of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// The decoded text, without the end-of-sequence token.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// The tokens as generated, end-of-sequence included; empty for another agent's completion.
    pub tokens: Vec<Token>,
}

/// The name of a rollout. Their order is that in which readers see a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RolloutId {
    /// Who generated the completions.
    pub author: AgentId,
    /// The round in which it did, counted from 1.
    pub round: u32,
    /// Position among the author's rollouts of that round.
    pub index: u32,
}

/// One question with its whole group of completions.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Its name.
    pub id: RolloutId,
    /// What was asked.
    pub question: Question,
    /// The group.
    pub completions: Vec<Completion>,
}

impl Rollout {
    /// What travels over the bus (paper, section 3): the question and the decoded text. Token ids
    /// and log-probs stay at home.
    #[must_use]
    pub fn shared(&self) -> Self {
        let strip = |completion: &Completion| Completion {
            text: completion.text.clone(),
            finish_reason: completion.finish_reason,
            tokens: Vec::new(),
        };
        Self {
            id: self.id,
            question: self.question.clone(),
            completions: self.completions.iter().map(strip).collect(),
        }
    }
}

/// A question as one member reads it: rendered and encoded once, when it is asked or admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Token ids; none for a member that reads text.
    pub tokens: Arc<[u32]>,
}

/// A rollout in the hands of one agent: with its own reading of the question and its own rewards.
#[derive(Clone, Debug)]
pub struct ScoredRollout {
    /// The rollout, its author's or its own.
    pub rollout: Arc<Rollout>,
    /// The question as this agent reads it.
    pub prompt: Prompt,
    /// One reward per completion.
    pub rewards: Vec<f64>,
}

impl ScoredRollout {
    /// True when the rewards differ, so that some advantage is not zero.
    pub fn has_signal(&self) -> bool {
        self.rewards.iter().any(|r| *r != self.rewards[0])
    }
}

/// How advantages are scaled (TRL's `scale_rewards`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleRewards {
    /// By the standard deviation of the rewards of the group.
    Group,
    /// By the standard deviation of all rewards of the training set.
    Batch,
    /// Not at all.
    None,
}

/// Added to the standard deviation (GenRL).
const ADVANTAGE_EPSILON: f64 = 1e-8;

/// Advantages of the training set, one list per group: the reward minus the mean of its group, over
/// the standard deviation (two passes, `n - 1` degrees of freedom) plus 1e-8.
///
/// A group whose rewards are all equal, and a group of one, have advantage exactly 0.
pub fn advantages(groups: &[&[f64]], scale: ScaleRewards) -> Vec<Vec<f64>> {
    let all: Vec<f64> = groups.iter().flat_map(|g| g.iter().copied()).collect();
    let batch_std = std(&all);
    let of_group = |group: &&[f64]| {
        if group.iter().all(|r| *r == group[0]) {
            return vec![0.0; group.len()];
        }
        let mean = mean(group);
        let divisor = match scale {
            ScaleRewards::Group => std(group) + ADVANTAGE_EPSILON,
            ScaleRewards::Batch => batch_std + ADVANTAGE_EPSILON,
            ScaleRewards::None => 1.0,
        };
        group.iter().map(|r| (r - mean) / divisor).collect()
    };
    groups.iter().map(of_group).collect()
}

/// The mean, 0 for an empty list.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Standard deviation with `n - 1` degrees of freedom, in two passes; 0 for fewer than two values.
pub fn std(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rewards: &[f64], scale: ScaleRewards, expected: &[f64]) {
        let got = advantages(&[rewards], scale).remove(0);
        assert_eq!(got.len(), expected.len());
        for (a, b) in got.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{got:?} is not {expected:?}");
        }
    }

    #[test]
    fn group_advantages_by_hand() {
        // mean 0.5, std sqrt(1/3) with ddof 1
        check(
            &[1.0, 0.0, 1.0, 0.0],
            ScaleRewards::Group,
            &[0.866_025, -0.866_025, 0.866_025, -0.866_025],
        );
        check(
            &[1.0, 0.0, 1.0, 0.0],
            ScaleRewards::None,
            &[0.5, -0.5, 0.5, -0.5],
        );
        let one_of_eight = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!((advantages(&[&one_of_eight], ScaleRewards::Group)[0][0] - 2.474_87).abs() < 1e-4);
    }

    #[test]
    fn batch_scale_uses_every_reward() {
        // all rewards: 1, 0, 0, 0; mean 0.25, std 0.5
        let got = advantages(&[&[1.0, 0.0], &[0.0, 0.0]], ScaleRewards::Batch);
        assert!((got[0][0] - 1.0).abs() < 1e-6 && (got[0][1] + 1.0).abs() < 1e-6);
        assert_eq!(got[1], [0.0, 0.0]);
    }

    #[test]
    fn close_rewards_do_not_cancel() {
        // E[x²] - E[x]² would lose these in rounding; two passes in f64 do not.
        check(
            &[1.0, 1.000_01],
            ScaleRewards::Group,
            &[-0.706_108, 0.706_108],
        );
    }

    #[test]
    fn no_signal_is_exactly_zero_and_never_large() {
        for scale in [ScaleRewards::Group, ScaleRewards::Batch, ScaleRewards::None] {
            check(&[0.3; 8], scale, &[0.0; 8]);
            check(&[0.7], scale, &[0.0]);
            check(&[], scale, &[]);
        }
        for tiny in [1e-3, 1e-9, 1e-15] {
            let group = [0.1 + tiny, 0.1, 0.1, 0.1];
            let got = advantages(&[&group], ScaleRewards::Group).remove(0);
            assert!(got.iter().all(|a| a.abs() <= 2.0), "{got:?}");
        }
    }

    #[test]
    fn sharing_strips_what_must_not_travel() {
        let token = Token {
            id: 3,
            logprob: -0.5,
            entropy: 0.1,
        };
        let completion = Completion {
            text: "\u{2028} a\0".into(),
            finish_reason: FinishReason::Stop,
            tokens: vec![token],
        };
        let question = Question {
            task: "t".into(),
            text: "q".into(),
            answer: None,
            metadata: Map::new().into(),
        };
        let id = RolloutId {
            author: AgentId(1),
            round: 1,
            index: 0,
        };
        let rollout = Rollout {
            id,
            question,
            completions: vec![completion],
        };
        let shared = rollout.shared();
        assert!(shared.id == id && shared.completions[0].tokens.is_empty());
        assert_eq!(shared.completions[0].text, "\u{2028} a\0");
    }
}
