//! The decoder of Qwen2 and Qwen3: embedding, layers of attention and SwiGLU, final norm, head.
//!
//! `forward` gives all logits, `step` those of one new token a row, `prefill` the keys and values
//! of prompts. All three run the same layers over the same [`Cache`].

use super::attention::{Attention, causal_mask, linear, rms_norm};
use super::cache::{Cache, Prefix};
use super::config::ModelConfig;
use super::rope::Rope;
use burn::module::{Module, Param};
use burn::nn::{Linear, RmsNorm};
use burn::tensor::activation::silu;
use burn::tensor::{Device, Int, Tensor, TensorData};

/// The feed-forward part of a layer: `down(silu(gate(x)) * up(x))`.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) gate_proj: Linear,
    pub(crate) up_proj: Linear,
    pub(crate) down_proj: Linear,
}

impl Mlp {
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let gate = silu(linear(&self.gate_proj, x.clone()));
        linear(&self.down_proj, gate * linear(&self.up_proj, x))
    }
}

/// One layer of the decoder.
#[derive(Module, Debug)]
pub(crate) struct Layer {
    pub(crate) input_layernorm: RmsNorm,
    pub(crate) self_attn: Attention,
    pub(crate) post_attention_layernorm: RmsNorm,
    pub(crate) mlp: Mlp,
}

/// A decoder-only language model; fields carry Hugging Face's key names.
#[derive(Module, Debug)]
pub struct Decoder {
    pub(crate) embed_tokens: Param<Tensor<2>>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) norm: RmsNorm,
    /// Absent when the head is the transposed embedding.
    pub(crate) lm_head: Option<Param<Tensor<2>>>,
    pub(crate) rope_theta: f64,
}

impl Decoder {
    /// Where the weights are.
    pub fn device(&self) -> Device {
        self.embed_tokens.val().device()
    }

    /// The same weights without gradients, for generation.
    #[must_use]
    pub fn inference(&self) -> Self {
        self.valid()
    }

    /// An empty cache for this model, see [`Cache::new`].
    pub fn cache(&self, prefix: Option<Prefix>, group: usize, capacity: usize) -> Cache {
        Cache::new(self.layers.len(), prefix, group, capacity)
    }

    /// Keys and values of prompts, a block each; `None` when all of them are empty.
    ///
    /// The last layer only needs its keys and values, so its attention is not computed.
    pub fn prefill(&self, prompts: &[&[u32]]) -> Option<Prefix> {
        let lengths: Vec<usize> = prompts.iter().map(|p| p.len()).collect();
        let longest = *lengths.iter().max()?;
        if longest == 0 {
            return None;
        }
        let device = self.device();
        let tokens = padded_tokens(prompts, longest, &device);
        let mut cache = self.cache(None, 1, 0);
        self.layers_forward(tokens, &vec![0; prompts.len()], &mut cache, true);
        Some(cache.into_prefix(&lengths, &device))
    }

    /// Hidden states after the final norm. Row `i` continues at position `starts[i]`.
    ///
    /// # Shapes
    /// - tokens: `[rows, seq]`, rows being `group` a block of the cache
    /// - output: `[rows, seq, hidden]`
    pub fn hidden(&self, tokens: Tensor<2, Int>, starts: &[usize], cache: &mut Cache) -> Tensor<3> {
        let x = self.layers_forward(tokens, starts, cache, false);
        rms_norm(&self.norm, x)
    }

    fn layers_forward(
        &self,
        tokens: Tensor<2, Int>,
        starts: &[usize],
        cache: &mut Cache,
        keys_only: bool,
    ) -> Tensor<3> {
        let [rows, seq] = tokens.dims();
        assert_eq!(rows, starts.len(), "one start a row");
        let device = self.device();
        let table = self.embed_tokens.val();
        let hidden = table.dims()[1];
        let attention = &self.layers[0].self_attn;
        let rope = Rope::new(starts, seq, attention.head_dim, self.rope_theta, &device);
        let causal = causal_mask(seq, cache.len(), attention.share(), &device);

        let mut x = table.select(0, tokens.reshape([rows * seq])).reshape([rows, seq, hidden]);
        for (index, layer) in self.layers.iter().enumerate() {
            let normed = rms_norm(&layer.input_layernorm, x.clone());
            if keys_only && index + 1 == self.layers.len() {
                layer.self_attn.remember(index, &normed, &rope, cache);
                break;
            }
            x = x + layer.self_attn.forward(index, normed, &rope, causal.as_ref(), cache);
            x = x.clone() + layer.mlp.forward(rms_norm(&layer.post_attention_layernorm, x));
        }
        cache.advance(seq);
        x
    }

    /// Logits of hidden states.
    ///
    /// # Shapes
    /// - hidden: `[tokens, hidden]`, output: `[tokens, vocab]`
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        hidden.matmul(self.head().transpose())
    }

    /// The weights of the head.
    ///
    /// # Shapes
    /// - output: `[vocab, hidden]`
    pub fn head(&self) -> Tensor<2> {
        self.head_param().val()
    }

    pub(crate) fn head_param(&self) -> &Param<Tensor<2>> {
        self.lm_head.as_ref().unwrap_or(&self.embed_tokens)
    }

    /// Logits of every token of the rows.
    ///
    /// # Shapes
    /// - tokens: `[rows, seq]`, output: `[rows, seq, vocab]`
    pub fn forward(&self, tokens: Tensor<2, Int>, starts: &[usize], cache: &mut Cache) -> Tensor<3> {
        let [rows, seq] = tokens.dims();
        let hidden = self.hidden(tokens, starts, cache);
        let width = hidden.dims()[2];
        let logits = self.logits(hidden.reshape([rows * seq, width]));
        let vocab = logits.dims()[1];
        logits.reshape([rows, seq, vocab])
    }

    /// Logits after one more token a row.
    ///
    /// # Shapes
    /// - output: `[rows, vocab]`
    pub fn step(&self, tokens: &[u32], starts: &[usize], cache: &mut Cache) -> Tensor<2> {
        let rows: Vec<&[u32]> = tokens.chunks(1).collect();
        let tokens = padded_tokens(&rows, 1, &self.device());
        let hidden = self.hidden(tokens, starts, cache);
        let width = hidden.dims()[2];
        self.logits(hidden.reshape([rows.len(), width]))
    }

    /// Asserts that the decoder has the shape of this configuration.
    pub(crate) fn assert_shape(&self, config: &ModelConfig) {
        assert_eq!(self.embed_tokens.dims(), [config.vocab_size, config.hidden_size]);
        assert_eq!(self.layers.len(), config.num_hidden_layers);
    }
}

/// Rows of tokens, filled up on the right to `seq`. What fills a row is its own last token, so that
/// no other embedding is looked up; what comes of it is never looked at.
///
/// # Shapes
/// - output: `[rows, seq]`
pub fn padded_tokens(rows: &[&[u32]], seq: usize, device: &Device) -> Tensor<2, Int> {
    let any = rows.iter().find_map(|row| row.last()).copied().unwrap_or(0);
    let mut ids = Vec::with_capacity(rows.len() * seq);
    for row in rows {
        let id = |t: usize| row.get(t).or(row.last()).copied().unwrap_or(any);
        ids.extend((0..seq).map(|t| i32::try_from(id(t)).expect("a token id below 2^31")));
    }
    Tensor::from_data(TensorData::new(ids, [rows.len(), seq]), device)
}
