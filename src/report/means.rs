//! Runs in short: `means.csv` has one row per round of a finished run, the means over its agents of the
//! columns that tables and most pictures are made from. Where it lies, it takes the place of `rounds.csv`.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::output::write_file;
use crate::results_layout::{MEANS, ROUNDS};

/// The columns that are kept; shadow draws are kept too.
const KEPT: [&str; 12] = [
    "own_reward",
    "train_reward",
    "eval_reward",
    "frac_reward_zero_std",
    "external_groups",
    "pool_nonzero_frac",
    "grad_norm",
    "steps",
    "steps_without_signal",
    "tagged_frac",
    "right_in_tags_frac",
    "completions",
];
/// Columns of the highest reward of an agent, which a mean does not tell.
pub(super) const OWN_PEAK: &str = "own_peak";
pub(super) const TRAIN_PEAK: &str = "train_peak";
/// What the names of the columns of shadow draws begin with.
pub(super) const SHADOW: &str = "shadow_";
/// Significant digits.
const DIGITS: usize = 5;

/// Writes the `means.csv` of a run from its `rounds.csv`.
///
/// # Errors
/// When the one cannot be read or the other cannot be written.
pub fn write_means(run: &Path) -> Result<()> {
    let file = run.join(ROUNDS);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let means = means(&text).with_context(|| format!("in {}", file.display()))?;
    write_file(&run.join(MEANS), &means)
}

fn means(text: &str) -> Result<Vec<u8>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers()?.clone();
    ensure!(
        header.get(0) == Some("round"),
        "expected a first column `round`"
    );
    let kept = |name: &&str| KEPT.contains(name) || name.starts_with(SHADOW);
    let columns: Vec<usize> = (0..header.len()).filter(|&at| kept(&&header[at])).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = columns.iter().map(|&at| &header[at]);
    let column = |name: &str| header.iter().position(|other| other == name);
    let peaks = [column("own_reward"), column("train_reward")];
    let first = ["round", "agents", OWN_PEAK, TRAIN_PEAK];
    writer.write_record(first.into_iter().chain(names))?;
    let mut rows: Vec<csv::StringRecord> = Vec::new();
    for record in reader.records() {
        let record = record?;
        if rows.last().is_some_and(|last| last[0] != record[0]) {
            write_round(&mut writer, &rows, &columns, peaks)?;
            rows.clear();
        }
        rows.push(record);
    }
    write_round(&mut writer, &rows, &columns, peaks)?;
    Ok(writer.into_inner()?)
}

/// The row of a round from those of its agents.
fn write_round(
    writer: &mut csv::Writer<Vec<u8>>,
    rows: &[csv::StringRecord],
    columns: &[usize],
    peaks: [Option<usize>; 2],
) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let numbers = |column: usize| {
        let cells = rows.iter().map(move |row| row[column].parse::<f64>());
        cells.filter_map(Result::ok)
    };
    let mean = |&column: &usize| {
        let mean = super::stats::mean(numbers(column));
        mean.map_or(String::new(), short)
    };
    let peak = |column: Option<usize>| {
        let highest = column.and_then(|column| numbers(column).reduce(f64::max));
        highest.map_or(String::new(), short)
    };
    let names = [first[0].to_owned(), rows.len().to_string()];
    let cells = names.into_iter().chain(peaks.map(peak));
    Ok(writer.write_record(cells.chain(columns.iter().map(mean)))?)
}

/// A number to five significant digits.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.*e}", DIGITS - 1)
        .parse()
        .unwrap_or(number);
    (rounded + 0.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_the_mean_of_its_agents() {
        let text = "round,agent,own_reward,kl,eval_reward,shadow_4-4_first\n\
                    1,0,0.1,5,,0.25\n1,1,0.2,5,0.5,0.75\n2,0,0.123456,5,,\n2,1,0.123456,5,,\n";
        assert_eq!(
            String::from_utf8(means(text).unwrap()).unwrap(),
            "round,agents,own_peak,train_peak,own_reward,eval_reward,shadow_4-4_first\n\
             1,2,0.2,,0.15,0.5,0.5\n2,2,0.12346,,0.12346,,\n"
        );
        assert!(means("a,b\n1,2\n").is_err());
    }
}
