//! The results of an experiment as a table and pictures, made from its `rounds.csv` files alone.
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

/// What [`write`] makes in a folder.
pub const FILES: &str = "report.html, table.md, table.csv, claims.md, budgets.md, cumulative.png, smoothed.png, raw.png, \
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
        ("claims.md", claims::markdown(&runs).unwrap_or_else(claims::none)),
        ("budgets.md", budgets::markdown(&runs)),
    ] {
        replace(&dir.join(name), |temporary| Ok(fs::write(temporary, &text)?))?;
    }
    plots::write(dir, &runs)?;
    html::write(dir)?;
    Ok(summary)
}

/// True for a folder whose runs lie in folders of it, one a value of a swept key.
pub fn is_sweep(dir: &Path) -> bool {
    !dir.join("runs").is_dir() && sweep::values(dir).is_ok_and(|values| !values.is_empty())
}

/// Writes `sweep.md` and `sweep.png` into the folder of a sweep; returns the table.
///
/// # Errors
/// As [`write`].
pub fn write_sweep(dir: &Path) -> Result<String> {
    sweep::write(dir)
}

/// The folders of a sweep, in the order of its table.
///
/// # Errors
/// When the folder cannot be read.
pub fn sweep_folders(dir: &Path) -> Result<Vec<PathBuf>> {
    Ok(sweep::values(dir)?.into_iter().map(|(_, path)| path).collect())
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
