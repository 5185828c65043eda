//! Event files that TensorBoard reads: a scalar for each metric and round, the mean over the agents.
//!
//! A file is a list of records (length, checksum, bytes, checksum) of protocol buffers; both are so
//! small here that they are written by hand, as TensorFlow's `event.proto` and `record_writer` have them.

use crate::swarm::{Columns, RoundRecord};
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Begin of the names of event files.
const PREFIX: &str = "events.out.tfevents.";

/// The event file of a run, from now on.
pub(super) struct Events {
    path: PathBuf,
    file: File,
}

impl Events {
    /// Takes the events of rounds after one out of the files of earlier starts: those rounds are made
    /// again, and TensorBoard would show them twice.
    pub(super) fn forget(run: &Path, after: u32) -> Result<()> {
        let unread = || format!("{}: cannot be read", run.display());
        for entry in fs::read_dir(run).with_context(unread)? {
            let path = entry.with_context(unread)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(PREFIX) {
                continue;
            }
            let cut = || {
                let bytes = fs::read(&path)?;
                match length_up_to(&bytes, after.into()) {
                    0 => fs::remove_file(&path),
                    whole if whole == bytes.len() => Ok(()),
                    whole => File::options()
                        .write(true)
                        .open(&path)?
                        .set_len(whole as u64),
                }
            };
            cut().with_context(|| format!("{}: cannot be mended", path.display()))?;
        }
        Ok(())
    }

    /// Starts a file beside those of earlier starts; TensorBoard reads them as one.
    pub(super) fn create(run: &Path) -> Result<Self> {
        let since = seconds();
        let name = |n: u32| {
            run.join(format!(
                "{PREFIX}{:.0}.{}.{n}",
                since.floor(),
                std::process::id()
            ))
        };
        let path = (0..)
            .map(name)
            .find(|path| !path.exists())
            .context("one of the numbers is free")?;
        let file = File::create(&path)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        let mut events = Self { path, file };
        events.write(&[double(1, since), text(3, "brain.Event:2")].concat())?;
        Ok(events)
    }

    /// Writes the metrics of a round.
    pub(super) fn round(&mut self, records: &[RoundRecord], columns: &Columns) -> Result<()> {
        let Some(first) = records.first() else {
            return Ok(());
        };
        let rows: Vec<Vec<(String, String)>> =
            records.iter().map(|record| record.cells(columns)).collect();
        let mut summary = Vec::new();
        for (column, (name, _)) in rows[0]
            .iter()
            .enumerate()
            .filter(|(_, (name, _))| name != "round" && name != "agent")
        {
            let values: Vec<f64> = rows
                .iter()
                .filter_map(|row| row[column].1.parse().ok())
                .collect();
            if !values.is_empty() {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                summary.extend(bytes(1, &[text(1, name), float(2, mean as f32)].concat()));
            }
        }
        let step = [&[2 << 3][..], &varint(first.round.into())].concat();
        self.write(&[double(1, seconds()), step, bytes(5, &summary)].concat())
    }

    fn write(&mut self, event: &[u8]) -> Result<()> {
        let length = (event.len() as u64).to_le_bytes();
        let record = [&length[..], &masked(&length), event, &masked(event)].concat();
        self.file
            .write_all(&record)
            .with_context(|| format!("{}: cannot be written", self.path.display()))
    }
}

fn seconds() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// The checksum of a record: CRC-32C, turned and shifted so that it is no checksum of itself.
fn masked(data: &[u8]) -> [u8; 4] {
    crc32c::crc32c(data)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
        .to_le_bytes()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn double(field: u8, value: f64) -> Vec<u8> {
    [&[field << 3 | 1][..], &value.to_le_bytes()].concat()
}

fn float(field: u8, value: f32) -> Vec<u8> {
    [&[field << 3 | 5][..], &value.to_le_bytes()].concat()
}

fn bytes(field: u8, value: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2][..], &varint(value.len() as u64), value].concat()
}

fn text(field: u8, value: &str) -> Vec<u8> {
    bytes(field, value.as_bytes())
}

/// The length of the records of a file up to a step; 0 where none of them has a step.
fn length_up_to(bytes: &[u8], last: u64) -> usize {
    let (mut end, mut steps) = (0, 0);
    while let Some(event) = event_at(&bytes[end..]) {
        match step(event) {
            Some(step) if step > last => break,
            step => steps += u64::from(step.is_some()),
        }
        end += event.len() + OVERHEAD;
    }
    if steps == 0 { 0 } else { end }
}

/// Bytes of a record besides those of its event: its length and two checksums.
const OVERHEAD: usize = 8 + 4 + 4;

/// The first event of some records; none where it is not whole.
fn event_at(records: &[u8]) -> Option<&[u8]> {
    let length = u64::from_le_bytes(*records.first_chunk()?);
    let end = usize::try_from(length).ok()?.checked_add(12)?;
    records
        .get(end..end.checked_add(4)?)
        .and(records.get(12..end))
}

/// The step of an event, which stands behind its time; none of the event that begins a file.
fn step(event: &[u8]) -> Option<u64> {
    let rest = event.get(9..)?.strip_prefix(&[2 << 3])?;
    let mut value = 0;
    for (place, byte) in rest.iter().enumerate().take(9) {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of all whole events of a run.
    fn steps(run: &Path) -> Vec<u64> {
        let mut files: Vec<PathBuf> = fs::read_dir(run)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        let mut all = Vec::new();
        for bytes in files.iter().map(|file| fs::read(file).unwrap()) {
            let mut rest = &bytes[..];
            while let Some(event) = event_at(rest) {
                all.extend(step(event));
                rest = &rest[event.len() + OVERHEAD..];
            }
            assert!(rest.is_empty(), "no record is torn");
        }
        all
    }

    #[test]
    fn rounds_that_are_made_again_stand_once() {
        let dir = tempfile::tempdir().unwrap();
        let write = |rounds: std::ops::RangeInclusive<u32>| {
            let mut events = Events::create(dir.path()).unwrap();
            for round in rounds {
                let record = RoundRecord {
                    round,
                    own_reward: Some(0.5),
                    ..RoundRecord::default()
                };
                events.round(&[record], &Columns::default()).unwrap();
            }
            events.path
        };
        let first = write(1..=300);
        Events::forget(dir.path(), 200).unwrap();
        let second = write(201..=210);
        // a record that was cut off while it was written
        let bytes = fs::read(&second).unwrap();
        fs::write(&second, &bytes[..bytes.len() - 3]).unwrap();
        Events::forget(dir.path(), 205).unwrap();
        write(206..=207);
        assert_eq!(steps(dir.path()), (1..=207).collect::<Vec<u64>>());
        Events::forget(dir.path(), 0).unwrap();
        assert!(steps(dir.path()).is_empty() && !first.exists());
    }
}
