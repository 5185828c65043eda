//! The results of an experiment as tables and pictures, made from the CSV files of its runs alone; the page with all
//! of them adds the configuration and some rollouts where they lie beside.
//!
//! `csv` reads runs into plain numbers; `stats` and `measure` reckon; `summary` and `table` make the
//! table, `claims` and `budgets` the other texts, `curves` and `plots` the pictures, each a `figure` of panels
//! drawn by `panel` on a `canvas`; `sweep` compares the values of a key, `html` puts all on one page; `paper`
//! holds the numbers to compare with. No clock, no environment, no TOML: the same CSV gives the same bytes anywhere.

mod budgets;
mod canvas;
mod claims;
mod csv;
mod curves;
mod figure;
mod html;
mod look;
mod measure;
mod panel;
mod paper;
mod plots;
mod scaling;
mod stats;
mod summary;
mod sweep;
mod table;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

pub use self::{scaling::scaling, summary::Summary};

impl Summary {
    /// The table for the console, with what the numbers are.
    pub fn console(&self) -> String {
        table::console(self)
    }
}

/// What [`write()`] makes in a folder.
pub const FILES: &str = "report.html, table.md, table.csv, claims.md, budgets.md, timings.md, cumulative.png, smoothed.png, raw.png, \
                         tasks.png, selection.png";

/// Reads all runs below `dir` and writes tables and pictures into it, and a page with all of them.
///
/// # Errors
/// When there is no run, a `rounds.csv` cannot be understood, or a file cannot be written.
pub fn write(dir: &Path) -> Result<Summary> {
    let runs = csv::read(dir)?;
    let summary = Summary::new(&runs);
    for (name, text) in [
        ("table.md", table::markdown(&summary)),
        ("table.csv", table::machine(&summary)),
        (
            "claims.md",
            claims::markdown(&runs).unwrap_or_else(claims::none),
        ),
        ("budgets.md", budgets::completions(&runs)),
    ] {
        replace(&dir.join(name), |temporary| {
            Ok(fs::write(temporary, &text)?)
        })?;
    }
    if let Some(text) = budgets::timings(&runs) {
        replace(&dir.join("timings.md"), |temporary| {
            Ok(fs::write(temporary, &text)?)
        })?;
    }
    plots::write(dir, &runs)?;
    html::write(dir)?;
    Ok(summary)
}

/// Marks a folder as that of a sweep over a key: the runs of each value lie in the folder of its name.
///
/// # Errors
/// When the file cannot be written.
pub fn mark_sweep(dir: &Path, key: &str, values: Vec<String>) -> Result<()> {
    sweep::mark(dir, key, values)
}

/// The folders of the values of a sweep that have runs; none for a folder that is not one of a sweep.
///
/// # Errors
/// When the file that says so cannot be read.
pub fn sweep_folders(dir: &Path) -> Result<Option<Vec<PathBuf>>> {
    let mark = sweep::marked(dir)?;
    Ok(mark.map(|mark| {
        mark.folders(dir)
            .into_iter()
            .map(|(_, path)| path)
            .collect()
    }))
}

/// Writes `sweep.md` and `sweep.png` into the folder of a sweep; returns the table.
///
/// # Errors
/// As [`write()`].
pub fn write_sweep(dir: &Path) -> Result<String> {
    sweep::write(dir)
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
