//! The short table for the console: each cell holds the sum and, below it, the gain.

use comfy_table::{Cell, CellAlignment, Table, presets};

use super::{
    format::{NONE, number, percent},
    runs::Series,
    summary::{Row, Summary},
    sweep,
    table::{baseline_name, headline, intervals},
};

impl Summary {
    /// The table for the console, with what the numbers are.
    pub fn console(&self) -> String {
        sweep::markdown(self).unwrap_or_else(|| console(self))
    }
}

fn console(summary: &Summary) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let titles = Series::ALL.map(Series::title);
    table.set_header(["arm", "seeds"].into_iter().chain(titles).chain(["paper"]));
    for row in &summary.rows {
        let numbers = numbers(row).into_iter();
        let numbers = numbers.map(|cell| Cell::new(cell).set_alignment(CellAlignment::Right));
        table.add_row([Cell::new(row.arm.title())].into_iter().chain(numbers));
    }
    let mut lines = vec![headline(summary), table.to_string()];
    for row in &summary.rows {
        let missing = row.unfinished.iter();
        lines.extend(missing.map(|missing| format!("{}: {missing}", row.arm.title())));
    }
    lines.push(format!(
        "Cumulative reward and, below it, the gain over {}. {}",
        baseline_name(summary),
        intervals(summary)
    ));
    lines.join("\n")
}

/// The cells of a row after its name.
fn numbers(row: &Row) -> Vec<String> {
    let ours = [0, 1, 2].map(|at| {
        let (sum, gain) = (number(row.cumulative[at], 2), percent(row.gain[at]));
        format!("{sum}\n{gain}")
    });
    let paper = row.paper.map_or(NONE.to_owned(), |paper| {
        let gain = paper.gain.map(|gain| format!("{gain:+.1} %"));
        format!(
            "{:.2}\n{}",
            paper.cumulative,
            gain.as_deref().unwrap_or(NONE)
        )
    });
    let mut numbers = vec![row.seeds.to_string()];
    numbers.extend(ours);
    numbers.push(paper);
    numbers
}
