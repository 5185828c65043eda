//! What travels between agents, and how much of it: a rollout as one JSON message with a version.
//!
//! [`Limits`] follow from the experiment: nobody who answers its questions as it says can exceed
//! them, so what does is refused before it costs anything. They bind whatever the bus is.

use crate::rollout::{
    AuthorLogprobs, Completion, FinishReason, Metadata, Question, Rollout, RolloutId,
};
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the format, in every message. Since version 2 a completion may bring log-probs, since version 3 a
/// question its seed.
pub const VERSION: u32 = 3;
/// The oldest version that is read.
const OLDEST: u32 = 1;

/// Longest name, ground truth or text in the metadata of a question, in bytes.
const LONGEST_TEXT: usize = 1 << 16;
/// Most values in the metadata of a question.
const MOST_VALUES: usize = 1 << 14;
/// Deepest nesting of them.
const DEEPEST: usize = 32;

/// Why a rollout is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is in another version of the format.
    #[error("version: found {0}, expected {OLDEST} to {VERSION}")]
    Version(u32),
    /// It is no message at all.
    #[error("malformed: {0}")]
    Malformed(String),
    /// A part of it is larger or more than the experiment allows.
    #[error("{what}: found {found}, expected at most {most}")]
    TooMuch {
        /// The part.
        what: &'static str,
        /// How much it is.
        found: usize,
        /// How much it may be.
        most: usize,
    },
    /// It has a log-prob that cannot be one.
    #[error("log-probs: found {0}, expected finite numbers of 0 or less")]
    Logprob(String),
    /// It has no completion.
    #[error("completions: found none")]
    Empty,
}

/// How much a sender may publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rollouts of a sender in a round: the largest I of the experiment.
    pub rollouts: usize,
    /// Completions of a rollout: `num_generations`.
    pub completions: usize,
    /// Bytes of a completion: as long as `max_completion_length` tokens can be.
    pub completion_bytes: usize,
    /// Bytes of a question: as long as the tokens of the longest prompt can be.
    pub question_bytes: usize,
}

impl Limits {
    /// # Errors
    /// When the rollout is larger than anything that the experiment makes.
    pub fn check(&self, rollout: &Rollout) -> Result<(), Refusal> {
        let (question, completions) = (&rollout.question, &rollout.completions);
        if completions.is_empty() {
            return Err(Refusal::Empty);
        }
        at_most("completions", completions.len(), self.completions)?;
        for completion in completions {
            let bytes = completion.text.len();
            at_most("bytes of a completion", bytes, self.completion_bytes)?;
            self.check_logprobs(&completion.logprobs)?;
        }
        at_most("bytes of the task", question.task.len(), LONGEST_TEXT)?;
        at_most(
            "bytes of the question",
            question.text.len(),
            self.question_bytes,
        )?;
        let answer = question.answer.as_ref().map_or(0, String::len);
        at_most("bytes of the answer", answer, LONGEST_TEXT)?;
        match &question.metadata {
            // made by a task of this program, when a verifier reads it
            Metadata::Later(_) => Ok(()),
            Metadata::Given(map) => check_map(map, &mut 0, 1),
        }
    }
}

impl Limits {
    fn check_logprobs(&self, told: &AuthorLogprobs) -> Result<(), Refusal> {
        let all = match told {
            AuthorLogprobs::Untold => return Ok(()),
            AuthorLogprobs::Sequence(sum) => std::slice::from_ref(sum),
            AuthorLogprobs::Token { logprobs, .. } => &logprobs[..],
        };
        // the shortest token is a byte long, but for that of the end
        at_most(
            "log-probs of a completion",
            all.len(),
            self.completion_bytes + 1,
        )?;
        let wrong = |logprob: &&f32| !(logprob.is_finite() && **logprob <= 0.0);
        all.iter()
            .find(wrong)
            .map_or(Ok(()), |&found| Err(Refusal::Logprob(found.to_string())))
    }
}

fn at_most(what: &'static str, found: usize, most: usize) -> Result<(), Refusal> {
    if found <= most {
        return Ok(());
    }
    Err(Refusal::TooMuch { what, found, most })
}

/// Counts the values of a map in `seen` and looks at their size and depth.
fn check_map(map: &Map<String, Value>, seen: &mut usize, depth: usize) -> Result<(), Refusal> {
    map.iter().try_for_each(|(key, value)| {
        at_most("bytes of a metadata key", key.len(), LONGEST_TEXT)?;
        check_value(value, seen, depth)
    })
}

