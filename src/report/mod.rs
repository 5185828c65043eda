//! The results of an experiment as a table and pictures, made from its `rounds.csv` files alone.
//!
//! `csv` reads runs into plain numbers; `stats` and `measure` reckon; `summary` and `table` make the
//! table, `curves` and `plots` the pictures, drawn by `panel` on a `canvas`; `paper` holds the numbers to
//! compare with. No clock, no environment, no TOML: the same CSV gives the same bytes anywhere.

mod canvas;
mod csv;
mod curves;
mod figure;
mod look;
mod measure;
mod panel;
mod paper;
mod plots;
mod scaling;
mod stats;
mod summary;
mod table;

use std::{fs, path::Path};

use anyhow::{Context, Result};

pub use self::{scaling::scaling, summary::Summary};

impl Summary {
    /// The table for the console, with what the numbers are.
    pub fn console(&self) -> String {
        table::console(self)
    }
}

/// Reads all runs below `dir` and writes `table.md`, `table.csv`, `cumulative.png`, `smoothed.png`,
/// `raw.png` and `tasks.png` into it.
///
/// # Errors
/// When there is no run, a `rounds.csv` cannot be understood, or a file cannot be written.
pub fn write(dir: &Path) -> Result<Summary> {
    let runs = csv::read(dir)?;
    let summary = Summary::new(&runs);
    for (name, text) in [("table.md", table::markdown(&summary)), ("table.csv", table::machine(&summary))] {
        replace(&dir.join(name), |temporary| Ok(fs::write(temporary, &text)?))?;
    }
    plots::write(dir, &runs)?;
    Ok(summary)
}

/// Writes a file under another name first, so that a write that fails leaves the old file.
fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".new-{name}"));
    write(&temporary)
        .and_then(|()| Ok(fs::rename(&temporary, path)?))
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
        .with_context(|| format!("cannot write {}", path.display()))
}
