//! The results of an experiment as tables and pictures, made from the CSV files of its runs alone; the page with all
//! of them adds the configuration and some rollouts where they lie beside.
//!
//! `arms` reads `arms.csv` and finds the runs, `runs` reads each into plain numbers; `stats`, `metrics` and `summary`
//! compute; `table`, `table_csv`, `console`, `claims`, `budgets` and `sweep` make texts, with numbers as `format`
//! writes them; `curves` and `plots` make the pictures, each a `figure` of panels drawn by `panel` on a `canvas` as
//! `theme` says; `page` puts all on one page; `paper` holds the numbers to compare with. No clock, no environment,
//! no TOML: the same CSV gives the same bytes anywhere.

mod arms;
mod budgets;
mod canvas;
mod claims;
mod console;
mod curves;
mod figure;
mod format;
mod means;
mod metrics;
mod output;
mod page;
mod panel;
mod paper;
mod plots;
mod runs;
mod scaling;
mod stats;
mod summary;
mod sweep;
mod table;
mod table_csv;
mod theme;
mod tuning;

use std::path::Path;

use anyhow::Result;

use self::output::write_file;
pub use self::{
    means::write_means,
    scaling::scaling,
    summary::Summary,
    tuning::{Choice, Edge, choices, gather, is_tuned},
};

/// What [`write()`] makes in a folder; where a key is swept, `sweep.md` and `sweep.png` too.
pub const FILES: &str = "report.html, table.md, table.csv, claims.md, budgets.md, timings.md, cumulative.png, smoothed.png, raw.png, \
                         tasks.png, selection.png";

/// Reads all runs below `dir` and writes tables and pictures into it, and a page with all of them.
///
/// # Errors
/// When there is no run, `arms.csv` or a `rounds.csv` cannot be understood, or a file cannot be written.
pub fn write(dir: &Path) -> Result<Summary> {
    let arms = arms::read(dir)?;
    let summary = Summary::new(&arms);
    let claims = claims::markdown(&arms).unwrap_or_else(claims::none);
    let texts = [
        ("table.md", Some(table::markdown(&summary).into_bytes())),
        ("table.csv", Some(table_csv::csv(&summary)?)),
        ("claims.md", Some(claims.into_bytes())),
        ("budgets.md", Some(budgets::completions(&arms).into_bytes())),
        (
            "timings.md",
            budgets::timings(&arms).map(String::into_bytes),
        ),
        (
            "sweep.md",
            sweep::markdown(&summary).map(String::into_bytes),
        ),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            write_file(&dir.join(name), &text)?;
        }
    }
    plots::write(dir, &arms, &summary)?;
    page::write(dir, &arms)?;
    Ok(summary)
}
