//! Generating completions and learning from them: everything between a model and a policy.
//!
//! The way of an update: examples are laid out as a [`batch`], the [`head`] turns hidden states to
//! log-probs, [`grpo`] or [`sft`] turn those to a loss, [`backward`] carries it to the weights and
//! the [`optimizer`] moves them.

mod agreement;
mod backward;
mod batch;
mod blockwise;
mod checkpointed;
mod decode;
mod generate;
mod grpo;
mod head;
mod optimizer;
pub mod sft;
mod sums;
#[cfg(test)]
mod tests;

pub use agreement::Agreement;
pub use batch::Example;
pub use decode::Decoding;
pub use generate::{Generated, generate};
pub use grpo::{LossType, TrainConfig, Update, token_loss};
pub use head::logits_alive;
pub use optimizer::{Optimizer, OptimizerConfig};
pub use sums::UpdateStats;
