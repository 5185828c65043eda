//! Generating completions and learning from them: everything between a model and a member of the swarm.
//!
//! The way of an update: examples are laid out as a [`batch`], the [`head`] turns hidden states into
//! log-probs, the [`loss`], with its [`importance`] weights, or [`sft`] give the gradient by those, [`backward`] carries it to the weights
//! and the [`optimizer`] moves them. [`update`] does so minibatch by minibatch.

mod activation_checkpointing;
mod backward;
mod batch;
mod config;
mod decode;
mod decode_on_device;
mod generate;
mod head;
mod importance;
mod loss;
mod metrics;
mod optimizer;
mod parity;
mod reduction;
pub mod sft;
#[cfg(test)]
mod tests;
mod update;

pub use batch::Example;
pub use config::{ImportanceSampling, LossType, TrainConfig};
pub use decode::Decoding;
pub use generate::{Generated, generate};
pub use head::logits_alive;
pub use metrics::UpdateStats;
pub use optimizer::{Optim, Optimizer, OptimizerConfig};
pub use parity::Parity;
pub use update::Update;
