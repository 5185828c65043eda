//! The decoder of Qwen2 and Qwen3: embedding, layers of attention and SwiGLU, final norm, head.
//!
//! `forward` gives all logits, `step` those of one new token a row, `prefill` the keys and values
//! of prompts. All three run the same layers over the same [`Cache`].

use super::attention::{Attention, causal_mask, linear, product, rms_norm};
use super::cache::{Cache, Prefix};
use super::config::ModelConfig;
use super::rope::Rope;
use burn::module::{Module, Param};
use burn::nn::{Linear, RmsNorm};
use burn::tensor::activation::silu;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};

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

/// What all layers of a forward pass have in common.
pub(crate) struct Pass {
    rope: Rope,
    causal: Option<Tensor<2>>,
}

impl Layer {
    /// The residual stream after the layer, whose keys and values are number `index` of the cache.
    ///
    /// # Shapes
    /// - x and output: `[rows, seq, hidden]`
    pub(crate) fn forward(&self, index: usize, x: Tensor<3>, pass: &Pass, cache: &mut Cache) -> Tensor<3> {
        let normed = rms_norm(&self.input_layernorm, x.clone());
        let x = x + self.self_attn.forward(index, normed, &pass.rope, pass.causal.as_ref(), cache);
        x.clone() + self.mlp.forward(rms_norm(&self.post_attention_layernorm, x))
    }

    /// Only writes its keys and values.
    pub(crate) fn remember(&self, index: usize, x: Tensor<3>, pass: &Pass, cache: &mut Cache) {
        self.self_attn.remember(index, &rms_norm(&self.input_layernorm, x), &pass.rope, cache);
    }
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

    /// A copy for generation whose matrices are bf16. Hidden states, norms, attention and logits stay
    /// f32: only products with the weights are computed in bf16.
    #[must_use]
    pub fn in_bf16(&self) -> Self {
        let half = |param: &Param<Tensor<2>>| Param::from_tensor(param.val().cast(FloatDType::BF16));
        let linear = |l: &Linear| Linear { weight: half(&l.weight), bias: l.bias.clone() };
        let mut copy = self.clone();
        copy.embed_tokens = half(&self.embed_tokens);
        copy.lm_head = self.lm_head.as_ref().map(half);
        for layer in &mut copy.layers {
            let (attention, mlp) = (&mut layer.self_attn, &mut layer.mlp);
            for projection in [
                &mut attention.q_proj,
                &mut attention.k_proj,
                &mut attention.v_proj,
                &mut attention.o_proj,
                &mut mlp.gate_proj,
                &mut mlp.up_proj,
                &mut mlp.down_proj,
            ] {
                *projection = linear(projection);
            }
        }
        copy
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
        self.final_norm(self.layers_forward(tokens, starts, cache, false))
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
        let pass = self.pass(starts, seq, cache.len());
        let mut x = self.embed(tokens);
        for (index, layer) in self.layers.iter().enumerate() {
            if keys_only && index + 1 == self.layers.len() {
                layer.remember(index, x.clone(), &pass, cache);
                break;
            }
            x = layer.forward(index, x, &pass, cache);
        }
        cache.advance(seq);
        x
    }

    /// What all layers of a forward pass have in common: rows of `seq` tokens after `len` earlier ones,
    /// row `i` starting at position `starts[i]`.
    pub(crate) fn pass(&self, starts: &[usize], seq: usize, len: usize) -> Pass {
        let (device, attention) = (self.device(), &self.layers[0].self_attn);
        Pass {
            rope: Rope::new(starts, seq, attention.head_dim, self.rope_theta, &device),
            causal: causal_mask(seq, len, attention.share(), &device),
        }
    }

    /// Embeddings of tokens, in f32.
    ///
    /// # Shapes
    /// - tokens: `[rows, seq]`, output: `[rows, seq, hidden]`
    pub(crate) fn embed(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let [rows, seq] = tokens.dims();
        let table = self.embed_tokens.val();
        let hidden = table.dims()[1];
        let x = table.select(0, tokens.reshape([rows * seq])).reshape([rows, seq, hidden]);
        if x.dtype() == DType::F32 { x } else { x.cast(FloatDType::F32) }
    }

    /// The final norm.
    pub(crate) fn final_norm(&self, x: Tensor<3>) -> Tensor<3> {
        rms_norm(&self.norm, x)
    }

    /// Logits of hidden states.
    ///
    /// # Shapes
    /// - hidden: `[tokens, hidden]`, output: `[tokens, vocab]`
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        product(hidden, self.head().transpose())
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
