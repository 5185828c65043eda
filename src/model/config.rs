//! The shape of a model, read from the `config.json` of a Hugging Face folder.
//!
//! Only what the decoder needs is kept; `config_checks` refuses what it could not honour, once, by name.

use super::family::Family;
use super::rope_config::{Refused, RopeConfig};
use crate::text_file;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a `config.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {cause}")]
    Read {
        /// The file.
        file: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// The file cannot be written.
    #[error("{file}: cannot be written: {cause}")]
    Write {
        /// The file.
        file: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// A key is missing or of a wrong type.
    #[error("{file}: {cause}")]
    Parse {
        /// The file.
        file: PathBuf,
        /// The cause, with line and column.
        cause: serde_json::Error,
    },
    /// A key holds a value that the decoder does not implement.
    #[error("{file}: key `{key}`: found {found}, expected {expected}")]
    Unsupported {
        /// The file.
        file: PathBuf,
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// What would do.
        expected: String,
    },
}

/// The shape of a decoder of Qwen2, Qwen3 or Llama, under the key names of Hugging Face. What a file
/// leaves out is what transformers takes it for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ModelConfig {
    /// `qwen2`, `qwen3` or `llama`.
    pub model_type: String,
    /// Rows of the embedding.
    pub vocab_size: usize,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the SwiGLU layer.
    pub intermediate_size: usize,
    /// Decoder layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: usize,
    /// Key and value heads, each serving as many query heads; as many as those where the file has none.
    #[serde(default)]
    num_key_value_heads: Option<usize>,
    /// Added to the mean square in every norm.
    #[serde(default = "usual_epsilon")]
    pub rms_norm_eps: f64,
    /// Whether the head is the transposed embedding.
    #[serde(default)]
    pub tie_word_embeddings: bool,
    /// Longest sequence that the model was made for, where the file says.
    #[serde(default)]
    max_position_embeddings: Option<usize>,
    /// Width of one head, where it is not what [`ModelConfig::head_dim`] takes it for.
    #[serde(default)]
    pub(super) head_dim: Option<usize>,
    /// One id, several or none.
    #[serde(default, deserialize_with = "present")]
    eos_token_id: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    rope_theta: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    rope_parameters: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    rope_scaling: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    original_max_position_embeddings: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    partial_rotary_factor: Option<Value>,
    #[serde(default)]
    pub(super) use_sliding_window: bool,
    #[serde(default = "usual_window")]
    pub(super) sliding_window: Option<usize>,
    #[serde(default)]
    pub(super) max_window_layers: Option<usize>,
    #[serde(default)]
    pub(super) layer_types: Option<Vec<String>>,
    #[serde(default)]
    pub(super) attention_bias: bool,
    #[serde(default)]
    pub(super) mlp_bias: bool,
    #[serde(default)]
    pub(super) hidden_act: Option<String>,
    #[serde(default)]
    pub(super) quantization_config: Value,
}

/// That of transformers.
fn usual_epsilon() -> f64 {
    1e-6
}

/// That of transformers for Qwen.
fn usual_window() -> Option<usize> {
    Some(4096)
}

/// A key that is there, though it may be null.
fn present<'a, D: Deserializer<'a>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl ModelConfig {
    /// Reads a `config.json`.
    ///
    /// # Errors
    /// When the file is missing, malformed, or asks for what the decoder does not implement.
    pub fn load(file: &Path) -> Result<Self, Error> {
        let text = text_file::read(file).map_err(|cause| Error::Read {
            file: file.to_owned(),
            cause,
        })?;
        let config: Self = text_file::json(&text).map_err(|cause| Error::Parse {
            file: file.to_owned(),
            cause,
        })?;
        config.validate(file)?;
        Ok(config)
    }

    /// How positions become angles.
    pub(super) fn rope(&self) -> Result<RopeConfig, Refused> {
        let keys = [
            ("rope_theta", &self.rope_theta),
            ("rope_parameters", &self.rope_parameters),
            ("rope_scaling", &self.rope_scaling),
            (
                "original_max_position_embeddings",
                &self.original_max_position_embeddings,
            ),
            ("partial_rotary_factor", &self.partial_rotary_factor),
        ];
        let given = keys.into_iter().filter_map(|(key, value)| {
            let value = value.clone()?;
            Some((key.to_owned(), value))
        });
        RopeConfig::new(
            &given.collect::<Map<_, _>>(),
            self.max_position_embeddings(),
        )
    }

    /// The frequency by which each pair of coordinates of a head turns from one position to the next.
    ///
    /// # Panics
    /// When the keys were not checked and are wrong.
    pub(super) fn rope_frequencies(&self) -> Vec<f64> {
        let rope = self.rope().expect("checked when the file was read");
        rope.frequencies(self.head_dim())
    }

    /// The family; that of Qwen2 for a name that is not known.
    pub(super) fn family(&self) -> Family {
        Family::of(&self.model_type).unwrap_or(Family::Qwen2)
    }

    /// Key and value heads, each serving `num_attention_heads / num_key_value_heads` query heads.
    pub fn num_key_value_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    /// Longest sequence that the model was made for.
    pub fn max_position_embeddings(&self) -> usize {
        self.max_position_embeddings
            .unwrap_or_else(|| self.family().max_position_embeddings())
    }

    /// Width of one head; where the file has none, that of transformers: 128 for Qwen3, a fraction of
    /// the hidden size for the others.
    pub fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or(match self.family() {
            Family::Qwen3 => 128,
            Family::Qwen2 | Family::Llama => self.hidden_size / self.num_attention_heads,
        })
    }

    /// True for Qwen3, which norms each query and key head.
    pub fn has_head_norms(&self) -> bool {
        self.family() == Family::Qwen3
    }

    /// The end-of-sequence ids of `config.json` and then, where there is one, those of
    /// `generation_config.json` in a folder that are new. Of the second file nothing else is read: how to
    /// decode is the experiment's business.
    ///
    /// # Errors
    /// When `generation_config.json` exists but is not JSON.
    pub fn eos_token_ids(&self, dir: Option<&Path>) -> Result<Vec<u32>, Error> {
        let mut ids = match (&self.eos_token_id, self.family()) {
            (None, Family::Llama) => vec![2],
            (given, _) => given.as_ref().map(ids).unwrap_or_default(),
        };
        let Some(dir) = dir else { return Ok(ids) };
        let file = dir.join("generation_config.json");
        let text = match text_file::read(&file) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(ids),
            text => text.map_err(|cause| Error::Read {
                file: file.clone(),
                cause,
            })?,
        };
        let other: Value = text_file::json(&text).map_err(|cause| Error::Parse { file, cause })?;
        for id in self::ids(&other["eos_token_id"]) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Writes the `config.json` of this shape with f32 weights, as transformers reads it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, dir: &Path) -> Result<(), Error> {
        let file = dir.join("config.json");
        let text = format!("{:#}\n", self.to_json());
        std::fs::write(&file, text).map_err(|cause| Error::Write { file, cause })
    }

    /// Lets a `config.json` that says of the head what its weights belie say what they are.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn correct(&self, dir: &Path) -> Result<(), Error> {
        let file = dir.join("config.json");
        let said = Self::load(&file)?;
        if said.tie_word_embeddings == self.tie_word_embeddings {
            return Ok(());
        }
        let text = text_file::read(&file).map_err(|cause| Error::Read {
            file: file.clone(),
            cause,
        })?;
        let mut json: Value = text_file::json(&text).map_err(|cause| Error::Parse {
            file: file.clone(),
            cause,
        })?;
        json["tie_word_embeddings"] = self.tie_word_embeddings.into();
        std::fs::write(&file, format!("{json:#}\n")).map_err(|cause| Error::Write { file, cause })
    }

    fn to_json(&self) -> Value {
        let mut json = json!({
            "architectures": [self.family().architecture()],
            "model_type": self.model_type,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads(),
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": null,
            "tie_word_embeddings": self.tie_word_embeddings,
            "max_position_embeddings": self.max_position_embeddings(),
            "attention_dropout": 0.0,
            "eos_token_id": self.eos_token_id,
            "torch_dtype": "float32",
        });
        let rope = self.rope().expect("checked when the file was read");
        rope.write(&mut json);
        if let Some(head_dim) = self.head_dim {
            json["head_dim"] = head_dim.into();
        }
        for (key, bias) in [
            ("attention_bias", self.attention_bias),
            ("mlp_bias", self.mlp_bias),
        ] {
            if bias {
                json[key] = true.into();
            }
        }
        json
    }
}

fn ids(value: &Value) -> Vec<u32> {
    let id = |v: &Value| v.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Value::Array(list) => list.iter().filter_map(id).collect(),
        one => id(one).into_iter().collect(),
    }
}
