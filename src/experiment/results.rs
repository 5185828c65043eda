//! The results folder: the resolved experiment, and a pair of CSV files a run.

use super::checkpoint::CheckpointTable;
use super::config::Experiment;
use super::journal::LogTable;
use crate::record::RoundRecord;
use crate::swarm::Mix;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A results folder that belongs to one experiment.
pub struct Results {
    dir: PathBuf,
    /// Held as long as the folder is written to.
    _lock: File,
}

impl Results {
    /// Opens or makes the folder and writes `experiment.toml` into it. A folder that holds another
    /// experiment is refused; with `fresh`, one that holds any is set aside under a new name. Other mixes
    /// and seeds are the same experiment.
    ///
    /// # Errors
    /// When the folder holds another experiment or cannot be written.
    pub fn open(dir: &Path, experiment: &Experiment, fresh: bool) -> Result<Self> {
        let file = dir.join("experiment.toml");
        let text = experiment.to_toml()?;
        let old = match fs::read_to_string(&file) {
            Ok(old) => Some(old),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                dir.join("runs").exists().then(String::new)
            }
            // a folder that cannot be made or entered says so below
            Err(e) if e.kind() == ErrorKind::NotADirectory => None,
            Err(e) => return Err(e).with_context(|| format!("{}: cannot be read", file.display())),
        };
        if let Some(old) = old {
            let change = change(&old, experiment)?;
            if fresh {
                // nobody else may be writing to what is set aside
                let _lock = lock(dir)?;
                set_aside(dir)?;
            } else if let Some(change) = change {
                bail!(
                    "{}: holds the results of another experiment ({change}); choose another --out, or set them \
                     aside with --fresh",
                    dir.display()
                );
            }
        }
        fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let lock = lock(dir)?;
        if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            replace(&file, &text)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of a run.
    pub fn run_dir(&self, mix: Mix, seed: u64) -> PathBuf {
        Self::run_path(&self.dir, mix, seed)
    }

    /// The folder of a run below a results folder.
    pub fn run_path(dir: &Path, mix: Mix, seed: u64) -> PathBuf {
        dir.join("runs")
            .join(format!("{}-{}", mix.local, mix.external))
            .join(format!("seed-{seed}"))
    }

    /// Goes on with the files of a run from where they stood: what came after is cut off.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn resume(
        &self,
        mix: Mix,
        seed: u64,
        tasks: Vec<String>,
        csv: &[Position],
    ) -> Result<RunFiles> {
        let dir = self.run_dir(mix, seed);
        let [rounds, timings] = csv else {
            bail!("{}: expected two positions of CSV files", dir.display())
        };
        let (rounds, timings) = (
            CsvFile::resume(&dir, rounds)?,
            CsvFile::resume(&dir, timings)?,
        );
        note_commit(&dir)?;
        Ok(RunFiles {
            dir,
            rounds,
            timings,
            tasks,
        })
    }

    /// Starts the files of a run.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn run(&self, mix: Mix, seed: u64, tasks: Vec<String>) -> Result<RunFiles> {
        let dir = self.run_dir(mix, seed);
        fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        fs::remove_file(dir.join("commit")).or_else(|e| {
            if e.kind() == ErrorKind::NotFound {
                Ok(())
            } else {
                Err(e)
            }
        })?;
        note_commit(&dir)?;
        let header: Vec<String> = empty_record(&tasks)
            .cells(&tasks)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let mut rounds = CsvFile::create(dir.join("rounds.csv"))?;
        rounds.row(&header)?;
        let mut timings = CsvFile::create(dir.join("timings.csv"))?;
        timings.row(&["round", "evaluate_s", "generate_s", "learn_s"].map(String::from))?;
        Ok(RunFiles {
            dir,
            rounds,
            timings,
            tasks,
        })
    }
}

/// Writes a file beside its place and moves it there when it is whole.
fn replace(file: &Path, text: &str) -> Result<()> {
    let new = file.with_extension("new");
    let write = || {
        let mut open = File::create(&new)?;
        open.write_all(text.as_bytes())?;
        open.sync_all()?;
        fs::rename(&new, file)
    };
    write().with_context(|| format!("{}: cannot be written", file.display()))
}

/// Adds to the file `commit` of a run, unless it says so already, which commit the checkout was at that the
/// program was started in, where that is one of this program.
fn note_commit(run: &Path) -> Result<()> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .stderr(Stdio::null())
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if git(&["ls-files", "--error-unmatch", ":/src/swarm/bus.rs"]).is_none() {
        return Ok(());
    }
    let Some(commit) = git(&["rev-parse", "HEAD"]) else {
        return Ok(());
    };
    let code = [
        ":/Cargo.toml",
        ":/Cargo.lock",
        ":/src",
        ":/patches",
        ":/models",
    ];
    let changed = git(&[&["status", "--porcelain", "--"], &code[..]].concat());
    let note = if changed.is_none_or(|files| files.is_empty()) {
        ""
    } else {
        " and changes that it lacks"
    };
    let (file, line) = (run.join("commit"), format!("{commit}{note}\n"));
    let old = fs::read_to_string(&file).unwrap_or_default();
    if old.ends_with(&line) {
        return Ok(());
    }
    replace(&file, &(old + &line))
}

