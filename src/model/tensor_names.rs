//! Which tensor of a file is which of a model: the names that transformers reads for these models, and
//! what one that it does not read may be.

use super::config::ModelConfig;
use super::tensor_shapes::{EMBEDDING, HEAD};
use std::collections::{BTreeMap, HashSet};

/// The part that all tensors but the head share in a whole language model.
const PREFIX: &str = "model.";

/// The names of a file.
pub(super) struct Names {
    /// Those of the model, each with that in the file.
    pub(super) stored: BTreeMap<String, String>,
    /// Those that belong to no part of the model.
    pub(super) left_over: Vec<String>,
    /// Two names of one tensor.
    pub(super) twice: Option<[String; 2]>,
}

impl Names {
    /// Of these names in a file, or in several.
    pub(super) fn new<'a>(config: &ModelConfig, names: impl Iterator<Item = &'a String>) -> Self {
        let mut known: HashSet<String> =
            config.tensors().into_iter().map(|(name, _)| name).collect();
        // a tied model may ship its head a second time
        known.insert(HEAD.to_owned());
        let mut all = Self {
            stored: BTreeMap::new(),
            left_over: Vec::new(),
            twice: None,
        };
        let mut sorted: Vec<&String> = names.filter(|name| !is_buffer(name)).collect();
        sorted.sort();
        for name in sorted {
            match own_name(name, &known) {
                None => all.left_over.push(name.clone()),
                Some(own) => {
                    let before = all.stored.insert(own, name.clone());
                    all.twice = all.twice.or(before.map(|before| [before, name.clone()]));
                }
            }
        }
        // of two that are one, some writers keep the first by name
        if config.tie_word_embeddings && !all.stored.contains_key(EMBEDDING) {
            let head = all.stored.remove(HEAD);
            all.stored
                .extend(head.map(|head| (EMBEDDING.to_owned(), head)));
        }
        all
    }
}

/// The name that a tensor has in the model: that of the file, without the prefix of the inner model where it
/// should have none, or with it where it lacks it.
fn own_name(name: &str, known: &HashSet<String>) -> Option<String> {
    let without = name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let with = format!("{PREFIX}{name}");
    [name.to_owned(), without, with]
        .into_iter()
        .find(|name| known.contains(name))
}

/// Numbers that follow from the configuration, which old checkpoints hold all the same.
fn is_buffer(name: &str) -> bool {
    name.contains("rotary_emb.inv_freq")
}

/// What a tensor that belongs to no part of the model may be, and what was expected.
pub(super) fn what_is(name: &str, config: &ModelConfig) -> String {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let layer = name.split("layers.").nth(1);
    let layer: Option<usize> = layer.and_then(|rest| rest.split('.').next()?.parse().ok());
    let layers = config.num_hidden_layers;
    if has(&["lora_", "base_model."]) {
        "that of an adapter, which must be merged into its model first".to_owned()
    } else if let Some(wrapper) = ["_orig_mod.", "module."]
        .iter()
        .find(|w| name.starts_with(**w))
    {
        format!("names without `{wrapper}` were expected: save the model within the wrapper")
    } else if has(&["qweight", "qzeros", "scale", "absmax", "quant_"]) {
        "quantized weights are not read, expected F32, F16 or BF16".to_owned()
    } else if has(&["score.", "classifier", "v_head", "value_head"]) {
        format!("a head of another kind, expected that of a language model, `{HEAD}`")
    } else if layer.is_some_and(|layer| layer >= layers) {
        format!("config.json asks for {layers} layers, the first being 0")
    } else {
        let tensors = config.tensors();
        let names = tensors.iter().map(|(name, _)| name);
        let nearest = names.max_by(|a, b| {
            let like = |known: &str| strsim::jaro_winkler(known, name);
            like(a).total_cmp(&like(b))
        });
        let nearest = nearest.map_or("", String::as_str);
        format!("of the names that config.json asks for, the nearest is `{nearest}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(kind: &str, tied: bool) -> ModelConfig {
        serde_json::from_value(serde_json::json!({
            "model_type": kind, "vocab_size": 8, "hidden_size": 4, "intermediate_size": 4,
            "num_hidden_layers": 2, "num_attention_heads": 2, "tie_word_embeddings": tied
        }))
        .unwrap()
    }

    fn names(config: &ModelConfig, changed: impl Fn(&str) -> String) -> Names {
        let all: Vec<String> = config
            .tensors()
            .iter()
            .map(|(name, _)| changed(name))
            .collect();
        Names::new(config, all.iter())
    }

    #[test]
    fn the_inner_models_prefix_may_be_there_or_not() {
        for config in [
            config("qwen2", false),
            config("qwen3", true),
            config("llama", false),
        ] {
            let own: Vec<String> = config.tensors().into_iter().map(|(name, _)| name).collect();
            let bare = |name: &str| name.trim_start_matches(PREFIX).to_owned();
            let all = |name: &str| format!("{PREFIX}{}", bare(name));
            for found in [
                names(&config, bare),
                names(&config, all),
                names(&config, str::to_owned),
            ] {
                assert!(found.left_over.is_empty() && found.twice.is_none());
                let mut sorted = own.clone();
                sorted.sort();
                assert_eq!(found.stored.into_keys().collect::<Vec<_>>(), sorted);
            }
        }
    }

    #[test]
    fn one_of_two_that_are_tied_is_enough() {
        let tied = config("qwen2", true);
        let head = |name: &str| name.replace(EMBEDDING, HEAD);
        let found = names(&tied, head);
        assert_eq!(found.stored[EMBEDDING], HEAD);
        assert!(!found.stored.contains_key(HEAD));
        let untied = names(&config("qwen2", false), |name| name.replace(EMBEDDING, "x"));
        assert!(!untied.stored.contains_key(EMBEDDING) && untied.left_over == ["x"]);
    }

    #[test]
    fn what_is_left_over_is_explained() {
        let config = config("llama", true);
        let own = [
            "model.layers.0.self_attn.rotary_emb.inv_freq",
            "model.rotary_emb.inv_freq",
        ];
        let own = own.map(str::to_owned);
        assert!(Names::new(&config, own.iter()).left_over.is_empty());
        for (name, expected) in [
            ("base_model.model.model.norm.weight", "merged"),
            ("model.layers.0.self_attn.q_proj.lora_A.weight", "merged"),
            ("_orig_mod.model.norm.weight", "without `_orig_mod.`"),
            ("model.layers.0.mlp.up_proj.qweight", "quantized"),
            ("score.weight", "`lm_head.weight`"),
            ("model.layers.2.mlp.up_proj.weight", "asks for 2 layers"),
            (
                "model.layers.1.mlp.up_project.weight",
                "`model.layers.1.mlp.up_proj.weight`",
            ),
        ] {
            let told = what_is(name, &config);
            assert!(told.contains(expected), "{name}: {told}");
        }
        let names = ["norm.weight", "model.norm.weight"].map(str::to_owned);
        assert_eq!(
            Names::new(&config, names.iter()).twice.unwrap(),
            ["model.norm.weight", "norm.weight"]
        );
    }
}