fn check_value(value: &Value, seen: &mut usize, depth: usize) -> Result<(), Refusal> {
    *seen += 1;
    at_most("metadata values", *seen, MOST_VALUES)?;
    at_most("metadata levels", depth, DEEPEST)?;
    match value {
        Value::String(text) => at_most("bytes of a metadata text", text.len(), LONGEST_TEXT),
        Value::Array(list) => list
            .iter()
            .try_for_each(|value| check_value(value, seen, depth + 1)),
        Value::Object(map) => check_map(map, seen, depth + 1),
        _ => Ok(()),
    }
}

/// A rollout on its way.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    version: u32,
    id: RolloutId,
    task: String,
    question: String,
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<Seed>,
    metadata: Map<String, Value>,
    completions: Vec<Answer>,
}

/// A completion on its way.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    text: String,
    finish_reason: FinishReason,
    #[serde(default, skip_serializing_if = "AuthorLogprobs::is_untold")]
    logprobs: AuthorLogprobs,
}

/// The message of a rollout: the question and the decoded text, no tokens; log-probs where its author tells them.
///
/// # Errors
/// When the metadata holds what JSON cannot.
pub fn encode(rollout: &Rollout) -> Result<Vec<u8>, serde_json::Error> {
    let answer = |completion: &Completion| Answer {
        text: completion.text.clone(),
        finish_reason: completion.finish_reason,
        logprobs: completion.logprobs.clone(),
    };
    let question = &rollout.question;
    serde_json::to_vec(&Message {
        version: VERSION,
        id: rollout.id,
        task: question.task.to_string(),
        question: question.text.clone(),
        answer: question.answer.clone(),
        seed: question.seed,
        metadata: Map::clone(&question.metadata),
        completions: rollout.completions.iter().map(answer).collect(),
    })
}

/// The rollout of a message that respects the limits.
///
/// # Errors
/// When it is malformed, in another version, or larger than the experiment allows.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Rollout, Refusal> {
    let rollout = read(bytes)?;
    limits.check(&rollout).map(|()| rollout)
}

