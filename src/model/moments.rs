//! The two moments of each parameter, as an optimizer keeps them, to and from a safetensors file.

use super::checkpoint::{Checkpoint, Error, to_bytes};
use super::decoder::Decoder;
use super::weights::tensors;
use burn::module::ParamId;
use burn::tensor::{Device, Tensor, TensorData};
use safetensors::tensor::View;
use safetensors::{Dtype, SafeTensorError};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// First and second moment of each parameter, flat.
pub type Moments = HashMap<ParamId, [Tensor<1>; 2]>;

/// Under this key of the file's metadata stands how many steps made the moments.
const STEPS: &str = "steps";

const PREFIXES: [&str; 2] = ["first.", "second."];

/// Writes the moments of a decoder's parameters under the names of their tensors.
///
/// # Errors
/// When the file cannot be written.
pub fn save(file: &Path, decoder: &Decoder, steps: usize, moments: &Moments) -> Result<(), Error> {
    let mut stored = Vec::new();
    for (name, tensor) in tensors(decoder) {
        let Some(pair) = moments.get(&tensor.id()) else {
            continue;
        };
        for (prefix, moment) in PREFIXES.iter().zip(pair) {
            stored.push((
                format!("{prefix}{name}"),
                Flat {
                    moment,
                    shape: moment.dims(),
                },
            ));
        }
    }
    let metadata = HashMap::from([(STEPS.to_owned(), steps.to_string())]);
    safetensors::serialize_to_file(stored, Some(metadata), file).map_err(|e| write_error(file, e))
}

pub(super) fn write_error(file: &Path, e: SafeTensorError) -> Error {
    let cause = match e {
        SafeTensorError::IoError(cause) => cause,
        other => std::io::Error::other(other),
    };
    Error::Write {
        file: file.to_owned(),
        cause,
    }
}

/// Reads the steps and the moments of a decoder's parameters.
///
/// # Errors
/// Names the file and the tensor, what was found and what was expected.
pub fn load(file: &Path, decoder: &Decoder, device: &Device) -> Result<(usize, Moments), Error> {
    let checkpoint = Checkpoint::file(file)?;
    let steps = checkpoint
        .metadata(STEPS)
        .and_then(|steps| steps.parse().ok());
    let steps = steps.ok_or_else(|| Error::Format {
        file: file.to_owned(),
        problem: format!("has no number of `{STEPS}`"),
    })?;
    let mut moments = HashMap::new();
    for (name, tensor) in tensors(decoder) {
        let count = tensor.shape().iter().product();
        let names = PREFIXES.map(|prefix| format!("{prefix}{name}"));
        if steps == 0 && !checkpoint.has(&names[0]) {
            continue;
        }
        let read = |name: &String| {
            checkpoint.check_tensor(name, &[count])?;
            Ok(Tensor::from_data(
                TensorData::new(checkpoint.read(name, false)?, [count]),
                device,
            ))
        };
        moments.insert(tensor.id(), [read(&names[0])?, read(&names[1])?]);
    }
    Ok((steps, moments))
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
