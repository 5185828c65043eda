//! What can be wrong with a tokenizer or its chat template.

use std::path::PathBuf;

/// Why a tokenizer or its template cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct Error {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}
