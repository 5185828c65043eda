//! A run from its `rounds.csv` or, where it is kept in short, `means.csv`, and from its `timings.csv`: rows into grids,
//! each in its place.
//!
//! How many agents, rounds and tasks there are comes from the rows alone. A blank cell is no number.
//! A run may be unfinished: a last line or a last round that was cut off while being written is left out.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::{
    means::{JUDGED, MEMBER, PAYLOAD, SHADOW},
    runs::{Grid, Run},
};
use crate::results_layout::{JUDGE, MEANS, ROUNDS, TIMINGS};

/// Columns that are read where they are there, besides those of shadow draws.
const OTHERS: [&str; 8] = [
    JUDGED,
    "own_peak",
    "train_peak",
    "steps",
    "steps_without_signal",
    "tagged_frac",
    "right_in_tags_frac",
    PAYLOAD,
];

/// The run in a folder; none where it has no full round yet.
///
/// # Errors
/// When its file cannot be read or understood.
pub(super) fn read(run_dir: &Path, seed: u64) -> Result<Option<Run>> {
    let files = [MEANS, ROUNDS].map(|name| run_dir.join(name));
    let Some(file) = files.into_iter().find(|file| file.is_file()) else {
        return Ok(None);
    };
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let run = parse(&text, seed).with_context(|| format!("in {}", file.display()))?;
    let Some(mut run) = run else {
        return Ok(None);
    };
    run.seconds_of = seconds(run_dir, run.rounds);
    let judge = run_dir.join(JUDGE);
    if run.in_short && judge.is_file() {
        let given = judged(&judge, &run).with_context(|| format!("in {}", judge.display()))?;
        run.others.push((JUDGED.to_owned(), given));
    }
    Ok(Some(run))
}

/// What the judge gave each agent of a run that is kept in short.
fn judged(file: &Path, run: &Run) -> Result<Grid> {
    let mut grid: Grid = vec![vec![None; run.rounds]; run.agents];
    for line in csv::Reader::from_path(file)?.deserialize::<(usize, usize, f64)>() {
        let (round, agent, reward) = line?;
        let place = grid
            .get_mut(agent)
            .and_then(|agent| agent.get_mut(round.wrapping_sub(1)));
        let expected = format!("rounds 1 to {}, agents 0 to {}", run.rounds, run.agents - 1);
        *place.with_context(|| {
            format!("found round {round} of agent {agent}, expected {expected}")
        })? = Some(reward);
    }
    Ok(grid)
}

/// Seconds of generating and learning in each round; none where the file is missing or not about so many.
fn seconds(run_dir: &Path, rounds: usize) -> Option<Vec<f64>> {
    let text = fs::read_to_string(run_dir.join(TIMINGS)).ok()?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().ok()?.iter().map(str::to_owned).collect();
    let wanted =
        ["generate_s", "learn_s"].map(|name| header.iter().position(|header| header == name));
    let [generate, learn] = [wanted[0]?, wanted[1]?];
    let row = |record: csv::StringRecord| {
        Some(record.get(generate)?.parse::<f64>().ok()? + record.get(learn)?.parse::<f64>().ok()?)
    };
    let all: Vec<f64> = reader
        .records()
        .map_while(|record| row(record.ok()?))
        .take(rounds)
        .collect();
    (all.len() == rounds).then_some(all)
}

/// One row, before it is put into the grids.
#[derive(Clone)]
struct Row {
    line: u64,
    round: usize,
    agent: usize,
    member: String,
    completions: f64,
    numbers: Vec<Option<f64>>,
}

/// Where the columns that count are.
struct Columns {
    header: Vec<String>,
    round: usize,
    /// The number of the agent or, where a row is a mean, how many it is the mean of.
    agent: usize,
    mean: bool,
    /// What kind of member the agent is.
    member: Option<usize>,
    completions: usize,
    /// Own, training-set and held-out reward, then the tasks', then those that not every file has.
    numbers: Vec<usize>,
    tasks: usize,
}

impl Columns {
    fn find(header: &csv::StringRecord) -> Result<Self> {
        let header: Vec<String> = header.iter().map(str::to_owned).collect();
        let column = |name: &str| {
            header.iter().position(|h| h == name).with_context(|| {
                format!(
                    "line 1: expected a column `{name}`, found {}",
                    header.join(", ")
                )
            })
        };
        let mean = header.iter().any(|name| name == "agents");
        let agent = column(if mean { "agents" } else { "agent" })?;
        let [round, completions] = [column("round")?, column("completions")?];
        let mut numbers = vec![
            column("own_reward")?,
            column("train_reward")?,
            column("eval_reward")?,
        ];
        let all = || header.iter().enumerate();
        let task = |(at, name): (usize, &String)| name.starts_with(TASK).then_some(at);
        numbers.extend(all().filter_map(task));
        let tasks = numbers.len() - 3;
        let other = |name: &String| OTHERS.contains(&&name[..]) || name.starts_with(SHADOW);
        numbers.extend(all().filter_map(|(at, name)| other(name).then_some(at)));
        Ok(Columns {
            round,
            agent,
            mean,
            member: header.iter().position(|name| name == MEMBER),
            completions,
            numbers,
            tasks,
            header,
        })
    }