/// The rollout of a message, whatever its size: of one that this program has written.
///
/// # Errors
/// When it is malformed or in another version.
pub fn read(bytes: &[u8]) -> Result<Rollout, Refusal> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let malformed = |e: serde_json::Error| Refusal::Malformed(e.to_string());
    // of another version nothing else can be known
    let Versioned { version } = serde_json::from_slice(bytes).map_err(malformed)?;
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(Refusal::Version(version));
    }
    let message: Message = serde_json::from_slice(bytes).map_err(malformed)?;
    let completion = |answer: Answer| Completion {
        text: answer.text,
        finish_reason: answer.finish_reason,
        tokens: Vec::new(),
        logprobs: answer.logprobs,
    };
    Ok(Rollout {
        id: message.id,
        question: Question {
            task: message.task.into(),
            text: message.question,
            answer: message.answer,
            metadata: message.metadata.into(),
            seed: message.seed,
        },
        completions: message.completions.into_iter().map(completion).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{AgentId, Token};
    use serde_json::json;

    const LIMITS: Limits = Limits {
        rollouts: 4,
        completions: 2,
        completion_bytes: 10,
        question_bytes: 20,
    };

    fn rollout() -> Rollout {
        let completion = |text: &str| Completion {
            text: text.into(),
            finish_reason: FinishReason::Length,
            tokens: vec![Token {
                id: 3,
                logprob: -0.5,
                entropy: 0.1,
            }],
            logprobs: AuthorLogprobs::Untold,
        };
        let metadata = Map::from_iter([("a".to_owned(), json!([1, {"b": "c"}]))]);
        Rollout {
            id: RolloutId {
                author: AgentId(3),
                round: 2,
                index: 1,
            },
            question: Question {
                task: "bf".into(),
                text: "What is \u{2028}1?".into(),
                answer: Some("1".into()),
                metadata: metadata.into(),
                seed: Some(Seed::new(7)),
            },
            completions: vec![completion("one"), completion("\0 two")],
        }
    }

    #[test]
    fn what_arrives_is_what_was_published() {
        let bytes = encode(&rollout()).unwrap();
        assert_eq!(decode(&bytes, &LIMITS).unwrap(), rollout().shared());
        assert!(!String::from_utf8(bytes).unwrap().contains("logprob"));
    }

    /// How a message of today says its version.
    fn now() -> String {
        format!("\"version\":{VERSION}")
    }

    #[test]
    fn other_versions_and_other_messages_are_refused() {
        let text = String::from_utf8(encode(&rollout()).unwrap()).unwrap();
        let refused = |text: &str| decode(text.as_bytes(), &LIMITS).unwrap_err();
        for version in [0, VERSION + 1] {
            let other = text.replace(&now(), &format!("\"version\":{version}"));
            assert_eq!(refused(&other), Refusal::Version(version));
        }
        let extra = text.replace(&now(), &format!("{},\"rewards\":[1]", now()));
        for bad in ["", "{}", "[]", &text[..20], &extra, &"[".repeat(1000)] {
            assert!(matches!(refused(bad), Refusal::Malformed(_)), "{bad}");
        }
    }

    #[test]
    fn log_probs_travel_where_they_are_told_and_older_messages_are_read() {
        let mut told = rollout();
        told.completions[0].logprobs = AuthorLogprobs::Sequence(-1.5);
        told.completions[1].logprobs = AuthorLogprobs::Token {
            tokenizer: u64::MAX,
            logprobs: [-0.1, 0.0].into(),
        };
        for completion in &mut told.completions {
            completion.tokens.clear();
        }
        let bytes = encode(&told).unwrap();
        assert_eq!(decode(&bytes, &LIMITS).unwrap(), told);
        let text = String::from_utf8(encode(&rollout()).unwrap()).unwrap();
        for version in OLDEST..VERSION {
            let older = text.replace(&now(), &format!("\"version\":{version}"));
            assert_eq!(
                decode(older.as_bytes(), &LIMITS).unwrap(),
                rollout().shared()
            );
        }
    }

    /// What the limits say of a rollout with a change.
    fn refused(change: &dyn Fn(&mut Rollout)) -> String {
        let mut rollout = rollout();
        change(&mut rollout);
        LIMITS.check(&rollout).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_log_prob_is_refused() {
        let check = |change: &dyn Fn(&mut Rollout), expected: &str| {
            assert_eq!(refused(change), expected);
        };
        let told = |logprobs: &[f32]| AuthorLogprobs::Token {
            tokenizer: 1,
            logprobs: logprobs.into(),
        };
        check(
            &|r| r.completions[1].logprobs = told(&[-1.0; 12]),
            "log-probs of a completion: found 12, expected at most 11",
        );
        check(
            &|r| r.completions[0].logprobs = told(&[-1.0, f32::NAN]),
            "log-probs: found NaN, expected finite numbers of 0 or less",
        );
        check(
            &|r| r.completions[0].logprobs = AuthorLogprobs::Sequence(0.5),
            "log-probs: found 0.5, expected finite numbers of 0 or less",
        );
        check(
            &|r| r.completions[0].logprobs = AuthorLogprobs::Sequence(f32::NEG_INFINITY),
            "log-probs: found -inf, expected finite numbers of 0 or less",
        );
    }

    #[test]
    fn what_is_too_much_is_refused_by_name() {
        let check = |change: &dyn Fn(&mut Rollout), expected: &str| {
            assert_eq!(refused(change), expected);
        };
        let long = "x".repeat(LONGEST_TEXT + 1);
        let given = |value: Value| Map::from_iter([("k".to_owned(), value)]).into();
        let nested = (0..40).fold(Value::Null, |inner, _| json!([inner]));
        check(&|r| r.completions.clear(), "completions: found none");
        check(
            &|r| r.completions.extend(rollout().completions),
            "completions: found 4, expected at most 2",
        );
        check(
            &|r| r.completions[1].text = "eleven byte".into(),
            "bytes of a completion: found 11, expected at most 10",
        );
        check(
            &|r| r.question.text = "x".repeat(21),
            "bytes of the question: found 21, expected at most 20",
        );
        check(
            &|r| r.question.task = long.clone().into(),
            "bytes of the task: found 65537, expected at most 65536",
        );
        check(
            &|r| r.question.answer = Some(long.clone()),
            "bytes of the answer: found 65537, expected at most 65536",
        );
        check(
            &|r| r.question.metadata = given(long.clone().into()),
            "bytes of a metadata text: found 65537, expected at most 65536",
        );
        check(
            &|r| r.question.metadata = given((0..20_000).collect()),
            "metadata values: found 16385, expected at most 16384",
        );
        check(
            &|r| r.question.metadata = given(nested.clone()),
            "metadata levels: found 33, expected at most 32",
        );
    }
}
