//! How a file of the report is put into its folder.

use std::{fs, io::ErrorKind, path::Path};

use anyhow::{Context, Result};

use crate::results_layout::write_atomically;

/// Writes a file that not every folder has; where there is nothing to write, an old one goes.
pub(super) fn write_or_remove(file: &Path, bytes: Option<&[u8]>) -> Result<()> {
    match bytes {
        Some(bytes) => write_file(file, bytes),
        None => remove(file),
    }
}

/// Removes a file that may not be there.
pub(super) fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", file.display())),
    }
}

/// Writes a whole file, or leaves the old one and says which it was.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}
