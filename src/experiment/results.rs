//! The results folder: the resolved experiment, and a pair of CSV files a run.

use super::config::Experiment;
use crate::record::RoundRecord;
use crate::swarm::Mix;
use anyhow::{Context, Result, bail};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A results folder that belongs to one experiment.
pub struct Results {
    dir: PathBuf,
    /// Held as long as the folder is written to.
    _lock: File,
}

impl Results {
    /// Opens or makes the folder and writes `experiment.toml` into it. A folder that holds another
    /// experiment is refused, or set aside under a new name when `fresh` is asked for.
    ///
    /// # Errors
    /// When the folder holds another experiment or cannot be written.
    pub fn open(dir: &Path, experiment: &Experiment, fresh: bool) -> Result<Self> {
        let file = dir.join("experiment.toml");
        let text = experiment.to_toml()?;
        let old = match fs::read_to_string(&file) {
            Ok(old) => Some(old),
            Err(e) if e.kind() == ErrorKind::NotFound => dir.join("runs").exists().then(String::new),
            // a folder that cannot be made or entered says so below
            Err(e) if e.kind() == ErrorKind::NotADirectory => None,
            Err(e) => return Err(e).with_context(|| format!("{}: cannot be read", file.display())),
        };
        if let Some(old) = old.filter(|old| *old != text) {
            if !fresh {
                let change = first_change(&old, &text);
                bail!(
                    "{}: holds the results of another experiment ({change}); choose another --out, or set them \
                     aside with --fresh",
                    dir.display()
                );
            }
            set_aside(dir)?;
        }
        fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let lock = lock(dir)?;
        fs::write(&file, text).with_context(|| format!("{}: cannot be written", file.display()))?;
        Ok(Self { dir: dir.to_owned(), _lock: lock })
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts the files of a run.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn run(&self, mix: Mix, seed: u64, tasks: Vec<String>) -> Result<RunFiles> {
        let dir = self.dir.join("runs").join(format!("{}-{}", mix.local, mix.external)).join(format!("seed-{seed}"));
        fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let header: Vec<String> = empty_record(&tasks).cells(&tasks).into_iter().map(|(name, _)| name).collect();
        let mut rounds = CsvFile::create(dir.join("rounds.csv"))?;
        rounds.row(&header)?;
        let mut timings = CsvFile::create(dir.join("timings.csv"))?;
        timings.row(&["round", "evaluate_s", "generate_s", "learn_s"].map(String::from))?;
        Ok(RunFiles { dir, rounds, timings, tasks })
    }
}

/// One program at a time writes to a results folder.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(".lock");
    let file = File::create(&path).with_context(|| format!("{}: cannot be written", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!("{}: another sapo is writing to this folder", dir.display()),
        Err(TryLockError::Error(e)) => Err(e).with_context(|| format!("{}: cannot be locked", path.display())),
    }
}

fn empty_record(tasks: &[String]) -> RoundRecord {
    RoundRecord { task_rewards: vec![None; tasks.len()], ..RoundRecord::default() }
}

fn first_change(old: &str, new: &str) -> String {
    let pairs = old.lines().zip(new.lines());
    match pairs.into_iter().find(|(a, b)| a != b) {
        Some((a, b)) => format!("`{}` there, `{}` here", a.trim(), b.trim()),
        None if old.is_empty() => "its experiment.toml is missing".to_owned(),
        None => "one has more lines".to_owned(),
    }
}

fn set_aside(dir: &Path) -> Result<()> {
    let plain: PathBuf = dir.components().collect(); // without a slash at the end
    let name = |n: usize| PathBuf::from(format!("{}.old-{n}", plain.display()));
    let free = (1..).map(name).find(|path| !path.exists()).context("one of the numbers is free")?;
    fs::rename(dir, &free).with_context(|| format!("{}: cannot be renamed to {}", dir.display(), free.display()))
}

/// The files of one run, a row flushed as soon as it is known.
pub struct RunFiles {
    dir: PathBuf,
    rounds: CsvFile,
    timings: CsvFile,
    tasks: Vec<String>,
}

impl RunFiles {
    /// Where they lie.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the rows of a round. `seconds` are those of evaluating, generating and learning.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&mut self, records: &[RoundRecord], seconds: [f64; 3]) -> Result<()> {
        for record in records {
            let cells: Vec<String> = record.cells(&self.tasks).into_iter().map(|(_, cell)| cell).collect();
            self.rounds.row(&cells)?;
        }
        let round = records.first().map_or(0, |record| record.round);
        let mut cells = vec![round.to_string()];
        cells.extend(seconds.map(|s| format!("{s:.3}")));
        self.timings.row(&cells)?;
        self.rounds.flush()?;
        self.timings.flush()
    }

    /// Ends a run that has all its rounds.
    ///
    /// # Errors
    /// When a file cannot be put in its place.
    pub fn finish(self) -> Result<()> {
        self.rounds.finish()?;
        self.timings.finish()
    }
}

/// A CSV file. Where there already is one, the new one is written beside it and takes its place when
/// it is whole, so that starting over loses nothing.
struct CsvFile {
    path: PathBuf,
    written: PathBuf,
    writer: csv::Writer<File>,
}

impl CsvFile {
    fn create(path: PathBuf) -> Result<Self> {
        let written = if path.exists() { path.with_extension("csv.new") } else { path.clone() };
        let file = File::create(&written).with_context(|| format!("{}: cannot be written", written.display()))?;
        Ok(Self { writer: csv::Writer::from_writer(file), path, written })
    }

    fn row(&mut self, cells: &[String]) -> Result<()> {
        self.writer.write_record(cells).with_context(|| format!("{}: cannot be written", self.written.display()))
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().with_context(|| format!("{}: cannot be written", self.written.display()))
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        fs::rename(&self.written, &self.path).with_context(|| format!("{}: cannot be written", self.path.display()))
    }
}
