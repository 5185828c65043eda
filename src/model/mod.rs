//! The decoder of Qwen2 and Qwen3 on Burn, its shape and its weights. It knows no task.

mod attention;
mod config;
mod decoder;
pub mod optimizer_state;
mod weight_error;
mod weight_files;
pub mod weights;

pub use burn::tensor::Device;
pub use config::{Error as ConfigError, ModelConfig};
pub use decoder::Decoder;
pub(crate) use decoder::ForwardContext;
