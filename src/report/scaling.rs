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

/// A row of `scaling.csv`.
#[derive(Deserialize)]
struct Point {
    what: String,
    agents: f64,
    completion_length: f64,
    round_s: f64,
    memory_mib: f64,
}

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
    let panel = |what: &str, x_label, x: fn(&Point) -> f64, title: &str, y: fn(&Point) -> f64| {
        let points = rows
            .iter()
            .filter(|row| row.what == what)
            .map(|row| (x(row), y(row)));
        let curve = Curve {
            points: points.collect(),
            band: Vec::new(),
        };
        let x_end = curve.points.iter().map(|(x, _)| *x).fold(1.0, f64::max);
        let lines = vec![Line {
            curve,
            pen: theme::first_pen(),
            label: String::new(),
        }];
        Panel {
            title: title.to_owned(),
            x_label,
            x_end,
            y: Scale::holding(&lines),
            lines,
        }
    };
    let agents = |title, y| panel("agents", "agents", |row| row.agents, title, y);
    let length = |title, y| {
        panel(
            "length",
            "tokens a completion",
            |row| row.completion_length,
            title,
            y,
        )
    };
    let figure = Figure {
        title: "What a round takes".to_owned(),
        subtitle: "Every rollout trained on, no row ends early; 32 tokens a completion on the left, eight agents on \
                   the right"
            .to_owned(),
        legend_head: "",
        legend: Vec::new(),
        y_label: "",
        panels: vec![
            agents("seconds a round, by agents", |row| row.round_s),
            length("seconds a round, by length", |row| row.round_s),
            agents("MiB of memory at most, by agents", |row| row.memory_mib),
            length("MiB of memory at most, by length", |row| row.memory_mib),
        ],
        columns: 2,
        height: 620.0,
    };
    figure.write(&dir.join("scaling.png"))
}
