//! How time and memory of a round grow, as a picture made from `scaling.csv`.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{
    curves::Curve,
    figure::Figure,
    panel::{Line, Panel, Scale},
    theme,
};

/// A row of `scaling.csv`: what one round took.
#[derive(Deserialize)]
struct Point {
    /// Which of the two varies: `agents` or `length`.
    what: String,
    agents: f64,
    completion_length: f64,
    round_s: f64,
    memory_mib: f64,
}

/// What a panel has on an axis.
type Axis = fn(&Point) -> f64;

/// What varies in a panel, the label of its x axis and what is on it.
const AGENTS: (&str, &str, Axis) = ("agents", "agents", |row| row.agents);
const LENGTH: (&str, &str, Axis) = ("length", "tokens per completion", |row| {
    row.completion_length
});
const SECONDS: Axis = |row| row.round_s;
const MEMORY: Axis = |row| row.memory_mib;

/// Draws `scaling.png` beside the `scaling.csv` of a folder.
///
/// # Errors
/// When the CSV file cannot be read or the picture cannot be written.
pub fn scaling(dir: &Path) -> Result<()> {
    let file = dir.join("scaling.csv");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("{}: cannot be read", file.display()))?;
    let rows: Result<Vec<Point>, _> = csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .collect();
    let rows = rows.with_context(|| file.display().to_string())?;
    let panel = |(what, x_label, x): (&str, &'static str, Axis), y: Axis, title: &str| {
        let rows: Vec<&Point> = rows.iter().filter(|row| row.what == what).collect();
        panel(&rows, (x_label, x), y, title)
    };
    let figure = Figure {
        title: "What a round takes".to_owned(),
        subtitle: "Every rollout trained on, no row ends early; 32 tokens per completion on the left, eight agents on \
                   the right"
            .to_owned(),
        legend_head: "",
        legend: Vec::new(),
        y_label: "",
        panels: vec![
            panel(AGENTS, SECONDS, "seconds per round, by agents"),
            panel(LENGTH, SECONDS, "seconds per round, by length"),
            panel(AGENTS, MEMORY, "peak memory in MiB, by agents"),
            panel(LENGTH, MEMORY, "peak memory in MiB, by length"),
        ],
        columns: 2,
        height: 620.0,
    };
    figure.write(&dir.join("scaling.png"))
}

fn panel(rows: &[&Point], (x_label, x): (&'static str, Axis), y: Axis, title: &str) -> Panel {
    let curve = Curve {
        points: rows.iter().map(|row| (x(row), y(row))).collect(),
        band: Vec::new(),
    };
    let lines = vec![Line {
        curve,
        pen: theme::first_pen(),
        label: String::new(),
    }];
    Panel {
        title: title.to_owned(),
        x_label,
        x_end: rows.iter().map(|row| x(row)).fold(1.0, f64::max),
        x_ticks: None,
        y: Scale::holding(&lines),
        lines,
    }
}
