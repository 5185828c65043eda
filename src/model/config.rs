//! The shape of a model, read from the `config.json` of a Hugging Face folder.
//!
//! Only what the decoder needs is kept. What it could not honour (another architecture, a scaled
//! rotary embedding, a sliding window) is refused here, once, by name.

use serde::Deserialize;
use serde_json::{Value, json};
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

/// The shape of a Qwen2 or Qwen3 decoder, under the key names of Hugging Face.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ModelConfig {
    /// `qwen2` or `qwen3`.
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
    /// Key and value heads, each serving `num_attention_heads / num_key_value_heads` query heads.
    pub num_key_value_heads: usize,
    /// Added to the mean square in every norm.
    pub rms_norm_eps: f64,
    /// Where transformers 4 keeps the base of the rotary frequencies.
    #[serde(default)]
    rope_theta: Option<f64>,
    /// Where transformers 5 keeps it.
    #[serde(default)]
    rope_parameters: Option<RopeParameters>,
    /// Whether the head is the transposed embedding.
    #[serde(default)]
    pub tie_word_embeddings: bool,
    /// Longest sequence that the model was made for.
    pub max_position_embeddings: usize,
    /// Width of one head, where it is not what [`ModelConfig::head_dim`] takes it for.
    #[serde(default)]
    head_dim: Option<usize>,
    /// One id, several or none.
    #[serde(default)]
    eos_token_id: Value,
    #[serde(default)]
    rope_scaling: Value,
    #[serde(default)]
    use_sliding_window: bool,
    #[serde(default)]
    layer_types: Option<Vec<String>>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    hidden_act: Option<String>,
}

/// `rope_parameters` of `config.json`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct RopeParameters {
    rope_theta: f64,
    rope_type: String,
}

