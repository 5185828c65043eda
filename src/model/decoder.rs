//! The decoder of Qwen2, Qwen3 and Llama: embedding, layers of attention and SwiGLU, final norm, head.
//!
//! `hidden` runs over packed rows, with a graph where the weights have one; `start` and `step` run over a
//! [`Cache`], one token per row at a time. Both run the same layers.

use super::attention::{Attention, linear, rms_norm};
use super::config::ModelConfig;
use crate::kernels::{Cache, Packing, Rope, attend, indices, matmul, swiglu};
use burn::module::{Module, Param};
use burn::nn::{Linear, RmsNorm};
use burn::tensor::{DType, Device, FloatDType, Tensor};
use std::sync::Arc;

/// The feed-forward part of a layer: `down(silu(gate(x)) * up(x))`.
#[derive(Module, Debug)]
pub(crate) struct Mlp {
    pub(crate) gate_proj: Linear,
    pub(crate) up_proj: Linear,
    pub(crate) down_proj: Linear,
}

impl Mlp {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let gate = linear(&self.gate_proj, x.clone());
        linear(&self.down_proj, swiglu(gate, linear(&self.up_proj, x)))
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

impl Layer {
    /// The residual stream after the layer.
    ///
    /// # Shapes
    /// - x and output: `[tokens, hidden]`
    fn finish(&self, x: Tensor<2>, mixed: Tensor<2>) -> Tensor<2> {
        let x = x + linear(&self.self_attn.o_proj, mixed);
        x.clone()
            + self
                .mlp
                .forward(rms_norm(&self.post_attention_layernorm, x))
    }

