//! What a `config.json` may ask for: what would change the numbers and is not known is refused by its
//! key, what changes none is passed over.

use super::config::{Error, ModelConfig};
use super::family::Family;
use super::rope_config::Refused;
use std::path::Path;

impl ModelConfig {
    /// # Errors
    /// Names the key whose value the decoder does not implement.
    pub fn validate(&self, file: &Path) -> Result<(), Error> {
        let refused = self
            .other_architecture()
            .or_else(|| self.wrong_size())
            .or_else(|| self.wrong_heads())
            .or_else(|| self.sliding())
            .or_else(|| self.rope().err());
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
        if Family::of(&self.model_type).is_none() {
            let found = format!("{:?}", self.model_type);
            return Some(("model_type", found, Family::NAMES.to_owned()));
        }
        let silu = |act: &String| ["silu", "swish"].contains(&act.as_str());
        if let Some(other) = self.hidden_act.as_ref().filter(|act| !silu(act)) {
            return Some(("hidden_act", format!("{other:?}"), "\"silu\"".to_owned()));
        }
        if !self.quantization_config.is_null() {
            let found = self.quantization_config.to_string();
            let expected = "none: weights in f32, f16 or bf16".to_owned();
            return Some(("quantization_config", found, expected));
        }
        None
    }

    /// Layers whose tokens do not see all before them, where the window is shorter than the longest sequence.
    fn sliding(&self) -> Option<Refused> {
        let longest = self.max_position_embeddings();
        let named = self.layer_types.as_ref();
        let other = |layer: &&String| {
            let used = self.sliding_window.filter(|_| self.use_sliding_window);
            let wide = used.is_some_and(|window| window >= longest);
            *layer != "full_attention" && !(*layer == "sliding_attention" && wide)
        };
        if let Some(other) = named.and_then(|layers| layers.iter().find(other)) {
            let expected = "\"full_attention\" for every layer".to_owned();
            return Some(("layer_types", format!("{other:?}"), expected));
        }
        let windowed = self.use_sliding_window && named.is_none() && self.family() != Family::Llama;
        // what transformers takes them for where the file has none
        let first = self.max_window_layers.unwrap_or(28);
        let window = self.sliding_window.filter(|window| *window < longest)?;
        (windowed && first < self.num_hidden_layers).then(|| {
            let found = format!("true, with a window of {window} from layer {first} on");
            ("use_sliding_window", found, "false".to_owned())
        })
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
            ("num_key_value_heads", self.num_key_value_heads(), 1 << 12),
            ("max_position_embeddings", self.max_position_embeddings(), 1 << 30),
        ];
        let wrong = |(_, value, most): &(&str, usize, usize)| !(1..=*most).contains(value);
        let (key, value, most) = sizes.into_iter().find(wrong)?;
        Some((key, value.to_string(), format!("1 to {most}")))
    }

    /// Heads that do not fit each other, or a number that must be above 0; sizes must be right.
    fn wrong_heads(&self) -> Option<Refused> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        let width = self.head_dim();
        let usual_width = match self.family() {
            Family::Qwen2 => self.head_dim.is_none(),
            Family::Qwen3 => false,
            Family::Llama => true,
        };
        if usual_width && !hidden.is_multiple_of(heads) {
            let expected = format!("a multiple of num_attention_heads ({heads})");
            return Some(("hidden_size", hidden.to_string(), expected));
        }
        if width == 0 || !width.is_multiple_of(2) || width > 1 << 12 {
            let expected = "an even number, 2 to 4096".to_owned();
            return Some(("head_dim", width.to_string(), expected));
        }
        let kv_heads = self.num_key_value_heads();
        if !heads.is_multiple_of(kv_heads) {
            let expected = format!("a divisor of num_attention_heads ({heads})");
            return Some(("num_key_value_heads", kv_heads.to_string(), expected));
        }
        let epsilon = self.rms_norm_eps;
        (epsilon <= 0.0).then(|| ("rms_norm_eps", epsilon.to_string(), "> 0".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn config(changes: &Value) -> ModelConfig {
        let mut json = json!({
            "model_type": "qwen2", "vocab_size": 8, "hidden_size": 24, "intermediate_size": 4,
            "num_hidden_layers": 2, "num_attention_heads": 6
        });
        let changes = changes.as_object().unwrap().clone();
        json.as_object_mut().unwrap().extend(changes);
        serde_json::from_value(json).unwrap()
    }

    fn refused(changes: &Value) -> Option<String> {
        let checked = config(changes).validate(Path::new("config.json"));
        checked.err().map(|e| e.to_string())
    }

    #[test]
    fn what_changes_no_number_is_passed_over() {
        for changes in [
            json!({}),
            json!({"hidden_act": "swish", "dtype": "float16", "torch_dtype": null, "quantization_config": null}),
            json!({"use_sliding_window": false, "sliding_window": 4, "max_window_layers": 0}),
            json!({"use_sliding_window": true, "sliding_window": 4, "max_window_layers": 2}),
            json!({"use_sliding_window": true, "sliding_window": 64, "max_window_layers": 0, "max_position_embeddings": 64}),
            json!({"use_sliding_window": true, "sliding_window": null, "max_window_layers": 0}),
            json!({"layer_types": ["full_attention", "full_attention"]}),
            json!({"model_type": "qwen3", "attention_bias": true, "use_cache": true}),
            json!({"model_type": "llama", "mlp_bias": true, "pretraining_tp": 2, "head_dim": 6}),
            json!({"num_key_value_heads": null, "head_dim": null, "sliding_window": null}),
        ] {
            assert_eq!(refused(&changes), None, "{changes}");
        }
    }

    #[test]
    fn what_changes_numbers_is_refused_by_its_key() {
        for (changes, words) in [
            (
                json!({"model_type": "mistral"}),
                ["`model_type`", "\"llama\""],
            ),
            (json!({"hidden_act": "gelu"}), ["`hidden_act`", "\"gelu\""]),
            (
                json!({"quantization_config": {"bits": 4}}),
                ["`quantization_config`", "{\"bits\":4}"],
            ),
            (
                json!({"use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1}),
                ["`use_sliding_window`", "a window of 4 from layer 1 on"],
            ),
            (
                json!({"layer_types": ["full_attention", "sliding_attention"]}),
                ["`layer_types`", "sliding_attention"],
            ),
            (
                json!({"model_type": "llama", "hidden_size": 26}),
                ["`hidden_size`", "multiple of num_attention_heads"],
            ),
            (
                json!({"num_key_value_heads": 4}),
                ["`num_key_value_heads`", "divisor"],
            ),
            (json!({"head_dim": 5}), ["`head_dim`", "even"]),
            (json!({"rope_theta": null}), ["`rope_theta`", "null"]),
        ] {
            let message = refused(&changes).unwrap_or_default();
            assert!(
                words.iter().all(|word| message.contains(word)),
                "{changes}: {message}"
            );
        }
    }

    #[test]
    fn what_a_file_leaves_out_is_what_transformers_takes_it_for() {
        let llama = config(&json!({"model_type": "llama"}));
        let ends = |changes| config(&changes).eos_token_ids(None).unwrap();
        assert_eq!(ends(json!({"model_type": "llama"})), [2]);
        assert!(ends(json!({"model_type": "llama", "eos_token_id": null})).is_empty());
        assert!(ends(json!({})).is_empty());
        assert_eq!(ends(json!({"eos_token_id": [3, 5]})), [3, 5]);
        let sizes = |c: &ModelConfig| {
            [
                c.head_dim(),
                c.num_key_value_heads(),
                c.max_position_embeddings(),
            ]
        };
        assert_eq!(sizes(&llama), [4, 6, 2048]);
        assert_eq!(
            sizes(&config(&json!({"model_type": "qwen3"}))),
            [128, 6, 32768]
        );
        assert_eq!(llama.rms_norm_eps, 1e-6);
    }
}
