//! Weights to and from safetensors, under Hugging Face's names and in its layout.
//!
//! Projections are stored `[out, in]` in the file and `[in, out]` in memory; f16 and bf16 are read as
//! f32. A tensor is made or written at a time.

use super::attention::Attention;
use super::config::ModelConfig;
use super::decoder::{Decoder, Layer, Mlp};
use super::shard::{self, to_bytes};
pub use super::weight_error::Error;
use super::weight_files::FILE;
pub use super::weight_files::WeightFiles;
use crate::seed::Seed;
use burn::module::{Param, ParamId};
use burn::nn::{Linear, RmsNorm};
use burn::tensor::{Device, Tensor, TensorData};
pub use safetensors::Dtype;
use safetensors::tensor::View;
use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::path::Path;

/// Reads the weights of a model folder onto a device.
///
/// # Errors
/// Names the file and the tensor, what was found and what was expected.
pub fn load(files: &WeightFiles, config: &ModelConfig, device: &Device) -> Result<Decoder, Error> {
    build(config, device, |name, _, transposed| {
        files.read(name, transposed)
    })
}

/// A decoder with random weights: projections and embedding normal with a variance of one over
/// their inputs, the two projections that write to the residual stream scaled down by the depth
/// (GPT-2), biases zero, norms one.
pub fn random(config: &ModelConfig, seed: Seed, device: &Device) -> Decoder {
    let depth = (2.0 * config.num_hidden_layers as f64).sqrt();
    let fill = |name: &str, shape: &[usize], transposed: bool| {
        let count = shape.iter().product();
        if name.ends_with("bias") {
            return Ok(vec![0.0; count]);
        }
        if name.contains("norm") {
            return Ok(vec![1.0; count]);
        }
        let residual = name.contains("o_proj") || name.contains("down_proj");
        let std = (shape[shape.len() - 1] as f64).powf(-0.5) / if residual { depth } else { 1.0 };
        let mut rng = seed.child(name, 0).rng();
        let values: Vec<f32> = (0..count).map(|_| (std * rng.normal()) as f32).collect();
        Ok::<_, Infallible>(if transposed {
            transpose(&values, shape[0], shape[1])
        } else {
            values
        })
    };
    match build(config, device, fill) {
        Ok(decoder) => decoder,
        Err(never) => match never {},
    }
}

/// Makes a decoder from `tensor(name, shape, transposed)`, which gives the values of each tensor of
/// Hugging Face's layout, transposed from `[out, in]` to `[in, out]` where asked.
fn build<E>(
    config: &ModelConfig,
    device: &Device,
    tensor: impl FnMut(&str, &[usize], bool) -> Result<Vec<f32>, E>,
) -> Result<Decoder, E> {
    let mut builder = Builder {
        config,
        device,
        shapes: config.tensors().into_iter().collect(),
        tensor,
    };
    let embed_tokens = builder.matrix("model.embed_tokens.weight", false)?;
    let layers = (0..config.num_hidden_layers)
        .map(|index| builder.layer(&format!("model.layers.{index}")))
        .collect::<Result<_, E>>()?;
    let norm = builder.norm("model.norm.weight")?;
    let lm_head = match config.tie_word_embeddings {
        true => None,
        false => Some(builder.matrix("lm_head.weight", false)?),
    };
    let decoder = Decoder {
        embed_tokens,
        layers,
        norm,
        lm_head,
        rope_frequencies: config.rope_frequencies(),
    };
    decoder.assert_shape(config);
    Ok(decoder)
}

/// Makes the parts of a decoder, see [`build`].
struct Builder<'a, T> {
    config: &'a ModelConfig,
    device: &'a Device,
    shapes: HashMap<String, Vec<usize>>,
    tensor: T,
}

impl<E, T: FnMut(&str, &[usize], bool) -> Result<Vec<f32>, E>> Builder<'_, T> {
    fn data(&mut self, name: &str, transposed: bool) -> Result<TensorData, E> {
        let mut shape = self.shapes[name].clone();
        let values = (self.tensor)(name, &shape, transposed)?;
        if transposed {
            shape.reverse();
        }
        Ok(TensorData::new(values, shape))
    }

    fn vector(&mut self, name: &str) -> Result<Param<Tensor<1>>, E> {
        let data = self.data(name, false)?;
        Ok(Param::from_tensor(Tensor::from_data(data, self.device)))
    }

    fn matrix(&mut self, name: &str, transposed: bool) -> Result<Param<Tensor<2>>, E> {
        let data = self.data(name, transposed)?;
        Ok(Param::from_tensor(Tensor::from_data(data, self.device)))
    }

    fn linear(&mut self, name: &str) -> Result<Linear, E> {
        let weight = self.matrix(&format!("{name}.weight"), true)?;
        let bias = format!("{name}.bias");
        let bias = match self.shapes.contains_key(&bias) {
            true => Some(self.vector(&bias)?),
            false => None,
        };
        Ok(Linear { weight, bias })
    }

    fn norm(&mut self, name: &str) -> Result<RmsNorm, E> {
        Ok(RmsNorm {
            gamma: self.vector(name)?,
            epsilon: self.config.rms_norm_eps,
        })
    }

    /// The layer whose tensors have names under `at`.
    fn layer(&mut self, at: &str) -> Result<Layer, E> {
        let part = |name: &str| format!("{at}.{name}");
        let [q_norm, k_norm] = match self.config.has_head_norms() {
            true => [
                Some(self.norm(&part("self_attn.q_norm.weight"))?),
                Some(self.norm(&part("self_attn.k_norm.weight"))?),
            ],
            false => [None, None],
        };
        Ok(Layer {
            input_layernorm: self.norm(&part("input_layernorm.weight"))?,
            self_attn: Attention {
                q_proj: self.linear(&part("self_attn.q_proj"))?,
                k_proj: self.linear(&part("self_attn.k_proj"))?,
                v_proj: self.linear(&part("self_attn.v_proj"))?,
                o_proj: self.linear(&part("self_attn.o_proj"))?,
                q_norm,
                k_norm,
                head_dim: self.config.head_dim(),
            },
            post_attention_layernorm: self.norm(&part("post_attention_layernorm.weight"))?,
            mlp: Mlp {
                gate_proj: self.linear(&part("mlp.gate_proj"))?,
                up_proj: self.linear(&part("mlp.up_proj"))?,
                down_proj: self.linear(&part("mlp.down_proj"))?,
            },
        })
    }
}

