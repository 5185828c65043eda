//! The decoder of Qwen2, Qwen3 and Llama on Burn, its shape and its weights. It knows no task.

mod attention;
mod config;
mod config_checks;
mod decoder;
mod family;
pub mod optimizer_state;
mod rope_config;
mod shard;
mod tensor_names;
mod tensor_shapes;
mod weight_error;
mod weight_files;
pub mod weights;

pub use burn::tensor::Device;
pub use config::{Error as ConfigError, ModelConfig};
pub use decoder::Decoder;
pub(crate) use decoder::ForwardContext;