/// A key, what it holds and what was expected.
type Refused = (&'static str, String, String);

impl ModelConfig {
    /// Reads a `config.json`.
    ///
    /// # Errors
    /// When the file is missing, malformed, or asks for what the decoder does not implement.
    pub fn load(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|cause| Error::Read {
            file: file.to_owned(),
            cause,
        })?;
        let config: Self = serde_json::from_str(&text).map_err(|cause| Error::Parse {
            file: file.to_owned(),
            cause,
        })?;
        config.validate(file)?;
        Ok(config)
    }

    /// # Errors
    /// Names the key whose value the decoder does not implement.
    pub fn validate(&self, file: &Path) -> Result<(), Error> {
        let refused = self
            .other_architecture()
            .or_else(|| self.wrong_size())
            .or_else(|| self.wrong_heads());
        match refused {
            None => Ok(()),
            Some((key, found, expected)) => Err(Error::Unsupported {
                file: file.to_owned(),
                key,
                found,
                expected,
            }),
        }
    }

    /// A key that asks for what this decoder is not.
    fn other_architecture(&self) -> Option<Refused> {
        let refuse = |key, found: String, expected: &str| Some((key, found, expected.to_owned()));
        if !["qwen2", "qwen3"].contains(&self.model_type.as_str()) {
            let found = format!("{:?}", self.model_type);
            return refuse("model_type", found, "\"qwen2\" or \"qwen3\"");
        }
        let scaling = &self.rope_scaling;
        let is_default = |key: &&str| scaling[*key] == "default";
        if !scaling.is_null() && !["rope_type", "type"].iter().any(is_default) {
            return refuse("rope_scaling", scaling.to_string(), "null");
        }
        let rope = self.rope_parameters.as_ref();
        if let Some(rope) = rope.filter(|rope| rope.rope_type != "default") {
            let found = format!("{:?}", rope.rope_type);
            return refuse("rope_parameters.rope_type", found, "\"default\"");
        }
        if self.use_sliding_window {
            return refuse("use_sliding_window", "true".into(), "false");
        }
        let mut layers = self.layer_types.iter().flatten();
        if let Some(other) = layers.find(|layer| *layer != "full_attention") {
            let expected = "\"full_attention\" for every layer";
            return refuse("layer_types", format!("{other:?}"), expected);
        }
        if self.attention_bias && self.has_head_norms() {
            return refuse("attention_bias", "true".into(), "false");
        }
        if self.hidden_act.as_deref().is_some_and(|act| act != "silu") {
            return refuse("hidden_act", format!("{:?}", self.hidden_act), "\"silu\"");
        }
        None
    }

    /// A size out of its range.
    fn wrong_size(&self) -> Option<Refused> {
        #[rustfmt::skip]
        let sizes = [
            ("vocab_size", self.vocab_size, 1 << 24),
            ("hidden_size", self.hidden_size, 1 << 20),
            ("intermediate_size", self.intermediate_size, 1 << 20),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 12),
            ("num_attention_heads", self.num_attention_heads, 1 << 12),
            ("num_key_value_heads", self.num_key_value_heads, 1 << 12),
            ("max_position_embeddings", self.max_position_embeddings, 1 << 30),
        ];
        let wrong = |(_, value, most): &(&str, usize, usize)| !(1..=*most).contains(value);
        let (key, value, most) = sizes.into_iter().find(wrong)?;
        Some((key, value.to_string(), format!("1 to {most}")))
    }

    /// Heads that do not fit each other, or a number that must be above 0; sizes must be right.
    fn wrong_heads(&self) -> Option<Refused> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        let usual_width = self.head_dim.is_none() && !self.has_head_norms();
        if usual_width && !hidden.is_multiple_of(heads) {
            let expected = format!("a multiple of num_attention_heads ({heads})");
            return Some(("hidden_size", hidden.to_string(), expected));
        }
        let width = self.head_dim();
        if width == 0 || !width.is_multiple_of(2) || width > 1 << 12 {
            let expected = "an even number, 2 to 4096".to_owned();
            return Some(("head_dim", width.to_string(), expected));
        }
        let kv_heads = self.num_key_value_heads;
        if !heads.is_multiple_of(kv_heads) {
            let expected = format!("a divisor of num_attention_heads ({heads})");
            return Some(("num_key_value_heads", kv_heads.to_string(), expected));
        }
        let positive = [
            ("rms_norm_eps", self.rms_norm_eps),
            ("rope_theta", self.rope_theta()),
        ];
        let (key, value) = positive.into_iter().find(|(_, value)| *value <= 0.0)?;
        Some((key, value.to_string(), "> 0".to_owned()))
    }

    /// Base of the rotary frequencies; 0 when the file has none.
    pub fn rope_theta(&self) -> f64 {
        self.rope_parameters
            .as_ref()
            .map(|rope| rope.rope_theta)
            .or(self.rope_theta)
            .unwrap_or(0.0)
    }

    /// Width of one head; where the file has none, that of transformers: 128 for Qwen3, a fraction of
    /// the hidden size for Qwen2.
    pub fn head_dim(&self) -> usize {
        let usual = if self.has_head_norms() {
            128
        } else {
            self.hidden_size / self.num_attention_heads
        };
        self.head_dim.unwrap_or(usual)
    }

    /// True for Qwen3, which norms each query and key head and has no biases; Qwen2 has biases on
    /// queries, keys and values, and no such norms.
    pub fn has_head_norms(&self) -> bool {
        self.model_type == "qwen3"
    }

    /// The end-of-sequence ids of `config.json` and then, where there is one, those of
    /// `generation_config.json` in a folder that are new. The first is the one that ends a turn. Of the second
    /// file nothing else is read: how to decode is the experiment's business.
    ///
    /// # Errors
    /// When `generation_config.json` exists but is not JSON.
    pub fn eos_token_ids(&self, dir: Option<&Path>) -> Result<Vec<u32>, Error> {
        let mut ids = ids(&self.eos_token_id);
        let Some(dir) = dir else { return Ok(ids) };
        let file = dir.join("generation_config.json");
        let text = match std::fs::read_to_string(&file) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(ids),
            text => text.map_err(|cause| Error::Read {
                file: file.clone(),
                cause,
            })?,
        };
        let other: Value =
            serde_json::from_str(&text).map_err(|cause| Error::Parse { file, cause })?;
        for id in self::ids(&other["eos_token_id"]) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// Numbers in the model.
    pub fn parameters(&self) -> usize {
        self.tensors()
            .iter()
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum()
    }

    /// Name and shape of every tensor of the model, in Hugging Face's layout.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let (q, kv) = (
            self.num_attention_heads * self.head_dim(),
            self.num_key_value_heads * self.head_dim(),
        );
        let mut all = vec![(
            "model.embed_tokens.weight".to_owned(),
            vec![self.vocab_size, hidden],
        )];
        for layer in 0..self.num_hidden_layers {
            let mut add = |name: &str, shape: &[usize]| {
                all.push((format!("model.layers.{layer}.{name}"), shape.into()));
            };
            add("input_layernorm.weight", &[hidden]);
            for (name, width) in [("q_proj", q), ("k_proj", kv), ("v_proj", kv)] {
                add(&format!("self_attn.{name}.weight"), &[width, hidden]);
                if !self.has_head_norms() {
                    add(&format!("self_attn.{name}.bias"), &[width]);
                }
            }
            if self.has_head_norms() {
                add("self_attn.q_norm.weight", &[self.head_dim()]);
                add("self_attn.k_norm.weight", &[self.head_dim()]);
            }
            add("self_attn.o_proj.weight", &[hidden, q]);
            add("post_attention_layernorm.weight", &[hidden]);
            add("mlp.gate_proj.weight", &[inner, hidden]);
            add("mlp.up_proj.weight", &[inner, hidden]);
            add("mlp.down_proj.weight", &[hidden, inner]);
        }
        all.push(("model.norm.weight".to_owned(), vec![hidden]));
        if !self.tie_word_embeddings {
            all.push(("lm_head.weight".to_owned(), vec![self.vocab_size, hidden]));
        }
        all
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

    fn to_json(&self) -> Value {
        let mut json = json!({
            "architectures": [if self.has_head_norms() { "Qwen3ForCausalLM" } else { "Qwen2ForCausalLM" }],
            "model_type": self.model_type,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_hidden_layers,
            "num_attention_heads": self.num_attention_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "hidden_act": "silu",
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": self.rope_theta(),
            "tie_word_embeddings": self.tie_word_embeddings,
            "max_position_embeddings": self.max_position_embeddings,
            "attention_dropout": 0.0,
            "eos_token_id": self.eos_token_id,
            "torch_dtype": "float32",
        });
        if let Some(head_dim) = self.head_dim {
            json["head_dim"] = head_dim.into();
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
