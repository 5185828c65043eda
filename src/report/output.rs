//! How a file of the report is put into its folder.

use std::path::Path;

use anyhow::{Context, Result};

use crate::results_layout::write_atomically;

/// Writes a whole file, or leaves the old one and says which it was.
pub(super) fn write_file(file: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}
