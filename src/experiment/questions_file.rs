//! Questions from a file: problems in reasoning-gym's schema, one JSON object per line.

use crate::rollout::Question;
use crate::task::catalog;
use crate::text_file;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// A line of the file.
#[derive(Deserialize)]
struct Line {
    question: String,
    answer: Option<String>,
    metadata: Map<String, Value>,
}

/// The questions of a file, in order.
///
/// # Errors
/// Names the file and the line that is malformed or of an unknown task.
pub(super) fn read(file: &Path) -> Result<Vec<Question>, String> {
    let name = file.display();
    let bytes =
        std::fs::read(file).map_err(|e| format!("tasks.source: {name}: cannot be read: {e}"))?;
    let questions = text_file::lines(&bytes).map(|(number, line)| {
        parse(line).map_err(|problem| format!("tasks.source: {name}: line {number}: {problem}"))
    });
    questions.collect()
}

/// A question from its JSON object.
pub(crate) fn parse(line: &[u8]) -> Result<Question, String> {
    let line: Line = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let task = match line.metadata.get("source_dataset") {
        Some(Value::String(task)) => task.clone(),
        Some(other) => {
            return Err(format!(
                "metadata.source_dataset: found {other}, expected the name of a task"
            ));
        }
        None => {
            return Err("metadata.source_dataset: missing, expected the name of a task".to_owned());
        }
    };
    if !catalog::NAMES.contains(&task.as_str()) {
        return Err(format!(
            "unknown task {task:?} (tasks: {})",
            catalog::NAMES.join(", ")
        ));
    }
    if line.question.is_empty() {
        return Err("question: found an empty text".to_owned());
    }
    Ok(Question {
        task: task.into(),
        text: line.question,
        answer: line.answer,
        metadata: line.metadata.into(),
        seed: None,
    })
}
