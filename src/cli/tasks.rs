//! `sapo tasks`: the catalog, questions to look at, questions to a file, scores of answers.

use crate::rollout::Question;
use crate::seed::Seed;
use crate::task::catalog::{self, TaskConfigs};
use crate::task::{Scoring, Task};
use crate::text_file;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Subcommand, ValueEnum};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::{BufRead, Write};

/// Arguments of `sapo tasks`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All tasks with their fields, defaults and ranges
    List,
    /// A question of a task, with its answer and metadata
    Show {
        /// The task
        name: String,
        /// Of the question
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Set a field of the task, e.g. --set max_terms=3
        #[arg(long = "set", value_name = "FIELD=VALUE")]
        set: Vec<String>,
    },
    /// Questions as JSON lines in reasoning-gym's schema
    Export {
        /// The tasks
        #[arg(required = true)]
        names: Vec<String>,
        /// Questions a task
        #[arg(long, default_value_t = 100)]
        count: u64,
        /// Of the first question
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Set a field of the task (with several tasks: --set task.field=value)
        #[arg(long = "set", value_name = "FIELD=VALUE")]
        set: Vec<String>,
    },
    /// Score candidates: JSON lines {task, config, answer, metadata, candidate} in, {score} out
    Score {
        /// How to score
        #[arg(long, value_enum, default_value_t = Mode::ReasoningGym)]
        scoring: Mode,
    },
}

/// The scoring modes at the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    ReasoningGym,
    Exact,
}

impl From<Mode> for Scoring {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::ReasoningGym => Self::ReasoningGym,
            Mode::Exact => Self::Exact,
        }
    }
}

pub(super) fn run(args: Args) -> Result<()> {
    match args.command {
        Command::List => list(),
        Command::Show { name, seed, set } => show(&name, seed, &set),
        Command::Export {
            names,
            count,
            seed,
            set,
        } => export(&names, count, seed, &set),
        Command::Score { scoring } => score(scoring.into()),
    }
}

fn list() -> Result<()> {
    let mut table = comfy_table::Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_header(["task", "field", "range", "default"]);
    for name in catalog::NAMES {
        for (i, field) in catalog::fields(name).into_iter().flatten().enumerate() {
            let name = if i == 0 { name } else { "" };
            table.add_row([name, field.name, field.range, &field.default.to_string()]);
        }
    }
    writeln!(std::io::stdout(), "{}", table.trim_fmt())?;
    Ok(())
}

fn show(name: &str, seed: u64, set: &[String]) -> Result<()> {
    let names = [name.to_owned()];
    let task = catalog::build(name, &configs(&names, set)?, Scoring::ReasoningGym)
        .map_err(|e| anyhow!(e))?;
    let question = instance(task.as_ref(), seed, 0);
    let answer = question.answer.as_deref().unwrap_or("(any that follows)");
    let metadata = serde_json::to_string_pretty(&*question.metadata)?;
    writeln!(
        std::io::stdout(),
        "--- question\n{}\n--- answer\n{answer}\n--- metadata\n{metadata}",
        question.text
    )?;
    Ok(())
}

fn export(names: &[String], count: u64, seed: u64, set: &[String]) -> Result<()> {
    let configs = configs(names, set)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for name in names {
        let task = catalog::build(name, &configs, Scoring::ReasoningGym).map_err(|e| anyhow!(e))?;
        for index in 0..count {
            let question = instance(task.as_ref(), seed, index);
            let mut metadata = Map::clone(&question.metadata);
            metadata.insert("source_index".to_owned(), index.into());
            let line =
                json!({"question": question.text, "answer": question.answer, "metadata": metadata});
            writeln!(out, "{line}")?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Question `index` of a task from a seed.
fn instance(task: &dyn Task, seed: u64, index: u64) -> Question {
    task.question(Seed::new(seed).child(task.name(), index))
}

/// The configurations that `field=value` or `task.field=value` settings make.
fn configs(names: &[String], set: &[String]) -> Result<TaskConfigs> {
    let mut table = toml::Table::new();
    for setting in set {
        let mut apply = || -> Result<()> {
            let (key, value) = setting
                .split_once('=')
                .context("found no `=`, expected field=value")?;
            let (task, field) = match (key.trim().split_once('.'), names) {
                (Some((task, field)), _) => (task.to_owned(), field),
                (None, [only]) => (only.clone(), key.trim()),
                (None, _) => {
                    bail!("found no task, expected task.field=value where several tasks are named")
                }
            };
            ensure!(
                names.contains(&task),
                "found task {task:?}, expected one of {}",
                names.join(", ")
            );
            let value: toml::Value = toml::from_str::<toml::Table>(&format!("value = {value}"))
                .ok()
                .and_then(|mut parsed| parsed.remove("value"))
                .unwrap_or_else(|| toml::Value::String(value.trim().to_owned()));
            let fields = table
                .entry(task)
                .or_insert_with(|| toml::Table::new().into());
            fields
                .as_table_mut()
                .context("a task's fields are a table")?
                .insert(field.to_owned(), value);
            Ok(())
        };
        apply().with_context(|| format!("--set {setting}"))?;
    }
    toml::from_str(&toml::to_string(&table)?)
        .map_err(|e| anyhow!("--set {}: {}", set.join(" --set "), e.message()))
}

/// A line to score.
#[derive(Deserialize)]
struct Candidate {
    /// Left out, it is the metadata's `source_dataset`.
    task: Option<String>,
    #[serde(default)]
    config: Map<String, Value>,
    answer: Option<String>,
    metadata: Map<String, Value>,
    candidate: Option<String>,
}

fn score(scoring: Scoring) -> Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut bad = Vec::new();
    for (i, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.context("standard input cannot be read")?;
        // a byte order mark stands before the first line alone, and blank ones have nothing to score
        let marked = if i == 0 { &line[..] } else { line.trim_ascii() };
        let Some((_, line)) = text_file::lines(marked).next() else {
            continue;
        };
        let scored = match score_line(line, scoring) {
            Ok(score) => json!({"score": score}),
            Err(problem) => {
                bad.push(format!("line {}: {problem}", i + 1));
                json!({"score": null, "error": problem})
            }
        };
        writeln!(out, "{scored}")?;
    }
    out.flush()?;
    ensure!(bad.is_empty(), "{}", bad.join("\n"));
    Ok(())
}

fn score_line(line: &[u8], scoring: Scoring) -> Result<f64, String> {
    let line: Candidate = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let source = || {
        line.metadata
            .get("source_dataset")?
            .as_str()
            .map(ToOwned::to_owned)
    };
    let name = line
        .task
        .clone()
        .or_else(source)
        .ok_or("found no task, expected `task` or metadata.source_dataset")?;
    let mut config = line.config;
    // of every dataset of the library, but no matter of difficulty
    config.remove("seed");
    config.remove("size");
    let table = json!({&name: config});
    let known = catalog::NAMES.contains(&name.as_str());
    let configs: TaskConfigs = if known {
        serde_json::from_value(table).map_err(|e| e.to_string())?
    } else {
        TaskConfigs::default()
    };
    let task = catalog::build(&name, &configs, scoring)?;
    let question = Question {
        task: name.into(),
        text: String::new(),
        answer: line.answer,
        metadata: line.metadata.into(),
        seed: None,
    };
    Ok(match line.candidate {
        Some(candidate) => task.score(&question, &candidate),
        None => task.score_missing(),
    })
}
