//! Runs in short: `means.csv` has one row per round of a finished run, the means over its agents of the
//! columns that tables and most pictures are made from; where its members are of several kinds, one row per round and
//! kind. Where it lies, it takes the place of `rounds.csv`. What a judge gave each agent stands in `judge.csv` beside it.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::output::write_file;
use crate::results_layout::{JUDGE, MEANS, ROUNDS};

/// The columns that are kept; shadow draws are kept too.
const KEPT: [&str; 13] = [
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
    PAYLOAD,
    "completions",
];
/// The column that says what kind of member an agent is.
pub(super) const MEMBER: &str = "member";
/// The column of the share of completions with the payload of an attack.
pub(super) const PAYLOAD: &str = "payload_frac";
/// The column of what the judge gave.
pub(super) const JUDGED: &str = "judge_reward";
/// Columns of the highest reward of an agent, which a mean does not tell.
pub(super) const OWN_PEAK: &str = "own_peak";
pub(super) const TRAIN_PEAK: &str = "train_peak";
/// What the names of the columns of shadow draws begin with.
pub(super) const SHADOW: &str = "shadow_";
/// Significant digits.
const DIGITS: usize = 5;

/// Writes the `means.csv` of a run from its `rounds.csv`, and the `judge.csv` where a judge has asked.
///
/// # Errors
/// When the one cannot be read or the other cannot be written.
pub fn write_means(run: &Path) -> Result<()> {
    let file = run.join(ROUNDS);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let means = means(&text).with_context(|| format!("in {}", file.display()))?;
    if let Some(judged) = judged(&text)? {
        write_file(&run.join(JUDGE), &judged)?;
    }
    write_file(&run.join(MEANS), &means)
}

/// Round, agent and reward of each answer to the judge; none where there is no judge.
fn judged(text: &str) -> Result<Option<Vec<u8>>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers()?.clone();
    let column = |name: &str| header.iter().position(|other| other == name);
    let (Some(agent), Some(reward)) = (column("agent"), column(JUDGED)) else {
        return Ok(None);
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["round", "agent", JUDGED])?;
    for record in reader.records() {
        let record = record?;
        if !record[reward].is_empty() {
            writer.write_record([&record[0], &record[agent], &record[reward]])?;
        }
    }
    Ok(Some(writer.into_inner()?))
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
    let member = column(MEMBER);
    let first = ["round", "agents", OWN_PEAK, TRAIN_PEAK].into_iter();
    let first = first.chain(member.map(|_| MEMBER));
    writer.write_record(first.chain(names))?;
    let mut write = |rows: &[csv::StringRecord]| {
        let mut kinds = kinds(rows, member).into_iter();
        kinds.try_for_each(|rows| write_row(&mut writer, &rows, &columns, peaks, member))
    };
    let mut rows: Vec<csv::StringRecord> = Vec::new();
    for record in reader.records() {
        let record = record?;
        if rows.last().is_some_and(|last| last[0] != record[0]) {
            write(&rows)?;
            rows.clear();
        }
        rows.push(record);
    }
    write(&rows)?;
    Ok(writer.into_inner()?)
}

/// The rows of a round by the kinds of their members; all of them together where there is one kind alone.
fn kinds(rows: &[csv::StringRecord], member: Option<usize>) -> Vec<Vec<&csv::StringRecord>> {
    let mut kinds: Vec<Vec<&csv::StringRecord>> = Vec::new();
    for row in rows {
        let same =
            |kind: &&mut Vec<&csv::StringRecord>| member.is_none_or(|at| kind[0][at] == row[at]);
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.push(row),
            None => kinds.push(vec![row]),
        }
    }
    kinds
}

/// The row of a round and a kind from those of its agents.
fn write_row(
    writer: &mut csv::Writer<Vec<u8>>,
    rows: &[&csv::StringRecord],
    columns: &[usize],
    peaks: [Option<usize>; 2],
    member: Option<usize>,
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
    let cells = cells.chain(member.map(|at| first[at].to_owned()));
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

    #[test]
    fn members_of_several_kinds_have_a_row_each() {
        let text = "round,agent,member,own_reward\n\
                    1,0,tiny,0.1\n1,1,strong,0.5\n1,2,tiny,0.3\n2,0,tiny,\n2,1,strong,1\n2,2,tiny,0.5\n";
        assert_eq!(
            String::from_utf8(means(text).unwrap()).unwrap(),
            "round,agents,own_peak,train_peak,member,own_reward\n\
             1,2,0.3,,tiny,0.2\n1,1,0.5,,strong,0.5\n2,2,0.5,,tiny,0.5\n2,1,1,,strong,1\n"
        );
    }

    #[test]
    fn what_the_judge_gave_is_kept_of_each() {
        let text = "round,agent,judge_reward\n1,0,0.5\n1,1,\n2,1,0\n";
        let kept = judged(text).unwrap().unwrap();
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            "round,agent,judge_reward\n1,0,0.5\n2,1,0\n"
        );
        assert_eq!(judged("round,agent\n1,0\n").unwrap(), None);
    }
}
