//! Names and paths of a results folder, and the one way in which a whole file is put there.
//!
//! ```text
//! results/<experiment>/experiment.toml  arms.csv  table.md  ...
//! results/<experiment>/runs/<arm>/seed-<s>/{rounds.csv, timings.csv, rollouts.jsonl, ...}
//! ```
//! What writes a run and what reports it both take the names from here.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The experiment as it was resolved, in a results folder.
pub const EXPERIMENT: &str = "experiment.toml";
/// Hashes of what the experiment read besides, in a results folder.
pub const INPUTS: &str = "inputs.json";
/// The arms of the experiment, in a results folder.
pub const ARMS: &str = "arms.csv";
/// The folder of all runs, in a results folder.
pub const RUNS: &str = "runs";
/// One row per agent and round, in the folder of a run.
pub const ROUNDS: &str = "rounds.csv";
/// One row per round, the mean over agents, in the folder of a run that is kept in short.
pub const MEANS: &str = "means.csv";
/// What a judge gave each agent, in the folder of a run that is kept in short.
pub const JUDGE: &str = "judge.csv";
/// The folder of the runs of a tuning, in a results folder.
pub const TUNING: &str = "tuning";
/// What a tuning has found, in a results folder.
pub const TUNING_TABLE: &str = "tuning.csv";
/// Seconds of each round, in the folder of a run.
pub const TIMINGS: &str = "timings.csv";
/// The rollouts of some rounds, in the folder of a run.
pub const ROLLOUTS: &str = "rollouts.jsonl";
/// Which commits made a run, in its folder.
pub const COMMIT: &str = "commit";
/// One line per round, in the folder of a run.
pub const LOG: &str = "log.txt";
/// The name by which a node of a swarm is known again, in its results folder.
pub const NODE: &str = "node";
/// The checkpoints of a run, in its folder.
pub const CHECKPOINTS: &str = "checkpoint";
/// The models of all agents at the end, in the folder of a run.
pub const MODELS: &str = "models";

/// What comes before the number in the name of a run's folder.
const SEED: &str = "seed-";
/// Begin and end of the names of rollouts that were set aside, compressed.
const ROTATED: [&str; 2] = ["rollouts-", ".jsonl.gz"];

/// The folder of a run.
pub fn run_folder(results: &Path, arm: &str, seed: u64) -> PathBuf {
    results.join(RUNS).join(arm).join(format!("{SEED}{seed}"))
}

/// The seed in the name of a run's folder.
pub fn seed_of(name: &str) -> Option<u64> {
    name.strip_prefix(SEED)?.parse().ok()
}

/// What a file is called while another of its name still counts.
pub fn beside(name: &str) -> String {
    format!("{name}.new")
}

/// The file into which rollouts up to a round are compressed.
pub fn rotated_rollouts(round: u32) -> String {
    let [start, end] = ROTATED;
    format!("{start}{round:08}{end}")
}

/// The files of kept rollouts in the folder of a run, in the order of their rounds; the last of them
/// may be the one that is still written to.
///
/// # Errors
/// When the folder cannot be read.
pub fn rollout_files(run: &Path) -> io::Result<Vec<PathBuf>> {
    let [start, end] = ROTATED;
    let mut files = Vec::new();
    for entry in fs::read_dir(run)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == ROLLOUTS || (name.starts_with(start) && name.ends_with(end)) {
            files.push(path);
        }
    }
    // a digit sorts before a letter, so the one that is not compressed yet comes last
    files.sort();
    Ok(files)
}

/// Begin of the names of files that are not whole yet.
const NEW: &str = ".new-";

/// Puts a whole file in its place: written beside it, synced, and renamed. Whoever reads it finds the
/// old bytes or the new ones, whenever the program or the machine stops, and however many write it.
///
/// # Errors
/// When the file cannot be written; the old one is then as it was.
pub fn write_atomically(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let put = || {
        let mut new = builder().tempfile_in(folder)?;
        // tells `remove_leftovers` that its writer lives
        new.as_file().lock()?;
        new.write_all(bytes)?;
        new.as_file().sync_all()?;
        new.persist(file).map_err(|e| e.error)
    };
    match put() {
        // another program has taken it for a leftover in the instant before it was locked
        Err(e) if e.kind() == ErrorKind::NotFound => put()?,
        other => other?,
    };
    File::open(folder)?.sync_all()
}

/// The permissions that the umask gives to a new file in a folder, for what is written by others' code.
///
/// # Errors
/// When no file can be made there.
pub fn usual_permissions(folder: &Path) -> io::Result<fs::Permissions> {
    Ok(builder()
        .tempfile_in(folder)?
        .as_file()
        .metadata()?
        .permissions())
}

/// Removes what programs that were killed while they wrote have left in a folder.
///
/// # Errors
/// When the folder cannot be read or a file cannot be removed.
pub fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let left = |path: &Path| File::open(path).is_ok_and(|file| file.try_lock().is_ok());
        if name.starts_with(NEW) && left(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Temporary files with the permissions that the umask gives to any other file.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(NEW);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_leaves_the_whole_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.md");
        for text in ["old", "new and longer"] {
            write_atomically(&file, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let other = dir.path().join("other");
            fs::write(&other, "").unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode(&file), mode(&other));
        }
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        assert!(write_atomically(&folder, b"x").is_err());
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            3 - usize::from(cfg!(not(unix)))
        );
    }

    #[test]
    fn leftovers_go_and_what_is_being_written_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [dead, living] = ["dead", "living"].map(|name| dir.path().join(format!("{NEW}{name}")));
        fs::write(&dead, "half").unwrap();
        let writer = File::create(&living).unwrap();
        writer.lock().unwrap();
        fs::write(dir.path().join("new"), "").unwrap();
        remove_leftovers(dir.path()).unwrap();
        assert!(!dead.exists() && living.exists() && dir.path().join("new").exists());
    }

    #[test]
    fn rollouts_come_in_the_order_of_their_rounds() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            ROLLOUTS.to_owned(),
            rotated_rollouts(150),
            rotated_rollouts(50),
        ];
        for name in names.iter().chain(&["log.txt".to_owned()]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let found = rollout_files(dir.path()).unwrap();
        let found: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(found, [&names[2][..], &names[1], &names[0]]);
        assert_eq!(
            (seed_of("seed-7"), seed_of("seed-x"), seed_of("7")),
            (Some(7), None, None)
        );
    }
}
