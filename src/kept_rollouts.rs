//! Rollouts that a run keeps to be read: one JSON object per line, in `rollouts.jsonl` and in what was
//! compressed of it.

use crate::results_layout::rollout_files;
use crate::rollout::FinishReason;
use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// A kept rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRollout {
    /// Counted from 1.
    pub round: u32,
    /// Who answered.
    pub agent: u16,
    /// Position among the rollouts of that agent.
    pub index: u32,
    /// What was asked.
    pub task: String,
    /// The question.
    pub question: String,
    /// The ground truth, where there is a single one.
    pub answer: Option<String>,
    /// The group.
    pub completions: Vec<String>,
    /// One reward per completion.
    pub rewards: Vec<f64>,
    /// The others that learned from it.
    pub drawn_by: Vec<u16>,
    /// What a verifier needs besides; only where rollouts are kept to be published again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Why each completion ended; only there too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finish_reasons: Vec<FinishReason>,
}

/// All kept rollouts of a run, in the order of their rounds.
///
/// # Errors
/// When the folder or a file in it cannot be opened.
pub fn of_run(run: &Path) -> io::Result<Vec<KeptRollout>> {
    let mut all: Vec<KeptRollout> = Vec::new();
    for file in rollout_files(run)? {
        // a program that was killed between compressing a file and removing it leaves both
        let known = all.last().map_or(0, |kept| kept.round);
        let new = of_file(&file)?.into_iter();
        all.extend(new.filter(|kept| kept.round > known));
    }
    Ok(all)
}

/// The rollouts of one file, compressed or not. A line or an archive that was cut off while it was
/// written ends it.
///
/// # Errors
/// When the file cannot be opened.
pub fn of_file(file: &Path) -> io::Result<Vec<KeptRollout>> {
    let open = File::open(file)?;
    let lines: Box<dyn BufRead> = match file.extension().is_some_and(|end| end == "gz") {
        true => Box::new(BufReader::new(GzDecoder::new(open))),
        false => Box::new(BufReader::new(open)),
    };
    let whole = lines.split(b'\n').map_while(Result::ok);
    Ok(whole
        .map_while(|line| serde_json::from_slice(&line).ok())
        .collect())
}

/// Rollouts as lines.
///
/// # Errors
/// When a reward is not finite.
pub fn to_lines(rollouts: &[KeptRollout]) -> serde_json::Result<String> {
    let line = |kept| Ok(serde_json::to_string(kept)? + "\n");
    rollouts.iter().map(line).collect()
}
