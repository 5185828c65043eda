//! The nouns of the swarm: questions, completions, rollouts.
//!
//! Plain data and plain floats: nothing here knows a tensor, a tokenizer or a file.

use crate::seed::Seed;
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
    /// From which its task makes it again; none where it was given or its task is not known.
    pub seed: Option<Seed>,
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

/// What an author tells of the log-probs of a completion under its own policy, at the temperature of generation
/// (nats, 0 or less).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthorLogprobs {
    /// Nothing, as in the paper.
    #[default]
    Untold,
    /// Their sum over all tokens, end-of-sequence included.
    Sequence(f32),
    /// That of every token.
    Token {
        /// Who has a tokenizer of this fingerprint encodes the text to the tokens that these belong to.
        tokenizer: u64,
        /// One for each of them.
        logprobs: Vec<f32>,
    },
}

impl AuthorLogprobs {
    /// Whether there are none.
    pub fn is_untold(&self) -> bool {
        *self == Self::Untold
    }

    /// As one with this tokenizer can use it, whose encoding of the text has so many tokens: log-probs of other
    /// tokens are worth no more than their sum.
    #[must_use]
    pub fn read_by(&self, reader: u64, tokens: usize) -> Self {
        match self {
            Self::Token {
                tokenizer,
                logprobs,
            } if *tokenizer != reader || logprobs.len() != tokens => {
                Self::Sequence(logprobs.iter().sum())
            }
            told => told.clone(),
        }
    }
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
    /// What travels of its log-probs; nothing of an own one, whose tokens have them.
    pub logprobs: AuthorLogprobs,
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
    /// and, unless they are added, log-probs stay at home.
    #[must_use]
    pub fn shared(&self) -> Self {
        let strip = |completion: &Completion| Completion {
            text: completion.text.clone(),
            finish_reason: completion.finish_reason,
            tokens: Vec::new(),
            logprobs: AuthorLogprobs::Untold,
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

impl Prompt {
    /// Of a member that reads text.
    pub fn of_text() -> Self {
        Self {
            tokens: Arc::new([]),
        }
    }
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

    #[test]
    fn log_probs_of_other_tokens_are_worth_their_sum() {
        let told = AuthorLogprobs::Token {
            tokenizer: 7,
            logprobs: [-1.0, -2.0].into(),
        };
        assert_eq!(told.read_by(7, 2), told);
        assert_eq!(told.read_by(8, 2), AuthorLogprobs::Sequence(-3.0));
        assert_eq!(told.read_by(7, 3), AuthorLogprobs::Sequence(-3.0));
        assert_eq!(AuthorLogprobs::Untold.read_by(7, 2), AuthorLogprobs::Untold);
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
            logprobs: AuthorLogprobs::Untold,
        };
        let question = Question {
            task: "t".into(),
            text: "q".into(),
            answer: None,
            metadata: Map::new().into(),
            seed: None,
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
