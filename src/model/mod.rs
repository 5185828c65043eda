//! The decoder of Qwen2 and Qwen3 on Burn, its shape, its cache and its weights. It knows no task.

mod attention;
mod cache;
mod checkpoint;
mod config;
mod decoder;
pub(crate) mod host;
pub mod moments;
mod packing;
mod plain;
mod rope;
pub mod weights;

pub use burn::tensor::Device;
pub use cache::Cache;
pub use config::{Error as ConfigError, ModelConfig};
pub use decoder::Decoder;
pub(crate) use decoder::Pass;
pub use packing::Packing;
pub(crate) use plain::indices;
