//! `sapo report`: tables and pictures again, from CSV alone.

use crate::report;
use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `sapo report`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A results folder, of one experiment or of a sweep
    dir: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut out = std::io::stdout();
    if let Some(folders) = report::sweep_folders(&args.dir)? {
        let table = report::write_sweep(&args.dir)?;
        folders
            .iter()
            .try_for_each(|dir| report::write(dir).map(drop))?;
        writeln!(out, "{table}")?;
        return Ok(());
    }
    let summary = report::write(&args.dir)?;
    writeln!(out, "{}", summary.console())?;
    Ok(())
}