/// One program at a time writes to a results folder.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(".lock");
    let open = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let mut file = open.with_context(|| format!("{}: cannot be written", path.display()))?;
    match file.try_lock() {
        Ok(()) => {
            // for whoever comes while it is held; the lock itself goes with the process
            let write = file
                .set_len(0)
                .and_then(|()| writeln!(file, "{}", std::process::id()));
            write.with_context(|| format!("{}: cannot be written", path.display()))?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(&path).unwrap_or_default();
            bail!(
                "{}: another sapo is writing to this folder (process {})",
                dir.display(),
                holder.trim()
            )
        }
        Err(TryLockError::Error(e)) => {
            Err(e).with_context(|| format!("{}: cannot be locked", path.display()))
        }
    }
}

fn empty_record(tasks: &[String]) -> RoundRecord {
    RoundRecord {
        task_rewards: vec![None; tasks.len()],
        ..RoundRecord::default()
    }
}

/// What is another experiment here, if anything; mixes, seeds and checkpoints may differ.
fn change(old: &str, new: &Experiment) -> Result<Option<String>> {
    let shared = |e: &Experiment| {
        Experiment {
            mixes: Vec::new(),
            seeds: Vec::new(),
            checkpoint: CheckpointTable::default(),
            log: LogTable::default(),
            ..e.clone()
        }
        .to_toml()
    };
    let (old, new) = match toml::from_str::<Experiment>(old) {
        Ok(old) => (shared(&old)?, shared(new)?),
        Err(_) => (old.to_owned(), new.to_toml()?),
    };
    Ok((old != new).then(|| first_change(&old, &new)))
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
    let free = (1..)
        .map(name)
        .find(|path| !path.exists())
        .context("one of the numbers is free")?;
    fs::rename(dir, &free)
        .with_context(|| format!("{}: cannot be renamed to {}", dir.display(), free.display()))
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
            let cells: Vec<String> = record
                .cells(&self.tasks)
                .into_iter()
                .map(|(_, cell)| cell)
                .collect();
            self.rounds.row(&cells)?;
        }
        let round = records.first().map_or(0, |record| record.round);
        let mut cells = vec![round.to_string()];
        cells.extend(seconds.map(|s| format!("{s:.3}")));
        self.timings.row(&cells)?;
        self.rounds.flush()?;
        self.timings.flush()
    }

    /// Waits until all rows are on the disk, and says where the files stand.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn sync(&mut self) -> Result<Vec<Position>> {
        Ok(vec![self.rounds.sync()?, self.timings.sync()?])
    }

    /// Gives the files of a run that has all its rounds their names.
    ///
    /// # Errors
    /// When a file cannot be put in its place.
    pub fn finish(&mut self) -> Result<()> {
        self.rounds.finish()?;
        self.timings.finish()
    }
}

/// Where a CSV file of a run stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Its name.
    pub file: String,
    /// Its length.
    pub bytes: u64,
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
        let written = if path.exists() {
            path.with_extension("csv.new")
        } else {
            path.clone()
        };
        let file = File::create(&written)
            .with_context(|| format!("{}: cannot be written", written.display()))?;
        Ok(Self {
            writer: csv::Writer::from_writer(file),
            path,
            written,
        })
    }

    /// Cuts the file off where it stood.
    fn resume(run: &Path, position: &Position) -> Result<Self> {
        let written = position.find(run)?;
        let open = || {
            let mut file = File::options().write(true).open(&written)?;
            file.set_len(position.bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok::<_, std::io::Error>(file)
        };
        let file = open().with_context(|| format!("{}: cannot be written", written.display()))?;
        let path = run.join(position.file.trim_end_matches(".new"));
        Ok(Self {
            writer: csv::Writer::from_writer(file),
            path,
            written,
        })
    }

    fn sync(&mut self) -> Result<Position> {
        self.flush()?;
        let file = self.writer.get_ref();
        let bytes = file
            .sync_all()
            .and_then(|()| file.metadata())
            .map(|about| about.len());
        let bytes =
            bytes.with_context(|| format!("{}: cannot be written", self.written.display()))?;
        let name = self
            .written
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Position { file: name, bytes })
    }

    fn row(&mut self, cells: &[String]) -> Result<()> {
        self.writer
            .write_record(cells)
            .with_context(|| format!("{}: cannot be written", self.written.display()))
    }

    fn flush(&mut self) -> Result<()> {
        self.writer
            .flush()
            .with_context(|| format!("{}: cannot be written", self.written.display()))
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        fs::rename(&self.written, &self.path)
            .with_context(|| format!("{}: cannot be written", self.path.display()))?;
        self.written.clone_from(&self.path);
        Ok(())
    }
}
