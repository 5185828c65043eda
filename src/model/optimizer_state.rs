//! What an optimizer remembers of each parameter, to and from a safetensors file.

use super::decoder::Decoder;
use super::shard::{self, to_bytes};
use super::weight_error::Error;
use super::weight_files::WeightFiles;
use super::weights::tensors;
use burn::module::ParamId;
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::Dtype;
use safetensors::tensor::View;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// What is remembered of one parameter, each flat: the first and the second moment of Adam, or the
/// momentum of SGD.
pub type Moments = Vec<Tensor<1>>;

/// What an optimizer remembers.
#[derive(Default)]
pub struct OptimizerState {
    /// Steps taken.
    pub steps: usize,
    /// Of each parameter; nothing of those that have had no gradient yet.
    pub moments: HashMap<ParamId, Moments>,
}

/// The key of the file's metadata for the number of steps.
const STEPS: &str = "steps";

const PREFIXES: [&str; 2] = ["first.", "second."];

impl OptimizerState {
    /// Writes the moments of a decoder's parameters under the names of their tensors.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, file: &Path, decoder: &Decoder) -> Result<(), Error> {
        let mut stored = Vec::new();
        for (name, tensor) in tensors(decoder) {
            let moments = self.moments.get(&tensor.id()).into_iter().flatten();
            for (prefix, moment) in PREFIXES.iter().zip(moments) {
                let shape = moment.dims();
                stored.push((format!("{prefix}{name}"), Flat { moment, shape }));
            }
        }
        let metadata = HashMap::from([(STEPS.to_owned(), self.steps.to_string())]);
        shard::write(file, stored, metadata)
    }

    /// Reads what an optimizer of this decoder remembered, `count` moments of each parameter that has
    /// had a gradient.
    ///
    /// # Errors
    /// Names the file and the tensor, what was found and what was expected.
    pub fn load(
        file: &Path,
        decoder: &Decoder,
        count: usize,
        device: &Device,
    ) -> Result<Self, Error> {
        let stored = WeightFiles::file(file)?;
        let steps = stored.metadata(STEPS).and_then(|steps| steps.parse().ok());
        let steps = steps.ok_or_else(|| Error::Format {
            file: file.to_owned(),
            problem: format!("has no number of `{STEPS}`"),
        })?;
        let mut moments = HashMap::new();
        for (name, tensor) in tensors(decoder) {
            let size = tensor.shape().iter().product();
            let names = PREFIXES.map(|prefix| format!("{prefix}{name}"));
            if !stored.has(&names[0]) {
                continue;
            }
            let read = |name: &String| {
                stored.check_tensor(name, &[size])?;
                let values = stored.read(name, false)?;
                Ok(Tensor::from_data(TensorData::new(values, [size]), device))
            };
            let read: Result<Moments, Error> = names[..count].iter().map(read).collect();
            moments.insert(tensor.id(), read?);
        }
        Ok(Self { steps, moments })
    }
}

struct Flat<'a> {
    moment: &'a Tensor<1>,
    shape: [usize; 1],
}

impl View for Flat<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let values: Vec<f32> = self
            .moment
            .to_data()
            .try_into_vec()
            .expect("moments are f32");
        to_bytes(Dtype::F32, &values).into()
    }

    fn data_len(&self) -> usize {
        4 * self.shape[0]
    }
}
