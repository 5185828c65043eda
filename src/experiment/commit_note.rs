//! Which commit of this program made a run, noted beside it.

use crate::results_layout::{COMMIT, write_atomically};
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// What shapes a number of a run.
const CODE: [&str; 5] = [
    ":/Cargo.toml",
    ":/Cargo.lock",
    ":/src",
    ":/patches",
    ":/models",
];

/// Forgets what was noted of earlier starts.
pub(super) fn forget(run: &Path) -> Result<()> {
    let file = run.join(COMMIT);
    match std::fs::remove_file(&file) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("{}: cannot be removed", file.display())),
    }
}

/// Adds to the note of a run, unless it says so already, which commit the checkout was at that the
/// program was started in, where that is one of this program.
pub(super) fn add(run: &Path) -> Result<()> {
    let Some(line) = line() else { return Ok(()) };
    let file = run.join(COMMIT);
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    if old.ends_with(&line) {
        return Ok(());
    }
    let written = write_atomically(&file, (old + &line).as_bytes());
    written.with_context(|| format!("{}: cannot be written", file.display()))
}

/// The line of this start; none outside a checkout of this program.
fn line() -> Option<String> {
    let manifest = git(&["show", "HEAD:Cargo.toml"])?;
    let manifest: toml::Table = toml::from_str(&manifest).ok()?;
    let package = manifest.get("package")?.get("name")?.as_str()?;
    if package != env!("CARGO_PKG_NAME") {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&[&["status", "--porcelain", "--"], &CODE[..]].concat());
    let whole = changed.is_none_or(|files| files.is_empty());
    let note = if whole {
        ""
    } else {
        " and changes that it lacks"
    };
    Some(format!("{commit}{note}\n"))
}

fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let output = command
        .args(arguments)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}
