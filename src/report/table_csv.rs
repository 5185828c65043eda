//! `table.csv`: the summary for programs, one row per arm, blank where there is no number.

use anyhow::Result;

use super::{
    format::rounded,
    summary::{Row, Summary},
};

/// A column and what it holds in one row.
type Cell = (String, String);

/// The whole of `table.csv`.
pub(super) fn csv(summary: &Summary) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (at, row) in summary.rows.iter().enumerate() {
        let (names, cells): (Vec<_>, Vec<_>) = cells(row).into_iter().unzip();
        if at == 0 {
            writer.write_record(names)?;
        }
        writer.write_record(cells)?;
    }
    Ok(writer.into_inner()?)
}

fn cells(row: &Row) -> Vec<Cell> {
    let text = |name: &str, text: String| (name.to_owned(), text);
    let mix = |of: fn(super::arms::Mix) -> usize| {
        row.arm.mix.map(of).map_or(String::new(), |n| n.to_string())
    };
    let mut cells = vec![
        text("arm", row.arm.name.clone()),
        text("local", mix(|mix| mix.local)),
        text("external", mix(|mix| mix.external)),
        text("seeds", row.seeds.to_string()),
        text("agents", row.agents.to_string()),
        text("rounds", row.rounds.to_string()),
        text("unfinished", row.unfinished.is_some().to_string()),
    ];
    cells.extend(estimates(row));
    let tested = ["own_p", "train_p", "eval_p", "final_held_out_p"];
    cells.extend(
        tested
            .into_iter()
            .zip(row.p)
            .map(|(name, p)| text(name, cell(p))),
    );
    let paper = row.paper;
    cells.extend([
        text("completions", cell(Some(row.completions))),
        text(
            "paper_cumulative",
            cell(paper.map(|paper| paper.cumulative)),
        ),
        text(
            "paper_gain_percent",
            cell(paper.and_then(|paper| paper.gain)),
        ),
        text("paper_mean", cell(paper.map(|paper| paper.mean))),
        text("baseline", row.arm.baseline.clone().unwrap_or_default()),
    ]);
    cells
}

/// The estimates of a row, each as its mean and the ends of its interval.
fn estimates(row: &Row) -> Vec<Cell> {
    let kinds = [
        ("cumulative", row.cumulative),
        ("gain_percent", row.gain),
        ("mean", row.mean),
    ];
    let rewards = kinds.into_iter().flat_map(|(kind, numbers)| {
        let series = ["own", "train", "eval"].into_iter().zip(numbers);
        series.map(move |(series, number)| (format!("{series}_{kind}"), number))
    });
    let ends = [
        ("start_own_reward", row.start),
        ("final_own_reward", row.end),
        ("final_held_out", row.final_eval),
    ];
    let ends = ends.map(|(name, number)| (name.to_owned(), number));
    let swings = ["own", "train"].into_iter().zip(row.swing);
    let swings = swings.flat_map(|(series, numbers)| {
        let kinds = ["oscillation", "largest_drop", "peak"]
            .into_iter()
            .zip(numbers);
        kinds.map(move |(kind, number)| (format!("{series}_{kind}"), number))
    });
    let others = [
        ("steps", row.steps[0]),
        ("steps_with_signal", row.steps[1]),
        ("final_tagged", row.form[0]),
        ("final_right_in_tags", row.form[1]),
    ];
    let others = others.map(|(name, number)| (name.to_owned(), number));
    let all = rewards.chain(ends).chain(swings).chain(others);
    all.flat_map(|(name, number)| {
        let interval = number.and_then(|number| number.interval);
        let [low, high] = ["low", "high"].map(|end| format!("{name}_{end}"));
        [
            (name, cell(number.map(|number| number.mean))),
            (low, cell(interval.map(|[low, _]| low))),
            (high, cell(interval.map(|[_, high]| high))),
        ]
    })
    .collect()
}

fn cell(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| rounded(number, 6).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_six_decimals_or_nothing() {
        assert_eq!(cell(Some(94.611_866_4)), "94.611866");
        assert_eq!(cell(Some(-1e-9)), "0");
        assert_eq!(cell(None), "");
    }
}
