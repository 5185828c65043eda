//! The decoder of Qwen2 and Qwen3 on Burn, its shape, its cache and its weights. It knows no task.

mod attention;
mod cache;
mod checkpoint;
mod config;
mod decoder;
pub mod moments;
mod rope;
pub mod weights;

pub(crate) use cache::indices;
pub use cache::{Cache, Prefix};
pub use config::{Error as ConfigError, ModelConfig};
pub use decoder::{Decoder, padded_tokens};
pub(crate) use decoder::{Layer, Pass};
