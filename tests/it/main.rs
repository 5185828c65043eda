//! One integration crate for properties that cross modules.
#![allow(clippy::unwrap_used)]
#![allow(
    clippy::too_many_lines,
    reason = "one case per line, and rustfmt makes several of one"
)]

mod asking;
mod brought;
mod draws;
mod floors;
mod folders;
mod hostile;
#[cfg(unix)]
mod human;
mod league;
mod model;
#[cfg(feature = "nats")]
mod nats;
mod outsiders;
mod poison;
mod program;
mod report;
mod resume;
mod schedule;
mod swarm;
mod tasks;
mod tasks_cli;
mod tokenizer;
mod tuning;
mod watch;
