//! The families of decoders that are known: they differ in biases, norms of heads, and what a
//! `config.json` means by what it leaves out.

/// A family, under the `model_type` of `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Biases on queries, keys and values.
    Qwen2,
    /// A norm of each query and key head.
    Qwen3,
    /// Neither.
    Llama,
}

impl Family {
    /// All of them, for errors.
    pub(super) const NAMES: &str = "\"qwen2\", \"qwen3\" or \"llama\"";

    /// The family of a `model_type`.
    pub(super) fn of(model_type: &str) -> Option<Self> {
        match model_type {
            "qwen2" => Some(Self::Qwen2),
            "qwen3" => Some(Self::Qwen3),
            "llama" => Some(Self::Llama),
            _ => None,
        }
    }

    /// The name of the whole model in transformers.
    pub(super) fn architecture(self) -> &'static str {
        match self {
            Self::Qwen2 => "Qwen2ForCausalLM",
            Self::Qwen3 => "Qwen3ForCausalLM",
            Self::Llama => "LlamaForCausalLM",
        }
    }

    /// The longest sequence, where the file does not say.
    pub(super) fn max_position_embeddings(self) -> usize {
        match self {
            Self::Qwen2 | Self::Qwen3 => 32_768,
            Self::Llama => 2_048,
        }
    }
}
