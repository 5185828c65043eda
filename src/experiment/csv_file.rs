//! The CSV files of a run: rows appended and flushed, cut off where a checkpoint says that they stood.

use crate::results_layout::beside;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Where a CSV file of a run stood.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Its name.
    pub file: String,
    /// Its length.
    pub bytes: u64,
}

impl Position {
    /// Bytes that the file has got since.
    pub(super) fn behind(&self, run: &Path) -> Result<u64> {
        Ok(fs::metadata(self.find(run)?)?.len() - self.bytes)
    }

    /// The file, which must still have what it had.
    pub(super) fn find(&self, run: &Path) -> Result<PathBuf> {
        // a run that was stopped while it ended has already given its file the final name
        let paths = [&self.file[..], final_name(&self.file)].map(|name| run.join(name));
        let Some(path) = paths.into_iter().find(|path| path.exists()) else {
            bail!("{} is missing", self.file);
        };
        let (found, expected) = (fs::metadata(&path)?.len(), self.bytes);
        ensure!(
            found >= expected,
            "{} has {found} bytes, expected at least {expected}",
            path.display()
        );
        Ok(path)
    }
}

/// The name that a file has when it is whole.
fn final_name(name: &str) -> &str {
    name.strip_suffix(&beside("")).unwrap_or(name)
}

/// A CSV file. Where there already is one, the new one is written beside it and takes its place when
/// it is whole, so that starting over loses nothing.
pub(super) struct CsvFile {
    path: PathBuf,
    written: PathBuf,
    writer: csv::Writer<File>,
}

impl CsvFile {
    /// Starts a file of a run.
    pub(super) fn create(run: &Path, name: &str) -> Result<Self> {
        let path = run.join(name);
        let written = match path.exists() {
            true => run.join(beside(name)),
            false => path.clone(),
        };
        let file = File::create(&written);
        let file = file.with_context(|| format!("{}: cannot be written", written.display()))?;
        Ok(Self {
            writer: csv::Writer::from_writer(file),
            path,
            written,
        })
    }

    /// Goes on with a file of a run, cut off where it stood.
    pub(super) fn resume(run: &Path, position: &Position) -> Result<Self> {
        let written = position.find(run)?;
        let open = || {
            let mut file = File::options().write(true).open(&written)?;
            file.set_len(position.bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok::<_, std::io::Error>(file)
        };
        let file = open().with_context(|| format!("{}: cannot be written", written.display()))?;
        Ok(Self {
            writer: csv::Writer::from_writer(file),
            path: run.join(final_name(&position.file)),
            written,
        })
    }

    pub(super) fn row(&mut self, cells: &[String]) -> Result<()> {
        let written = self.writer.write_record(cells);
        written.with_context(|| format!("{}: cannot be written", self.written.display()))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        let flushed = self.writer.flush();
        flushed.with_context(|| format!("{}: cannot be written", self.written.display()))
    }

    /// Waits until all rows are on the disk, and says where the file stands.
    pub(super) fn sync(&mut self) -> Result<Position> {
        self.flush()?;
        let file = self.writer.get_ref();
        let bytes = file.sync_all().and_then(|()| file.metadata());
        let bytes = bytes.with_context(|| format!("{}: cannot be written", self.written.display()));
        let name = self.written.file_name().unwrap_or_default();
        Ok(Position {
            file: name.to_string_lossy().into_owned(),
            bytes: bytes?.len(),
        })
    }

    /// Gives a file that is whole its name.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        let renamed = fs::rename(&self.written, &self.path);
        renamed.with_context(|| format!("{}: cannot be written", self.path.display()))?;
        self.written.clone_from(&self.path);
        Ok(())
    }
}
