//! Why weights, or what an optimizer remembers of them, cannot be read or written.

use safetensors::{Dtype, SafeTensorError};
use std::path::{Path, PathBuf};

/// Why weights cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {cause}")]
    Read {
        /// The file.
        file: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// The file cannot be written.
    #[error("{file}: cannot be written: {cause}")]
    Write {
        /// The file.
        file: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// The file is no safetensors file, or no index of such files.
    #[error("{file}: {problem}")]
    Format {
        /// The file.
        file: PathBuf,
        /// What was found, and what was expected.
        problem: String,
    },
    /// A tensor is not there.
    #[error("{file}: tensor `{tensor}` is missing, expected with shape {expected:?}{besides}")]
    Missing {
        /// The file.
        file: PathBuf,
        /// The name looked for.
        tensor: String,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
        /// What the file has in its place, if anything.
        besides: String,
    },
    /// A tensor has another shape than `config.json` asks for.
    #[error("{file}: tensor `{tensor}` has shape {found:?}, config.json asks for {expected:?}")]
    Shape {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
    },
    /// A tensor is of a type that the program does not read.
    #[error("{file}: tensor `{tensor}` has type {found:?}, expected F32, F16, BF16 or F64")]
    Type {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
        /// The type in the file.
        found: Dtype,
    },
    /// A tensor that belongs to no part of the model.
    #[error("{file}: tensor `{tensor}` belongs to no part of this model: {what}")]
    Unknown {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
        /// What it may be, and what was expected.
        what: String,
    },
    /// A weight that is infinite or not a number.
    #[error("{file}: tensor `{tensor}` holds a value that is not finite")]
    NotFinite {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
    },
}

impl Error {
    /// The error of a file that cannot be written.
    pub(super) fn of_writing(file: &Path, error: SafeTensorError) -> Self {
        let cause = match error {
            SafeTensorError::IoError(cause) => cause,
            other => std::io::Error::other(other),
        };
        Self::Write {
            file: file.to_owned(),
            cause,
        }
    }
}
