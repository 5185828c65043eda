//! The experiment: its TOML as types and as arms, the models that agents start from, the runs and their
//! files, and the recipe of the small base model. This floor alone touches files and clocks.
//!
//! `toml_file` reads, `config` has the tables, `validate` and `resolved` check them once, `arms` puts
//! them together; `models` opens what agents start from; `plan` and `memory` reckon what it takes;
//! `run` makes the runs with `results`, `csv_file`, `checkpoint` and `rollout_log`.

mod agent_table;
mod arms;
mod base_model_score;
mod benchmark;
mod bus_table;
mod checkpoint;
mod commit_note;
mod config;
mod csv_file;
mod device;
mod hub;
mod inputs;
mod memory;
mod models;
mod node;
mod outsiders;
mod plan;
mod preallocate;
mod pretrain;
mod questions_file;
mod recipe;
mod recording;
mod resolved;
mod results;
mod rollout_log;
mod run;
mod run_checks;
mod tensorboard;
mod toml_file;
mod tune;
mod validate;
mod watcher;

pub use agent_table::{AgentTable, MemberKind, RewardTable};
pub use arms::{Arm, Experiment};
pub use base_model_score::Measured;
pub use benchmark::Benchmark;
pub use bus_table::{BusKind, BusTable};
pub use checkpoint::CheckpointTable;
pub use config::{
    Dtype, EvalTable, ExperimentFile, GenerateTable, ModelTable, Overlong, ShadowTable, SwarmTable,
    SweepTable, TasksTable, TuneTable,
};
pub use csv_file::Position;
pub use device::{DeviceConfig, DeviceKind};
pub use memory::Memory;
pub use models::Models;
pub use node::{Node, NodeOptions};
pub use plan::Plan;
pub use pretrain::Outcome;
pub use recipe::{Content, Form, ModelShape, Recipe, RecipeTasks, RecipeTrain};
pub use resolved::Resolved;
pub use results::{Results, RunFiles};
pub use rollout_log::LogTable;
pub use run::{Ending, RunOptions, run};
pub use run_checks::RunFailed;
pub use tune::{Tuned, tune};
pub use watcher::{Progress, Watcher};
