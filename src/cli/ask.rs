//! `sapo ask`: a question to a model, its completions and their scores.

use crate::experiment::{DeviceConfig, DeviceKind, Experiment, ExperimentFile, Models};
use crate::learn::{Decoding, Generated, generate};
use crate::member::ModelFolder;
use crate::rollout::{FinishReason, Question};
use crate::seed::Seed;
use crate::task::catalog::{self, TaskConfigs};
use crate::task::{Scoring, Task, score_completion};
use crate::tokenizer::ChatOptions;
use anyhow::{Result, anyhow, ensure};
use serde_json::{Map, Value};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `sapo ask`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["task", "chat", "prompt"])))]
pub(super) struct Args {
    /// A model folder in Hugging Face's layout, or the id of a model on its hub
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Ask a question of this task and score the answers
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Ask this, through the chat template where the folder has one
    #[arg(long, value_name = "TEXT")]
    chat: Option<String>,
    /// Continue this text as it stands
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Of the question and of the completions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Values for the chat template, e.g. '{"enable_thinking": true}'; they go before those of the experiment
    #[arg(long, value_name = "JSON", value_parser = kwargs)]
    chat_template_kwargs: Option<Map<String, Value>>,
    /// Take difficulty, scoring, system prompt and values for the chat template from this experiment
    #[arg(long, value_name = "FILE")]
    experiment: Option<PathBuf>,
    /// Always take the likeliest token
    #[arg(long)]
    greedy: bool,
    /// Divides the logits
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    temperature: f64,
    /// Completions
    #[arg(short, value_name = "N", default_value_t = 1)]
    n: usize,
    /// Longest completion in tokens [default: 128, or as many as the model has positions for]
    #[arg(long, value_name = "N")]
    max_completion_length: Option<usize>,
    /// Where to compute
    #[arg(long, value_name = "KIND", default_value = "auto")]
    device: DeviceKind,
    /// Print one JSON object per completion
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (n, t) = (args.n, args.temperature);
    ensure!(
        (1..=65536).contains(&n),
        "-n: found {n}, expected 1 to 65536"
    );
    let sane = t == 0.0 || (0.01..=100.0).contains(&t);
    ensure!(
        sane,
        "--temperature: found {t}, expected 0 (greedy) or 0.01 to 100"
    );
    let keys = args.experiment.as_deref().map(keys).transpose()?;
    let task = args.task.as_deref();
    let asked = task
        .map(|name| question(name, args.seed, keys.as_ref()))
        .transpose()?;
    let folder = Models::folder(&args.model)?;
    let prompt = prompt(args, keys.as_ref(), asked.as_ref().map(|(_, q)| q), &folder)?;
    let decoding = Decoding {
        temperature: if args.greedy { 0.0 } else { t },
        top_k: 0,
        top_p: 1.0,
        max_completion_length: longest(args, &folder, prompt.len())?,
    };
    folder.tokenizer.check_rows(&prompt)?;
    let model = folder
        .weights(&DeviceConfig::of(args.device).open()?)?
        .inference();
    if !args.json {
        let shown = folder.tokenizer.decode(&prompt);
        writeln!(std::io::stdout(), "--- prompt\n{shown}")?;
    }
    let seed = Seed::new(args.seed).child("ask", 0);
    let group = generate(&model, &[prompt], n, &decoding, &folder.eos, seed).remove(0);
    for (i, generated) in group.iter().enumerate() {
        let ids: Vec<u32> = generated.tokens.iter().map(|t| t.id).collect();
        let ended = usize::from(generated.finish_reason == FinishReason::Stop);
        let text = folder.tokenizer.decode(&ids[..ids.len() - ended]);
        let score = asked
            .as_ref()
            .map(|(task, q)| score_completion(task.as_ref(), q, &text));
        print(args.json, i, &text, &ids, generated, score)?;
    }
    Ok(())
}

/// Values for the chat template, as an object in JSON.
fn kwargs(text: &str) -> Result<Map<String, Value>, String> {
    let kwargs: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| format!("expected an object in JSON: {e}"))?;
    match ChatOptions::TAKEN
        .iter()
        .find(|name| kwargs.contains_key(**name))
    {
        Some(name) => Err(format!("found {name}, which the template is given already")),
        None => Ok(kwargs),
    }
}

/// The tokens that are continued.
fn prompt(
    args: &Args,
    keys: Option<&ExperimentFile>,
    question: Option<&Question>,
    folder: &ModelFolder,
) -> Result<Vec<u32>> {
    let mut options = keys.map_or_else(ChatOptions::default, |keys| keys.model.chat_options());
    let given = args.chat_template_kwargs.clone();
    options.kwargs.extend(given.into_iter().flatten());
    let chat = question
        .map(|question| &question.text)
        .or(args.chat.as_ref());
    Ok(match (chat, &args.prompt) {
        (Some(text), _) => folder.tokenizer.prompt(&options, text)?,
        (None, text) => folder
            .tokenizer
            .encode_prompt(text.as_deref().unwrap_or_default())?,
    })
}

/// The longest completion behind a prompt of so many tokens.
fn longest(args: &Args, folder: &ModelFolder, prompt: usize) -> Result<usize> {
    let positions = folder.config.max_position_embeddings();
    let room = positions.saturating_sub(prompt);
    ensure!(
        room > 0,
        "the prompt has {prompt} tokens, the model {positions} positions for it and the answer"
    );
    let longest = args.max_completion_length.unwrap_or(room.min(128));
    ensure!(
        (1..=room).contains(&longest),
        "--max-completion-length: found {longest}, expected 1 to {room} (the model's {positions} \
         positions less the prompt's {prompt})"
    );
    Ok(longest)
}

/// The keys of an experiment's file.
fn keys(file: &Path) -> Result<ExperimentFile> {
    Ok(Experiment::load(file, &[])?.file)
}

fn question(
    name: &str,
    seed: u64,
    experiment: Option<&ExperimentFile>,
) -> Result<(Box<dyn Task>, Question)> {
    let configs = experiment.map_or_else(TaskConfigs::default, |e| e.tasks.difficulty.clone());
    let scoring = experiment.map_or(Scoring::ReasoningGym, |e| e.tasks.scoring);
    let task =
        catalog::build(name, &configs, scoring).map_err(|problem| anyhow!("--task: {problem}"))?;
    let question = task.question(Seed::new(seed));
    Ok((task, question))
}

fn print(
    json: bool,
    i: usize,
    text: &str,
    ids: &[u32],
    generated: &Generated,
    score: Option<f64>,
) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let reason = generated.finish_reason;
    if json {
        let object = serde_json::json!({"text": text, "tokens": ids, "finish_reason": reason, "score": score});
        writeln!(out, "{object}")?;
        return Ok(());
    }
    let score = score.map_or_else(String::new, |score| format!(", score {score}"));
    let ended = if reason == FinishReason::Stop {
        "ended"
    } else {
        "cut off"
    };
    writeln!(
        out,
        "--- completion {}: {} tokens, {ended}{score}\n{text}",
        i + 1,
        ids.len()
    )?;
    Ok(())
}
