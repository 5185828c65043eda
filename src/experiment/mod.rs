//! The experiment: its TOML as types, the model folder it starts from, the runs, and the recipe of
//! the small base model. This floor alone touches files and clocks.

mod base;
mod checkpoint;
mod config;
mod cook;
mod device;
mod events;
mod hub;
mod journal;
mod models;
mod plan;
mod recipe;
mod rehearsal;
mod reserve;
mod results;
mod run;
mod source;
mod toml_file;

pub use base::Base;
pub use checkpoint::CheckpointTable;
pub use config::{
    Dtype, EvalTable, Experiment, GenerateTable, ModelTable, Overlong, SpecialistTable, SwarmTable,
    TasksTable,
};
pub use cook::{Measured, Outcome};
pub use device::{Device, DeviceConfig, DeviceKind};
pub use journal::{Kept, LogTable, rollouts};
pub use models::Models;
pub use plan::{Memory, Plan};
pub use recipe::{Content, Form, ModelShape, Recipe, RecipeTasks, RecipeTrain};
pub use rehearsal::{Rehearsal, rehearse};
pub use results::{Position, Results, RunFiles};
pub use run::{Ending, Progress, Watcher, run};
pub use toml_file::Sweep;
