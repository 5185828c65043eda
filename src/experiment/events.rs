//! Event files that TensorBoard reads: a scalar a metric and round, the mean over the agents.
//!
//! A file is a list of records (length, checksum, bytes, checksum) of protocol buffers; both are so
//! small here that they are written by hand, as TensorFlow's `event.proto` and `record_writer` have them.

use crate::record::RoundRecord;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The event file of a run, from now on.
pub(super) struct Events {
    path: PathBuf,
    file: File,
}

impl Events {
    /// Starts a file beside those of earlier starts; TensorBoard reads them as one.
    pub(super) fn create(run: &Path) -> Result<Self> {
        let since = seconds();
        let name = |n: u32| {
            run.join(format!(
                "events.out.tfevents.{:.0}.{}.{n}",
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
    pub(super) fn round(&mut self, records: &[RoundRecord], tasks: &[String]) -> Result<()> {
        let Some(first) = records.first() else {
            return Ok(());
        };
        let rows: Vec<Vec<(String, String)>> =
            records.iter().map(|record| record.cells(tasks)).collect();
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
