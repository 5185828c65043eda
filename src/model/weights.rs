//! Weights to and from `model.safetensors`, under Hugging Face's names and in its layout.
//!
//! Every tensor of the configuration must be there in its shape, and none besides. Projections are
//! stored `[out, in]` in the file and `[in, out]` in memory; f16 and bf16 are read as f32.

use super::attention::Attention;
use super::config::ModelConfig;
use super::decoder::{Decoder, Layer, Mlp};
use crate::seed::Seed;
use burn::module::Param;
use burn::nn::{Linear, RmsNorm};
use burn::tensor::{DType, Device, Tensor, TensorData};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Why weights cannot be read or written.
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
    /// The file is no safetensors file.
    #[error("{file}: is not a safetensors file: {cause}")]
    Format {
        /// The file.
        file: PathBuf,
        /// The cause.
        cause: safetensors::SafeTensorError,
    },
    /// A tensor is not there.
    #[error("{file}: tensor `{tensor}` is missing, expected with shape {expected:?}")]
    Missing {
        /// The file.
        file: PathBuf,
        /// The name looked for.
        tensor: String,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
    },
    /// A tensor has another shape than `config.json` asks for.
    #[error("{file}: tensor `{tensor}` has shape {found:?}, config.json asks for {expected:?}")]
    Shape {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape that config.json asks for.
        expected: Vec<usize>,
    },
    /// A tensor is of a type that the program does not read.
    #[error("{file}: tensor `{tensor}` has type {found:?}, expected F32, F16 or BF16")]
    Type {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
        /// The type in the file.
        found: Dtype,
    },
    /// A tensor that belongs to no part of the model.
    #[error("{file}: tensor `{tensor}` belongs to no part of this model")]
    Unknown {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
    },
    /// A weight that is infinite or not a number.
    #[error("{file}: tensor `{tensor}` holds a value that is not finite")]
    NotFinite {
        /// The file.
        file: PathBuf,
        /// The name.
        tensor: String,
    },
}

const FILE: &str = "model.safetensors";

/// Reads the weights of a model folder onto a device.
///
/// # Errors
/// Names the file and the tensor, what was found and what was expected.
pub fn load(dir: &Path, config: &ModelConfig, device: &Device) -> Result<Decoder, Error> {
    let file = dir.join(FILE);
    let bytes = std::fs::read(&file).map_err(|cause| Error::Read { file: file.clone(), cause })?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|cause| Error::Format { file: file.clone(), cause })?;
    let expected: HashMap<String, Vec<usize>> = config.tensors().into_iter().collect();
    let mut unknown: Vec<&str> = tensors.names().into_iter().filter(|name| !belongs(name, &expected)).collect();
    unknown.sort_unstable();
    if let Some(tensor) = unknown.first() {
        return Err(Error::Unknown { file, tensor: (*tensor).to_owned() });
    }
    build(config, device, |name, shape| {
        let Ok(view) = tensors.tensor(name) else {
            return Err(Error::Missing { file: file.clone(), tensor: name.into(), expected: shape.into() });
        };
        read(&file, name, shape, &view)
    })
}

/// A tied model may ship its head a second time.
fn belongs(name: &str, expected: &HashMap<String, Vec<usize>>) -> bool {
    expected.contains_key(name) || name == "lm_head.weight"
}

fn read(file: &Path, name: &str, shape: &[usize], view: &TensorView<'_>) -> Result<Vec<f32>, Error> {
    let (file, tensor) = (file.to_owned(), name.to_owned());
    if view.shape() != shape {
        return Err(Error::Shape { file, tensor, found: view.shape().into(), expected: shape.into() });
    }
    let dtype = match view.dtype() {
        Dtype::F32 => DType::F32,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        found => return Err(Error::Type { file, tensor, found }),
    };
    let data = TensorData::from_bytes_vec(view.data().to_vec(), shape.to_vec(), dtype);
    let values = values(data);
    if values.iter().any(|v| !v.is_finite()) {
        return Err(Error::NotFinite { file, tensor });
    }
    Ok(values)
}

/// A decoder with random weights: projections and embedding normal with a variance of one over
/// their inputs, the two projections that write to the residual stream scaled down by the depth
/// (GPT-2), biases zero, norms one.
pub fn random(config: &ModelConfig, seed: Seed, device: &Device) -> Decoder {
    let depth = (2.0 * config.num_hidden_layers as f64).sqrt();
    let fill = |name: &str, shape: &[usize]| {
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
        Ok::<_, std::convert::Infallible>((0..count).map(|_| (std * rng.normal()) as f32).collect())
    };
    match build(config, device, fill) {
        Ok(decoder) => decoder,
        Err(never) => match never {},
    }
}

