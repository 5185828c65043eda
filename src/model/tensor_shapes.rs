//! The tensors of a model: their names and shapes in Hugging Face's layout.

use super::config::ModelConfig;
use super::family::Family;

/// The name of the embedding.
pub(super) const EMBEDDING: &str = "model.embed_tokens.weight";
/// The name of a head of its own.
pub(super) const HEAD: &str = "lm_head.weight";

impl ModelConfig {
    /// Numbers in the model.
    pub fn parameters(&self) -> usize {
        self.tensors()
            .iter()
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum()
    }

    /// Name and shape of every tensor of the model.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (hidden, inner) = (self.hidden_size, self.intermediate_size);
        let (q, kv) = (
            self.num_attention_heads * self.head_dim(),
            self.num_key_value_heads() * self.head_dim(),
        );
        let qkv_bias = self.attention_bias || self.family() == Family::Qwen2;
        let o_bias = self.attention_bias && self.family() != Family::Qwen2;
        let mlp_bias = self.mlp_bias && self.family() == Family::Llama;
        let mut all = vec![(EMBEDDING.to_owned(), vec![self.vocab_size, hidden])];
        for layer in 0..self.num_hidden_layers {
            let mut add = |name: &str, shape: &[usize]| {
                all.push((format!("model.layers.{layer}.{name}"), shape.into()));
            };
            add("input_layernorm.weight", &[hidden]);
            for (name, width) in [("q_proj", q), ("k_proj", kv), ("v_proj", kv)] {
                add(&format!("self_attn.{name}.weight"), &[width, hidden]);
                if qkv_bias {
                    add(&format!("self_attn.{name}.bias"), &[width]);
                }
            }
            if self.has_head_norms() {
                add("self_attn.q_norm.weight", &[self.head_dim()]);
                add("self_attn.k_norm.weight", &[self.head_dim()]);
            }
            add("self_attn.o_proj.weight", &[hidden, q]);
            if o_bias {
                add("self_attn.o_proj.bias", &[hidden]);
            }
            add("post_attention_layernorm.weight", &[hidden]);
            for (name, [rows, columns]) in [
                ("gate_proj", [inner, hidden]),
                ("up_proj", [inner, hidden]),
                ("down_proj", [hidden, inner]),
            ] {
                add(&format!("mlp.{name}.weight"), &[rows, columns]);
                if mlp_bias {
                    add(&format!("mlp.{name}.bias"), &[rows]);
                }
            }
        }
        all.push(("model.norm.weight".to_owned(), vec![hidden]));
        if !self.tie_word_embeddings {
            all.push((HEAD.to_owned(), vec![self.vocab_size, hidden]));
        }
        all
    }
}
