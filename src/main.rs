//! The program: runs the command and prints an error once.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

/// Tensor operations allocate and free blocks of megabytes all the time, and giving each back to the
/// system, as most allocators do, costs a fifth of all CPU time.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match sapo::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) if sapo::cli::reader_is_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // the only place that prints an error; where nobody reads it, the exit code still tells
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