fn transpose(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns * rows)
        .map(|i| values[(i % rows) * columns + i / rows])
        .collect()
}

/// Writes `model.safetensors` into a folder, each tensor in the type that `dtype` gives for its name.
///
/// # Errors
/// When the file cannot be written.
pub fn save(decoder: &Decoder, dir: &Path, dtype: impl Fn(&str) -> Dtype) -> Result<(), Error> {
    let file = dir.join(FILE);
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let stored = tensors(decoder).into_iter().map(|(name, tensor)| {
        let stored = Stored {
            dtype: dtype(&name),
            shape: tensor.shape(),
            tensor,
        };
        (name, stored)
    });
    shard::write(&file, stored.collect(), metadata)
}

/// A tensor on its way to a file: read from the device when it is its turn.
struct Stored<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    tensor: Named<'a>,
}

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        to_bytes(self.dtype, &self.tensor.values()).into()
    }

    fn data_len(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.bitsize() / 8
    }
}

/// A tensor of a decoder.
pub(crate) enum Named<'a> {
    Vector(&'a Param<Tensor<1>>),
    Matrix(&'a Param<Tensor<2>>),
    /// A projection, whose file has it transposed.
    Projection(&'a Param<Tensor<2>>),
}

impl Named<'_> {
    /// The name of its parameter within the program.
    pub(crate) fn id(&self) -> ParamId {
        match self {
            Self::Vector(param) => param.id,
            Self::Matrix(param) | Self::Projection(param) => param.id,
        }
    }

    /// Its shape in Hugging Face's layout.
    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            Self::Vector(param) => param.dims().to_vec(),
            Self::Matrix(param) => param.dims().to_vec(),
            Self::Projection(param) => param.dims().into_iter().rev().collect(),
        }
    }

    /// Its values in that layout.
    pub(crate) fn values(&self) -> Vec<f32> {
        let list = |data: TensorData| {
            data.convert::<f32>()
                .try_into_vec()
                .expect("converted to f32")
        };
        match self {
            Self::Vector(param) => list(param.val().into_data()),
            Self::Matrix(param) => list(param.val().into_data()),
            Self::Projection(param) => {
                let [inputs, outputs] = param.dims();
                transpose(&list(param.val().into_data()), inputs, outputs)
            }
        }
    }
}

/// Every tensor of the decoder under Hugging Face's name.
pub(crate) fn tensors(decoder: &Decoder) -> Vec<(String, Named<'_>)> {
    let mut all = vec![
        (
            "model.embed_tokens.weight".to_owned(),
            Named::Matrix(&decoder.embed_tokens),
        ),
        (
            "model.norm.weight".to_owned(),
            Named::Vector(&decoder.norm.gamma),
        ),
    ];
    all.extend(
        decoder
            .lm_head
            .as_ref()
            .map(|head| ("lm_head.weight".to_owned(), Named::Matrix(head))),
    );
    for (index, layer) in decoder.layers.iter().enumerate() {
        let mut add =
            |name: &str, tensor| all.push((format!("model.layers.{index}.{name}"), tensor));
        for (name, linear) in linears(layer) {
            add(&format!("{name}.weight"), Named::Projection(&linear.weight));
            if let Some(bias) = &linear.bias {
                add(&format!("{name}.bias"), Named::Vector(bias));
            }
        }
        for (name, norm) in [
            ("input_layernorm", Some(&layer.input_layernorm)),
            (
                "post_attention_layernorm",
                Some(&layer.post_attention_layernorm),
            ),
            ("self_attn.q_norm", layer.self_attn.q_norm.as_ref()),
            ("self_attn.k_norm", layer.self_attn.k_norm.as_ref()),
        ] {
            if let Some(norm) = norm {
                add(&format!("{name}.weight"), Named::Vector(&norm.gamma));
            }
        }
    }
    all
}

fn linears(layer: &Layer) -> [(&'static str, &Linear); 7] {
    [
        ("self_attn.q_proj", &layer.self_attn.q_proj),
        ("self_attn.k_proj", &layer.self_attn.k_proj),
        ("self_attn.v_proj", &layer.self_attn.v_proj),
        ("self_attn.o_proj", &layer.self_attn.o_proj),
        ("mlp.gate_proj", &layer.mlp.gate_proj),
        ("mlp.up_proj", &layer.mlp.up_proj),
        ("mlp.down_proj", &layer.mlp.down_proj),
    ]
}
