//! The results folder: the resolved experiment, its arms, and the CSV files of its runs.

use super::arms::{Arm, Experiment};
use super::bus_table::BusTable;
use super::checkpoint::CheckpointTable;
use super::commit_note;
use super::config::ExperimentFile;
use super::csv_file::{CsvFile, Position};
use super::inputs::Inputs;
use super::rollout_log::LogTable;
use crate::results_layout::{
    ARMS, EXPERIMENT, INPUTS, MEANS, ROUNDS, RUNS, TIMINGS, remove_leftovers, run_folder,
    write_atomically,
};
use crate::swarm::{Columns, RoundRecord};
use anyhow::{Context, Result, bail};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Held by the program that writes to a results folder.
const LOCK: &str = ".lock";
/// Begin of the names of folders of earlier results, within one that cannot be renamed.
const ASIDE: &str = "old-";

/// A results folder that belongs to one experiment.
pub struct Results {
    dir: PathBuf,
    /// Held as long as the folder is written to.
    _lock: File,
}

impl Results {
    /// Opens or makes the folder and writes the experiment and its arms into it. A folder that holds
    /// another experiment is refused; with `fresh`, one that holds any is set aside under a new name.
    /// Other arms and seeds are the same experiment.
    ///
    /// # Errors
    /// When the folder holds another experiment or cannot be written.
    pub fn open(dir: &Path, experiment: &Experiment, fresh: bool) -> Result<Self> {
        let file = dir.join(EXPERIMENT);
        let found = match fs::read_to_string(&file) {
            Ok(old) => Some(old),
            Err(e) if e.kind() == ErrorKind::NotFound => dir.join(RUNS).exists().then(String::new),
            // a folder that cannot be made or entered says so below
            Err(e) if e.kind() == ErrorKind::NotADirectory => None,
            Err(e) => return Err(e).with_context(|| format!("{}: cannot be read", file.display())),
        };
        let inputs = Inputs::of(experiment)?;
        let mut known = Inputs::known(dir)?;
        if let Some(old) = &found {
            if fresh {
                // nobody else may be writing to what is set aside
                let _lock = lock(dir)?;
                set_aside(dir)?;
                known = Inputs::default();
            } else if let Some(change) = match change(&file, old, experiment)? {
                None => inputs.change(&known),
                change => change,
            } {
                bail!(
                    "{}: holds the results of another experiment ({change}); choose another --out, or \
                     set them aside with --fresh",
                    dir.display()
                );
            }
        }
        fs::create_dir_all(dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let lock = lock(dir)?;
        clean(dir)?;
        put(&file, experiment.to_toml()?.as_bytes())?;
        put(&dir.join(INPUTS), inputs.to_json(known)?.as_bytes())?;
        if experiment.file.tune.is_none() {
            put(&dir.join(ARMS), &experiment.arms_csv()?)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Writes what the arms are: after a tuning, with the values that it has found.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put_arms(&self, experiment: &Experiment) -> Result<()> {
        put(&self.dir.join(ARMS), &experiment.arms_csv()?)
    }

    /// Where it lies.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of a run.
    pub fn run_dir(&self, arm: &Arm, seed: u64) -> PathBuf {
        run_folder(&self.dir, &arm.name, seed)
    }
}

/// Removes what a program that was killed has left half written.
fn clean(dir: &Path) -> Result<()> {
    remove_leftovers(dir).with_context(|| format!("{}: cannot be cleaned", dir.display()))
}

/// Writes a file unless it is there already.
fn put(file: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(file).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    write_atomically(file, bytes).with_context(|| format!("{}: cannot be written", file.display()))
}

/// One program at a time writes to a results folder.
fn lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let unwritten = || format!("{}: cannot be written", path.display());
    let open = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let mut file = open.with_context(unwritten)?;
    match file.try_lock() {
        Ok(()) => {
            // for whoever comes while it is held; the lock itself goes with the process
            let write = file
                .set_len(0)
                .and_then(|()| writeln!(file, "{}", std::process::id()));
            write.with_context(unwritten)?;
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

/// What is another experiment here, if anything. Arms, seeds and what shapes no number may differ;
/// what all arms have in common and an arm that both have must be the same.
fn change(file: &Path, old: &str, new: &Experiment) -> Result<Option<String>> {
    if old.is_empty() {
        return Ok(Some(format!("its {EXPERIMENT} is missing")));
    }
    let Ok(old) = Experiment::load(file, &[]) else {
        return Ok(Some(format!("its {EXPERIMENT} is not one of this version")));
    };
    let common = |file: &ExperimentFile| {
        shaping(&ExperimentFile {
            mix: None,
            ..file.clone()
        })
    };
    let (a, b) = (common(&old.file)?, common(&new.file)?);
    if a != b {
        return Ok(Some(first_change(&a, &b)));
    }
    for arm in &new.arms {
        let same = |other: &&Arm| other.name == arm.name;
        let Some(other) = old.arms.iter().find(same) else {
            continue;
        };
        let (a, b) = (shaping(&other.resolved.keys)?, shaping(&arm.resolved.keys)?);
        if a != b {
            return Ok(Some(first_change(&a, &b)));
        }
    }
    Ok(None)
}

/// The keys that shape numbers, whatever the arms and seeds are.
fn shaping(keys: &ExperimentFile) -> Result<String> {
    Ok(toml::to_string(&ExperimentFile {
        seeds: Vec::new(),
        baseline: None,
        league: None,
        mixes: Vec::new(),
        arm: Vec::new(),
        sweep: None,
        bus: BusTable::default(),
        checkpoint: CheckpointTable::default(),
        log: LogTable::default(),
        ..keys.clone()
    })?)
}

fn first_change(old: &str, new: &str) -> String {
    let mut pairs = old.lines().zip(new.lines());
    match pairs.find(|(a, b)| a != b) {
        Some((a, b)) => format!("`{}` there, `{}` here", a.trim(), b.trim()),
        None => "one has more lines".to_owned(),
    }
}

fn set_aside(dir: &Path) -> Result<()> {
    let bare: PathBuf = dir.components().collect(); // without a slash at the end
    let name = |n: usize| PathBuf::from(format!("{}.old-{n}", bare.display()));
    let free = (1..).map(name).find(|path| !path.exists());
    let free = free.context("one of the numbers is free")?;
    match fs::rename(dir, &free) {
        // a folder that is mounted, or whose parent nobody may write to, stays where it is
        Err(e) => set_aside_within(dir).with_context(|| {
            let (from, to) = (dir.display(), free.display());
            format!("{from}: cannot be renamed to {to}: {e}")
        }),
        renamed => Ok(renamed?),
    }
}

/// Moves what lies in a results folder into one within it, beside those that were set aside before.
fn set_aside_within(dir: &Path) -> Result<()> {
    let aside = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == LOCK || name.starts_with(ASIDE)
    };
    let mut free = (1..).map(|n| dir.join(format!("{ASIDE}{n}")));
    let free = free.find(|path| !path.exists());
    let free = free.context("one of the numbers is free")?;
    let entries: Vec<PathBuf> = fs::read_dir(dir)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    fs::create_dir(&free)?;
    for path in entries.iter().filter(|path| !aside(path)) {
        fs::rename(path, free.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Whether the CSV files of a run have all its rounds, whoever made them: those that are kept of it.
pub(super) fn is_complete(run: &Path, rounds: u32, agents: usize) -> bool {
    let lines =
        |name: &str| fs::read_to_string(run.join(name)).map_or(0, |text| text.lines().count());
    let rounds = rounds as usize;
    lines(MEANS) == 1 + rounds || lines(ROUNDS) == 1 + rounds * agents
}

/// The CSV files of one run, a row flushed as soon as it is known.
pub struct RunFiles {
    rounds: CsvFile,
    timings: CsvFile,
    columns: Columns,
}

impl RunFiles {
    /// Starts the files of a run in its folder, which is made.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn create(run: &Path, columns: &Columns) -> Result<Self> {
        fs::create_dir_all(run).with_context(|| format!("{}: cannot be made", run.display()))?;
        clean(run)?;
        commit_note::forget(run)?;
        commit_note::add(run)?;
        let mut rounds = CsvFile::create(run, ROUNDS)?;
        rounds.row(&columns.header())?;
        let mut timings = CsvFile::create(run, TIMINGS)?;
        timings.row(&["round", "evaluate_s", "generate_s", "learn_s"].map(String::from))?;
        Ok(Self {
            rounds,
            timings,
            columns: columns.clone(),
        })
    }

    /// Goes on with the files of a run from where they stood: what came after is cut off.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn resume(run: &Path, columns: &Columns, csv: &[Position]) -> Result<Self> {
        let [rounds, timings] = csv else {
            bail!("{}: expected two positions of CSV files", run.display())
        };
        clean(run)?;
        commit_note::add(run)?;
        Ok(Self {
            rounds: CsvFile::resume(run, rounds)?,
            timings: CsvFile::resume(run, timings)?,
            columns: columns.clone(),
        })
    }

    /// Writes the rows of a round. `seconds` are those of evaluating, generating and learning.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&mut self, records: &[RoundRecord], seconds: [f64; 3]) -> Result<()> {
        for record in records {
            let cells = record.cells(&self.columns).into_iter();
            let cells: Vec<String> = cells.map(|(_, cell)| cell).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_renamed_is_emptied_into_one_within() {
        let dir = tempfile::tempdir().unwrap();
        let names = |dir: &Path| {
            let entries = fs::read_dir(dir).unwrap();
            let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        for n in 1..=2 {
            fs::create_dir_all(dir.path().join("runs/x")).unwrap();
            for file in [LOCK, EXPERIMENT, "runs/x/rounds.csv"] {
                fs::write(dir.path().join(file), "").unwrap();
            }
            set_aside_within(dir.path()).unwrap();
            assert_eq!(
                names(&dir.path().join(format!("old-{n}"))),
                [EXPERIMENT, RUNS]
            );
        }
        assert_eq!(names(dir.path()), [LOCK, "old-1", "old-2"]);
    }
}
