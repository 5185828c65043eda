//! The results of an experiment as tables and pictures, made from the CSV files of its runs alone; the page with all
//! of them adds the configuration and some rollouts where they lie beside.
//!
//! `arms` reads `arms.csv`, an `arm` a line, and finds the runs, `rounds_file` reads each into plain numbers, the `runs`; `stats`, `metrics` and `summary`
//! compute; `table`, `table_csv`, `console`, `claims`, `budgets`, `horizons`, `league`, `open_swarm`, `shadows`, `tuning` and `sweep` make texts, with numbers as `format`
//! writes them; `curves`, `plots` and `cost_plots` make the pictures, each a `figure` of panels drawn by `panel` on a `canvas` as
//! `theme` says; `page` puts all on one page; `paper` holds the numbers to compare with. No clock, no environment,
//! no TOML: the same CSV gives the same bytes anywhere.

mod arm;
mod arms;
mod budgets;
mod canvas;
mod claims;
mod console;
mod cost_plots;
mod curves;
mod figure;
mod format;
mod horizons;
mod league;
mod means;
mod members;
mod metrics;
mod open_swarm;
mod output;
mod page;
mod panel;
mod paper;
mod plots;
mod rounds_file;
mod runs;
mod scaling;
mod shadows;
mod stats;
mod summary;
mod sweep;
mod table;
mod table_csv;
mod theme;
mod tuning;

use std::path::Path;

use anyhow::Result;

use self::output::write_or_remove;
pub use self::{
    means::write_means,
    scaling::scaling,
    summary::Summary,
    tuning::{Choice, Criterion, Edge, Tuning, choices},
};

/// What [`write()`] makes in a folder. Where there is something to show in them, also `timings.md`, `tasks.png`,
/// `costs.png` and `form.png`, `league.md`, `members.md`, and `.md` and `.png` of `open-swarm`, `sweep`, `selection-only` and `tuning`.
pub const FILES: &str = "report.html, table.md, table.csv, claims.md, budgets.md, horizons.md, cumulative.png, smoothed.png, raw.png, \
                         selection.png and more";

/// Reads all runs below `dir` and writes tables and pictures into it, and a page with all of them.
///
/// # Errors
/// When there is no run, `arms.csv` or a `rounds.csv` cannot be understood, or a file cannot be written.
pub fn write(dir: &Path) -> Result<Summary> {
    let arms = arms::read(dir)?;
    let (summary, tuned) = (Summary::new(&arms), tuning::read(dir)?);
    let claims = claims::markdown(dir, &arms);
    let texts = [
        ("table.md", Some(table::markdown(&summary).into_bytes())),
        ("table.csv", Some(table_csv::csv(&summary)?)),
        ("claims.md", Some(claims.into_bytes())),
        ("budgets.md", Some(budgets::completions(&arms).into_bytes())),
        ("horizons.md", Some(horizons::markdown(&arms).into_bytes())),
        ("league.md", league::markdown(&arms).map(String::into_bytes)),
        (
            "members.md",
            members::markdown(&arms).map(String::into_bytes),
        ),
        (
            "open-swarm.md",
            open_swarm::markdown(&arms).map(String::into_bytes),
        ),
        (
            "selection-only.md",
            shadows::markdown(&arms).map(String::into_bytes),
        ),
        (
            "tuning.md",
            tuning::markdown(&tuned).map(String::into_bytes),
        ),
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
        write_or_remove(&dir.join(name), text.as_deref())?;
    }
    plots::write(dir, &arms, &summary, &tuned)?;
    page::write(dir, &arms)?;
    Ok(summary)
}
