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
    let summary = report::write(&args.dir)?;
    writeln!(std::io::stdout(), "{}", summary.console())?;
    Ok(())
}
