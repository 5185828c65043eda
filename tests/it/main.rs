//! One integration crate for properties that cross modules.
#![allow(clippy::unwrap_used)]

mod floors;
mod folders;
mod hostile;
mod model;
mod program;
mod report;
mod resume;
mod swarm;
mod tasks;
mod tasks_cli;
mod tokenizer;
mod watch;