/// Makes a decoder from `tensor(name, shape)`, which gives each tensor in Hugging Face's layout.
fn build<E>(
    config: &ModelConfig,
    device: &Device,
    mut tensor: impl FnMut(&str, &[usize]) -> Result<Vec<f32>, E>,
) -> Result<Decoder, E> {
    let mut parts = HashMap::new();
    for (name, shape) in config.tensors() {
        let data = TensorData::new(tensor(&name, &shape)?, shape);
        parts.insert(name, data);
    }
    let mut take = |name: &str| parts.remove(name).expect("listed by ModelConfig::tensors");
    let vector = |data: TensorData| Param::from_tensor(Tensor::<1>::from_data(data, device));
    let matrix = |data: TensorData| Param::from_tensor(Tensor::<2>::from_data(data, device));
    let mut layers = Vec::new();
    for index in 0..config.num_hidden_layers {
        let mut get = |name: &str| take(&format!("model.layers.{index}.{name}"));
        let mut linear = |name: &str, has_bias: bool| Linear {
            weight: transposed(get(&format!("{name}.weight")), device),
            bias: has_bias.then(|| vector(get(&format!("{name}.bias")))),
        };
        let self_attn = Attention {
            q_proj: linear("self_attn.q_proj", true),
            k_proj: linear("self_attn.k_proj", true),
            v_proj: linear("self_attn.v_proj", true),
            o_proj: linear("self_attn.o_proj", false),
            head_dim: config.head_dim(),
        };
        let mlp = Mlp {
            gate_proj: linear("mlp.gate_proj", false),
            up_proj: linear("mlp.up_proj", false),
            down_proj: linear("mlp.down_proj", false),
        };
        let mut norm = |name: &str| RmsNorm { gamma: vector(get(name)), epsilon: config.rms_norm_eps };
        let input_layernorm = norm("input_layernorm.weight");
        let post_attention_layernorm = norm("post_attention_layernorm.weight");
        layers.push(Layer { input_layernorm, self_attn, post_attention_layernorm, mlp });
    }
    let decoder = Decoder {
        embed_tokens: matrix(take("model.embed_tokens.weight")),
        layers,
        norm: RmsNorm { gamma: vector(take("model.norm.weight")), epsilon: config.rms_norm_eps },
        lm_head: (!config.tie_word_embeddings).then(|| matrix(take("lm_head.weight"))),
        rope_theta: config.rope_theta(),
    };
    decoder.assert_shape(config);
    Ok(decoder)
}

/// `[out, in]` of the file as `[in, out]`, contiguous.
fn transposed(data: TensorData, device: &Device) -> Param<Tensor<2>> {
    let [rows, columns] = [data.shape()[0], data.shape()[1]];
    let turned = transpose(&values(data), rows, columns);
    Param::from_tensor(Tensor::from_data(TensorData::new(turned, [columns, rows]), device))
}

fn transpose(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns * rows).map(|i| values[(i % rows) * columns + i / rows]).collect()
}

/// Writes `model.safetensors` and `config.json` into a folder.
///
/// # Errors
/// When a file cannot be written.
pub fn save(decoder: &Decoder, config: &ModelConfig, dir: &Path) -> Result<(), Error> {
    let write = |name: &str, bytes: &[u8]| {
        let file = dir.join(name);
        std::fs::write(&file, bytes).map_err(|cause| Error::Write { file, cause })
    };
    let named = tensors(decoder);
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = named
        .into_iter()
        .map(|(name, shape, values)| (name, shape, values.iter().flat_map(|v| v.to_le_bytes()).collect()))
        .collect();
    let views = bytes.iter().map(|(name, shape, data)| {
        (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), data).expect("four bytes a value"))
    });
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let file = safetensors::serialize(views, Some(metadata)).expect("valid views serialize");
    write(FILE, &file)?;
    let json = serde_json::to_string_pretty(&config.to_json("float32")).expect("a JSON value prints");
    write("config.json", (json + "\n").as_bytes())
}

/// Every tensor of the decoder in Hugging Face's layout.
pub(crate) fn tensors(decoder: &Decoder) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    let mut all = Vec::new();
    let mut vector = |name: String, param: &Param<Tensor<1>>| {
        all.push((name, param.dims().to_vec(), values(param.val().into_data())));
    };
    vector("model.norm.weight".into(), &decoder.norm.gamma);
    for (index, layer) in decoder.layers.iter().enumerate() {
        let at = |name: &str| format!("model.layers.{index}.{name}");
        vector(at("input_layernorm.weight"), &layer.input_layernorm.gamma);
        vector(at("post_attention_layernorm.weight"), &layer.post_attention_layernorm.gamma);
        for (name, linear) in linears(layer) {
            if let Some(bias) = &linear.bias {
                vector(at(&format!("{name}.bias")), bias);
            }
        }
    }
    let mut matrix = |name: String, param: &Param<Tensor<2>>| {
        all.push((name, param.dims().to_vec(), values(param.val().into_data())));
    };
    matrix("model.embed_tokens.weight".into(), &decoder.embed_tokens);
    if let Some(head) = &decoder.lm_head {
        matrix("lm_head.weight".into(), head);
    }
    for (index, layer) in decoder.layers.iter().enumerate() {
        for (name, linear) in linears(layer) {
            let [inputs, outputs] = linear.weight.dims();
            let turned = transpose(&values(linear.weight.val().into_data()), inputs, outputs);
            all.push((format!("model.layers.{index}.{name}.weight"), vec![outputs, inputs], turned));
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

fn values(data: TensorData) -> Vec<f32> {
    data.convert::<f32>().try_into_vec().expect("converted to f32")
}