    /// The rows of the agents that a record stands for, which are alike where it is a mean; `before` of the round are
    /// there already.
    fn rows(&self, record: &csv::StringRecord, before: usize) -> Result<Vec<Row>> {
        let row = self.row(record)?;
        if !self.mean {
            return Ok(vec![row]);
        }
        ensure!(
            (1..=MOST_AGENTS).contains(&row.agent),
            "line {}: expected 1 to {MOST_AGENTS} agents, found {}",
            row.line,
            row.agent
        );
        let of_agent = |agent| Row {
            agent,
            ..row.clone()
        };
        Ok((before..before + row.agent).map(of_agent).collect())
    }

    fn row(&self, record: &csv::StringRecord) -> Result<Row> {
        let line = record.position().map_or(0, csv::Position::line);
        let (cells, expected) = (record.len(), self.header.len());
        ensure!(
            cells == expected,
            "line {line}: expected {expected} cells, found {cells}"
        );
        let at = |column: usize| format!("line {line}, column `{}`", self.header[column]);
        let cell = |column: usize| number(&record[column]).with_context(|| at(column));
        let count = |column: usize| index(&record[column]).with_context(|| at(column));
        Ok(Row {
            line,
            round: count(self.round)?,
            agent: count(self.agent)?,
            member: self
                .member
                .map_or(String::new(), |at| record[at].to_owned()),
            completions: cell(self.completions)?.unwrap_or(0.0),
            numbers: self
                .numbers
                .iter()
                .map(|&column| cell(column))
                .collect::<Result<_>>()?,
        })
    }

    /// The names of the tasks, and of the columns that not every file has.
    fn names(&self) -> (Vec<String>, Vec<String>) {
        let (tasks, others) = self.numbers[3..].split_at(self.tasks);
        let task = |&column: &usize| self.header[column][TASK.len()..].to_owned();
        let other = |&column: &usize| self.header[column].clone();
        (
            tasks.iter().map(task).collect(),
            others.iter().map(other).collect(),
        )
    }
}

/// Most agents of an experiment.
const MOST_AGENTS: usize = 1024;

/// What the names of the columns of tasks begin with.
const TASK: &str = "reward_";

/// The text of one file; none when it has no full round yet.
fn parse(text: &str, seed: u64) -> Result<Option<Run>> {
    // A line without its end was cut off while it was written.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    if whole.is_empty() {
        return Ok(None);
    }
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(whole.as_bytes());
    let columns = Columns::find(reader.headers().context("no header")?)?;
    let mut rows: Vec<Row> = Vec::new();
    let round = columns.round;
    let (mut before, mut last) = (0, String::new());
    for record in reader.records() {
        let record = record.context("not a table")?;
        let now = record.get(round).unwrap_or_default();
        if now != last {
            (before, last) = (0, now.to_owned());
        }
        let new = columns.rows(&record, before)?;
        before += new.len();
        rows.extend(new);
    }
    drop_cut_off_round(&mut rows);
    (!rows.is_empty())
        .then(|| assemble(&rows, seed, &columns))
        .transpose()
}

/// A cell that holds a number or nothing.
fn number(cell: &str) -> Result<Option<f64>> {
    if cell.trim().is_empty() {
        return Ok(None);
    }
    match cell.trim().parse::<f64>() {
        // what no reward or count can be would only make the axes run away
        Ok(value) if value.abs() <= 1e15 => Ok(Some(if value.abs() < 1e-15 { 0.0 } else { value })),
        _ => bail!("expected a number or a blank, found `{cell}`"),
    }
}

/// A cell that must hold a whole number.
fn index(cell: &str) -> Result<usize> {
    cell.trim()
        .parse()
        .ok()
        .with_context(|| format!("expected a whole number, found `{cell}`"))
}

/// A last round with fewer rows than the one before was cut off.
fn drop_cut_off_round(rows: &mut Vec<Row>) {
    let rows_of = |round: usize| rows.iter().filter(|row| row.round == round).count();
    let last = rows.iter().map(|row| row.round).max().unwrap_or(0);
    if last > 1 && rows_of(last) < rows_of(last - 1) {
        rows.retain(|row| row.round < last);
    }
}

/// Rows into grids, each row in its place and no place twice.
fn assemble(rows: &[Row], seed: u64, columns: &Columns) -> Result<Run> {
    let (tasks, others) = columns.names();
    check_places(rows)?;
    let agents = rows.iter().map(|row| row.agent + 1).max().unwrap_or(0);
    let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
    let mut seen = vec![vec![false; rounds]; agents];
    let mut grids: Vec<Grid> =
        vec![vec![vec![None; rounds]; agents]; 3 + tasks.len() + others.len()];
    let mut completions_of = vec![0.0; rounds];
    let mut members = vec![String::new(); agents];
    for row in rows {
        let (round, agent) = (row.round - 1, row.agent);
        ensure!(
            !seen[agent][round],
            "line {}: round {} of agent {agent} is there twice",
            row.line,
            row.round
        );
        seen[agent][round] = true;
        completions_of[round] += row.completions;
        members[agent].clone_from(&row.member);
        for (grid, number) in grids.iter_mut().zip(&row.numbers) {
            grid[agent][round] = *number;
        }
    }
    let other_grids = grids.split_off(3 + tasks.len());
    let tasks = tasks.into_iter().zip(grids.split_off(3)).collect();
    Ok(Run {
        seed,
        agents,
        members,
        rounds,
        completions: completions_of.iter().sum(),
        completions_of,
        seconds_of: None,
        in_short: columns.mean,
        tasks,
        rewards: <[Grid; 3]>::try_from(grids).unwrap_or_default(),
        others: others.into_iter().zip(other_grids).collect(),
    })
}

