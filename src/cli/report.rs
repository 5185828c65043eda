//! `sapo report`: tables and pictures again, from CSV alone.

use crate::report;
use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `sapo report`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A results folder
    dir: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut out = std::io::stdout();
    if report::is_sweep(&args.dir) {
        for dir in report::sweep_folders(&args.dir)? {
            report::write(&dir)?;
        }
        writeln!(out, "{}", report::write_sweep(&args.dir)?)?;
        return Ok(());
    }
    let summary = report::write(&args.dir)?;
    writeln!(out, "{}", summary.console())?;
    Ok(())
}
