//! What all questions of a task have in common: its name and its difficulty.
//!
//! The metadata has reasoning-gym's keys: `source_dataset`, `source_index`, the task's own, `difficulty`.

use crate::rollout::{Metadata, Question};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Makes the questions of one task.
pub(super) struct QuestionTemplate {
    task: &'static str,
    difficulty: Arc<Value>,
}

impl QuestionTemplate {
    pub(super) fn new(task: &'static str, difficulty: Value) -> Self {
        Self {
            task,
            difficulty: Arc::new(difficulty),
        }
    }

    /// A question; `own` makes the task's own metadata, a JSON object, when the metadata is first read.
    pub(super) fn question(
        &self,
        text: String,
        answer: Option<String>,
        own: impl FnOnce() -> Value + Send + 'static,
    ) -> Question {
        let (task, difficulty) = (self.task, Arc::clone(&self.difficulty));
        Question {
            task: task.into(),
            text,
            answer,
            metadata: Metadata::later(move || metadata(task, own(), &difficulty)),
            seed: None,
        }
    }
}

/// The whole metadata of a question, with the task's own, a JSON object, in the middle.
pub(super) fn metadata(task: &str, own: Value, difficulty: &Value) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("source_dataset".to_owned(), task.into());
    metadata.insert("source_index".to_owned(), 0.into());
    if let Value::Object(own) = own {
        metadata.extend(own);
    }
    metadata.insert("difficulty".to_owned(), difficulty.clone());
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_has_the_keys_of_reasoning_gym_in_their_order() {
        let template = QuestionTemplate::new("bf", json!({"difficulty": 1}));
        let question = template.question("?".to_owned(), None, || json!({"code": "+", "a": 2}));
        assert_eq!(
            serde_json::to_string(&*question.metadata).unwrap(),
            r#"{"source_dataset":"bf","source_index":0,"code":"+","a":2,"difficulty":{"difficulty":1}}"#
        );
    }
}