/// No round and no agent can have a higher number than there are rows.
fn check_places(rows: &[Row]) -> Result<()> {
    let most = rows.len();
    for Row {
        line, round, agent, ..
    } in rows
    {
        ensure!(
            (1..=most).contains(round),
            "line {line}: expected a round of 1 to {most}, found {round}"
        );
        ensure!(
            *agent < most,
            "line {line}: expected an agent of 0 to {}, found {agent}",
            most - 1
        );
    }
    Ok(())
}

/// A run of seed 1 from the text of a file.
#[cfg(test)]
pub(super) fn parse_for_tests(text: &str) -> Run {
    parse(text, 1).unwrap().unwrap()
}

#[cfg(test)]
mod tests {
    use super::{super::runs::Series, *};

    const HEADER: &str = "round,agent,own_reward,train_reward,eval_reward,completions,reward_bf";

    fn check_error(text: &str, expected: &str) {
        let error = parse(text, 1).unwrap_err();
        assert_eq!(format!("{error:#}"), expected);
    }

    #[test]
    fn rows_come_in_any_order_and_blanks_stay_blank() {
        let run = parse(
            &format!("{HEADER}\n1,1,0.5,0.25,,8,\n1,0,0.1,0.2,0.3,8,1\n"),
            3,
        )
        .unwrap()
        .unwrap();
        assert_eq!(
            (run.agents, run.rounds, run.seed, run.completions),
            (2, 1, 3, 16.0)
        );
        assert_eq!(run.reward(Series::Own), &[[Some(0.1)], [Some(0.5)]]);
        assert_eq!(run.reward(Series::Eval), &[[Some(0.3)], [None]]);
        assert_eq!(
            run.tasks,
            [("bf".to_owned(), vec![vec![Some(1.0)], vec![None]])]
        );
    }

    #[test]
    fn what_was_cut_off_is_left_out() {
        let whole = format!("{HEADER}\n1,0,0.1,0.2,,8,\n1,1,0.1,0.2,,8,\n");
        let run = parse(&whole, 1).unwrap();
        assert_eq!(parse(&format!("{whole}2,0,0.1,0.2,,8,\n"), 1).unwrap(), run);
        assert_eq!(parse(&format!("{whole}2,0,0."), 1).unwrap(), run);
        assert_eq!(parse(&format!("{HEADER}\n"), 1).unwrap(), None);
        assert_eq!(parse("", 1).unwrap(), None);
    }

    #[test]
    fn a_row_of_means_stands_for_all_its_agents() {
        let text = "round,agents,own_reward,train_reward,eval_reward,completions,steps,steps_without_signal,shadow_4-4_first\n\
                    1,2,0.5,0.25,,8,1,0.5,0.1\n2,2,0.1,0.2,0.3,8,1,0,0.2\n";
        let run = parse(text, 1).unwrap().unwrap();
        assert_eq!((run.agents, run.rounds, run.completions), (2, 2, 32.0));
        assert_eq!(
            run.reward(Series::Own),
            &vec![vec![Some(0.5), Some(0.1)]; 2]
        );
        assert_eq!(run.signal_steps().unwrap(), [0.5, 1.0]);
        assert_eq!(run.shadows(), ["shadow_4-4_first"]);
        let more = text.replace("2,2,0.1", "2,9999,0.1");
        check_error(&more, "line 3: expected 1 to 1024 agents, found 9999");
    }

    #[test]
    fn errors_name_line_and_column() {
        check_error(
            &format!("{HEADER}\n1,0,0.1,0.2,,8,\n2,0,high,0.2,,8,\n"),
            "line 3, column `own_reward`: expected a number or a blank, found `high`",
        );
        check_error(
            &format!("{HEADER}\n1,0,0.1,NaN,,8,\n"),
            "line 2, column `train_reward`: expected a number or a blank, found `NaN`",
        );
        check_error(
            &format!("{HEADER}\n,0,0.1,0.2,,8,\n"),
            "line 2, column `round`: expected a whole number, found ``",
        );
        check_error(
            "round,agent\n1,0\n",
            "line 1: expected a column `completions`, found round, agent",
        );
        let row = "1,0,0.1,0.2,,8,\n";
        check_error(
            &format!("{HEADER}\n{row}{row}"),
            "line 3: round 1 of agent 0 is there twice",
        );
        check_error(
            &format!("{HEADER}\n9,0,0.1,0.2,,8,\n"),
            "line 2: expected a round of 1 to 1, found 9",
        );
    }
}
