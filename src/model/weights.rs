//! Weights to and from safetensors, under Hugging Face's names and in its layout.
//!
//! Projections are stored `[out, in]` in the file and `[in, out]` in memory; f16 and bf16 are read as
//! f32. A tensor is made or written at a time.

use super::attention::Attention;
use super::config::ModelConfig;
use super::decoder::{Decoder, Layer, Mlp};
pub use super::weight_error::Error;
pub use super::weight_files::WeightFiles;
use super::weight_files::{FILE, to_bytes};
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
    build(config, device, |name, _, turned| files.read(name, turned))
}

/// A decoder with random weights: projections and embedding normal with a variance of one over
/// their inputs, the two projections that write to the residual stream scaled down by the depth
/// (GPT-2), biases zero, norms one.
pub fn random(config: &ModelConfig, seed: Seed, device: &Device) -> Decoder {
    let depth = (2.0 * config.num_hidden_layers as f64).sqrt();
    let fill = |name: &str, shape: &[usize], turned: bool| {
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
        Ok::<_, Infallible>(if turned {
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

/// Makes a decoder from `tensor(name, shape, turned)`, which gives the values of each tensor of
/// Hugging Face's layout, turned from `[out, in]` to `[in, out]` where asked.
fn build<E>(
    config: &ModelConfig,
    device: &Device,
    mut tensor: impl FnMut(&str, &[usize], bool) -> Result<Vec<f32>, E>,
) -> Result<Decoder, E> {
    let shapes: HashMap<String, Vec<usize>> = config.tensors().into_iter().collect();
    let mut data = |name: &str, turned: bool| {
        let mut shape = shapes[name].clone();
        let values = tensor(name, &shape, turned)?;
        if turned {
            shape.reverse();
        }
        Ok::<_, E>(TensorData::new(values, shape))
    };
    let vector = |data: TensorData| Param::from_tensor(Tensor::<1>::from_data(data, device));
    let matrix = |data: TensorData| Param::from_tensor(Tensor::<2>::from_data(data, device));
    let embed_tokens = matrix(data("model.embed_tokens.weight", false)?);
    let mut layers = Vec::new();
    for index in 0..config.num_hidden_layers {
        let at = |name: &str| format!("model.layers.{index}.{name}");
        let mut linear = |name: &str| {
            let bias = at(&format!("{name}.bias"));
            Ok::<_, E>(Linear {
                weight: matrix(data(&at(&format!("{name}.weight")), true)?),
                bias: shapes
                    .contains_key(&bias)
                    .then(|| data(&bias, false))
                    .transpose()?
                    .map(vector),
            })
        };
        let [q_proj, k_proj, v_proj, o_proj] = [
            linear("self_attn.q_proj")?,
            linear("self_attn.k_proj")?,
            linear("self_attn.v_proj")?,
            linear("self_attn.o_proj")?,
        ];
        let [gate_proj, up_proj, down_proj] = [
            linear("mlp.gate_proj")?,
            linear("mlp.up_proj")?,
            linear("mlp.down_proj")?,
        ];
        let mut norm = |name: &str| {
            Ok::<_, E>(RmsNorm {
                gamma: vector(data(&at(name), false)?),
                epsilon: config.rms_norm_eps,
            })
        };
        let [q_norm, k_norm] = match config.has_head_norms() {
            true => [
                Some(norm("self_attn.q_norm.weight")?),
                Some(norm("self_attn.k_norm.weight")?),
            ],
            false => [None, None],
        };
        layers.push(Layer {
            input_layernorm: norm("input_layernorm.weight")?,
            self_attn: Attention {
                q_proj,
                k_proj,
                v_proj,
                o_proj,
                q_norm,
                k_norm,
                head_dim: config.head_dim(),
            },
            post_attention_layernorm: norm("post_attention_layernorm.weight")?,
            mlp: Mlp {
                gate_proj,
                up_proj,
                down_proj,
            },
        });
    }
    let norm = RmsNorm {
        gamma: vector(data("model.norm.weight", false)?),
        epsilon: config.rms_norm_eps,
    };
    let lm_head = match config.tie_word_embeddings {
        true => None,
        false => Some(matrix(data("lm_head.weight", false)?)),
    };
    let decoder = Decoder {
        embed_tokens,
        layers,
        norm,
        lm_head,
        rope_theta: config.rope_theta(),
    };
    decoder.assert_shape(config);
    Ok(decoder)
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
    safetensors::serialize_to_file(stored, Some(metadata), &file)
        .map_err(|e| Error::of_writing(&file, e))
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
    /// A projection, whose file has it turned.
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