    /// One more token per row, over the keys and values of layer number `index` of the cache.
    fn step(&self, index: usize, x: Tensor<2>, rope: &Rope, cache: &mut Cache) -> Tensor<2> {
        let normed = rms_norm(&self.input_layernorm, x.clone());
        let [keys, values] = self.self_attn.keys_values(normed.clone(), rope);
        let mixed = cache.attend(index, [self.self_attn.queries(normed, rope), keys, values]);
        self.finish(x, mixed)
    }
}

/// What all layers of a forward pass over packed rows have in common.
pub(crate) struct ForwardContext {
    packing: Arc<Packing>,
    rope: Rope,
}

impl ForwardContext {
    /// The residual stream after a layer and the keys and values that it made. The last layer leaves the
    /// prompts out: nothing asks for them any more.
    ///
    /// # Shapes
    /// - x: `[tokens, hidden]`, output: the same, or without the prompts' tokens
    pub(crate) fn layer(
        &self,
        layer: &Layer,
        x: Tensor<2>,
        last: bool,
    ) -> (Tensor<2>, [Tensor<2>; 2]) {
        let attention = &layer.self_attn;
        let normed = rms_norm(&layer.input_layernorm, x.clone());
        let pair = attention.keys_values(normed.clone(), &self.rope);
        let (first, all) = (
            if last {
                self.packing.prompt_tokens()
            } else {
                0
            },
            self.packing.tokens(),
        );
        let (x, asking, rope) = if first == 0 {
            (x, normed, self.rope.clone())
        } else {
            let width = x.dims()[1];
            let rows = |x: Tensor<2>| x.slice([first..all, 0..width]);
            (
                rows(x),
                rows(normed),
                self.rope.at(&self.packing.positions()[first..]),
            )
        };
        let queries = attention.queries(asking, &rope);
        let [keys, values] = pair.clone();
        let mixed = attend(
            [queries, keys, values],
            &self.packing,
            first,
            attention.head_dim,
        );
        (layer.finish(x, mixed), pair)
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
    /// The turn of each pair of coordinates of a head, from one position to the next.
    pub(crate) rope_frequencies: Vec<f64>,
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
        let half =
            |param: &Param<Tensor<2>>| Param::from_tensor(param.val().cast(FloatDType::BF16));
        let linear = |l: &Linear| Linear {
            weight: half(&l.weight),
            bias: l.bias.clone(),
        };
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

    /// What all layers of a forward pass have in common.
    pub(crate) fn forward_context(&self, packing: &Arc<Packing>) -> ForwardContext {
        let rope = Rope::new(packing.positions(), &self.rope_frequencies);
        ForwardContext {
            packing: packing.clone(),
            rope,
        }
    }

    /// Hidden states after the final norm, of the rows and not of their prompts.
    ///
    /// # Shapes
    /// - tokens: all that are packed, output: `[tokens of rows, hidden]`
    ///
    /// # Panics
    /// When there is no row.
    pub fn hidden(&self, tokens: &[u32], packing: &Arc<Packing>) -> Tensor<2> {
        assert_eq!(tokens.len(), packing.tokens(), "one token per place");
        let (context, count) = (self.forward_context(packing), self.layers.len());
        let x = self
            .layers
            .iter()
            .enumerate()
            .fold(self.embed(tokens), |x, (index, layer)| {
                context.layer(layer, x, index + 1 == count).0
            });
        self.final_norm(x)
    }

    /// Logits after each token of a row.
    ///
    /// # Shapes
    /// - output: `[tokens, vocab]`
    pub fn forward(&self, tokens: &[u32]) -> Tensor<2> {
        self.logits(self.hidden(tokens, &Arc::new(Packing::rows(&[tokens.len()]))))
    }

    /// A cache for `group` rows that continue each of the prompts, which may be empty, with room for
    /// `capacity` tokens per row.
    ///
    /// Of the last layer only the keys and values of the prompts are computed.
    pub fn start(&self, prompts: &[&[u32]], group: usize, capacity: usize) -> Cache {
        let lengths: Vec<usize> = prompts.iter().map(|p| p.len()).collect();
        let attention = &self.layers[0].self_attn;
        let mut layers = vec![None; self.layers.len()];
        let tokens = prompts.concat();
        if !tokens.is_empty() {
            let context = self.forward_context(&Arc::new(Packing::new(&lengths, &[])));
            let mut x = self.embed(&tokens);
            let (last, others) = self.layers.split_last().expect("at least one layer");
            for (layer, pair) in others.iter().zip(&mut layers) {
                let (after, made) = context.layer(layer, x, false);
                (x, *pair) = (after, Some(made));
            }
            let normed = rms_norm(&last.input_layernorm, x);
            layers[others.len()] = Some(last.self_attn.keys_values(normed, &context.rope));
        }
        let heads = [attention.kv_heads(), attention.head_dim];
        Cache::new(
            layers,
            &lengths,
            [group, capacity],
            heads,
            &self.rope_frequencies,
            &self.device(),
        )
    }

    /// Logits after one more token of each living row.
    ///
    /// # Shapes
    /// - output: `[rows, vocab]`
    pub fn step(&self, tokens: &[u32], cache: &mut Cache) -> Tensor<2> {
        let rope = cache.rope();
        let mut x = self.embed(&cache.computed(tokens));
        for (index, layer) in self.layers.iter().enumerate() {
            x = layer.step(index, x, &rope, cache);
        }
        cache.advance();
        self.logits(self.final_norm(cache.living(x)))
    }

    /// Embeddings of tokens, in f32.
    ///
    /// # Shapes
    /// - output: `[tokens, hidden]`
    pub(crate) fn embed(&self, tokens: &[u32]) -> Tensor<2> {
        let table = self.embed_tokens.val();
        let ids: Vec<usize> = tokens.iter().map(|&token| token as usize).collect();
        let index = indices(&ids, &table.device());
        let x = table.select(0, index);
        if x.dtype() == DType::F32 {
            x
        } else {
            x.cast(FloatDType::F32)
        }
    }

    /// The final norm.
    pub(crate) fn final_norm(&self, x: Tensor<2>) -> Tensor<2> {
        rms_norm(&self.norm, x)
    }

    /// Logits of hidden states.
    ///
    /// # Shapes
    /// - hidden: `[tokens, hidden]`, output: `[tokens, vocab]`
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        matmul(hidden, self.head().transpose())
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

    /// Asserts that the decoder has the shape of this configuration.
    pub(crate) fn assert_shape(&self, config: &ModelConfig) {
        assert_eq!(
            self.embed_tokens.dims(),
            [config.vocab_size, config.hidden_size]
        );
        assert_eq!(self.layers.len(), config.num_hidden_layers);
    }
}
