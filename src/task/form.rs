//! What all questions of a task have in common, made once.

use crate::rollout::{Metadata, Question};
use serde_json::{Map, Value};
use std::fmt::{Arguments, Write as _};
use std::sync::Arc;

/// Metadata that every task has, before its own.
const COMMON: usize = 2;

/// The metadata of a task's questions, with gaps for what differs from one to the other.
pub(super) struct Form {
    task: &'static str,
    metadata: Arc<Map<String, Value>>,
}

impl Form {
    /// The metadata that every task has, and keys of its own.
    pub(super) fn new(task: &'static str, own: &[&str], difficulty: Value) -> Self {
        let mut metadata = Map::with_capacity(COMMON + own.len() + 1);
        metadata.insert("source_dataset".to_owned(), task.into());
        metadata.insert("source_index".to_owned(), 0.into());
        metadata.extend(own.iter().map(|key| ((*key).to_owned(), Value::Null)));
        metadata.insert("difficulty".to_owned(), difficulty);
        Self {
            task,
            metadata: Arc::new(metadata),
        }
    }

    /// A question; `own` makes the values of the task's own keys, in their order.
    pub(super) fn question<Own: IntoIterator<Item = Value>>(
        &self,
        text: String,
        answer: Option<String>,
        own: impl FnOnce() -> Own + Send + 'static,
    ) -> Question {
        let form = Arc::clone(&self.metadata);
        let metadata = Metadata::later(move || {
            let mut metadata = Map::clone(&form);
            metadata
                .values_mut()
                .skip(COMMON)
                .zip(own())
                .for_each(|(gap, value)| *gap = value);
            metadata
        });
        Question {
            task: self.task.into(),
            text,
            answer,
            metadata,
        }
    }
}

/// Adds a number with so many digits or more to a text, which takes a third of the time of `write!`.
pub(super) fn push_number(text: &mut String, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    while number > 0 {
        first -= 1;
        digits[first] += (number % 10) as u8;
        number /= 10;
    }
    let first = first.min(digits.len() - width.clamp(1, digits.len()));
    text.extend(digits[first..].iter().map(|&digit| char::from(digit)));
}

/// A text of about this length, written into memory that is taken at once.
pub(super) fn written(length: usize, parts: Arguments) -> String {
    let mut text = String::with_capacity(length);
    text.write_fmt(parts).expect("a String takes any text");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_rust_does() {
        for number in [0, 7, 10, 205, 1_000_000, u64::MAX] {
            for width in [0, 1, 4, 20] {
                let mut text = "x".to_owned();
                push_number(&mut text, number, width);
                assert_eq!(text, format!("x{number:0width$}"));
            }
        }
    }
}
