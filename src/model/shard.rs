//! A safetensors file: its header, checked first, and its tensors, read a part at a time.

use super::weight_error::Error;
use crate::results_layout::usual_permissions;
use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo, View};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Longest header that the format allows.
const LONGEST_HEADER: u64 = 100_000_000;

/// Values read and converted at once.
const CHUNK: usize = 1 << 18;

/// A file with its header.
pub(super) struct Shard {
    pub(super) path: PathBuf,
    pub(super) header: Metadata,
    /// Where the tensors start.
    start: u64,
}

impl Shard {
    /// The error of a file that cannot be read.
    fn unread(&self, cause: std::io::Error) -> Error {
        Error::Read {
            file: self.path.clone(),
            cause,
        }
    }

    /// Reads and checks the header.
    pub(super) fn open(path: PathBuf) -> Result<Self, Error> {
        let failed = |cause| Error::Read {
            file: path.clone(),
            cause,
        };
        let wrong = |problem: String| Error::Format {
            file: path.clone(),
            problem,
        };
        let about = std::fs::metadata(&path).map_err(failed)?;
        if !about.is_file() {
            return Err(wrong("is no regular file".to_owned()));
        }
        let size = about.len();
        let mut file = File::open(&path).map_err(failed)?;
        let mut length = [0; 8];
        match file.read_exact(&mut length) {
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                return Err(wrong(format!(
                    "is not a safetensors file: it has {size} bytes"
                )));
            }
            other => other.map_err(failed)?,
        }
        let length = u64::from_le_bytes(length);
        if length > (size - 8).min(LONGEST_HEADER) {
            let problem =
                format!("is not a safetensors file: it has {size} bytes, but a header of {length}");
            return Err(wrong(problem));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(failed)?;
        let header: Metadata = serde_json::from_slice(&header).map_err(|e| {
            wrong(format!(
                "is not a safetensors file: its header is wrong: {e}"
            ))
        })?;
        let (found, expected) = (size - 8 - length, header.data_len() as u64);
        if found != expected {
            return Err(wrong(format!(
                "has {found} bytes of tensors, its header asks for {expected}: it is not whole"
            )));
        }
        Ok(Self {
            path,
            header,
            start: 8 + length,
        })
    }

    /// The values of a tensor of a type that is read, from the first on.
    pub(super) fn values<'a>(
        &'a self,
        name: &'a str,
        info: &TensorInfo,
    ) -> Result<Values<'a>, Error> {
        let open = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.start + info.data_offsets.0 as u64))?;
            Ok(file)
        };
        Ok(Values {
            file: open().map_err(|cause| self.unread(cause))?,
            shard: self,
            name,
            dtype: info.dtype,
            left: info.shape.iter().product(),
        })
    }
}

/// The values of a tensor on their way from a file.
pub(super) struct Values<'a> {
    file: File,
    shard: &'a Shard,
    name: &'a str,
    dtype: Dtype,
    left: usize,
}

impl Values<'_> {
    /// The next of them, none at the end.
    pub(super) fn next_chunk(&mut self) -> Result<Vec<f32>, Error> {
        let width = width(self.dtype).expect("checked when the folder was opened");
        let count = self.left.min(CHUNK);
        let mut bytes = vec![0; count * width];
        let read = self.file.read_exact(&mut bytes);
        read.map_err(|cause| self.shard.unread(cause))?;
        self.left -= count;
        let places = bytes.chunks_exact(width);
        let values: Vec<f32> = places.map(|value| to_f32(self.dtype, value)).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err(Error::NotFinite {
                file: self.shard.path.clone(),
                tensor: self.name.to_owned(),
            });
        }
        Ok(values)
    }
}

/// Writes a file of tensors, with the permissions of any other file: the library's are those of a secret.
pub(super) fn write<V: View>(
    file: &Path,
    tensors: Vec<(String, V)>,
    metadata: HashMap<String, String>,
) -> Result<(), Error> {
    safetensors::serialize_to_file(tensors, Some(metadata), file)
        .map_err(|e| Error::of_writing(file, e))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let opened = usual_permissions(folder).and_then(|usual| fs::set_permissions(file, usual));
    opened.map_err(|cause| Error::Write {
        file: file.to_owned(),
        cause,
    })
}

/// Bytes of a value; `None` for a type that is not read.
pub(super) fn width(dtype: Dtype) -> Option<usize> {
    match dtype {
        Dtype::F64 => Some(8),
        Dtype::F32 => Some(4),
        Dtype::F16 | Dtype::BF16 => Some(2),
        _ => None,
    }
}

fn to_f32(dtype: Dtype, bytes: &[u8]) -> f32 {
    fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
        *bytes.first_chunk().expect("as wide as its type")
    }
    match dtype {
        Dtype::F64 => f64::from_le_bytes(first(bytes)) as f32,
        Dtype::F16 => f16::from_le_bytes(first(bytes)).to_f32(),
        Dtype::BF16 => bf16::from_le_bytes(first(bytes)).to_f32(),
        _ => f32::from_le_bytes(first(bytes)),
    }
}

/// Values in a type of a file, to the nearest.
pub(super) fn to_bytes(dtype: Dtype, values: &[f32]) -> Vec<u8> {
    match dtype {
        Dtype::F64 => values
            .iter()
            .flat_map(|v| f64::from(*v).to_le_bytes())
            .collect(),
        Dtype::F16 => values
            .iter()
            .flat_map(|v| f16::from_f32(*v).to_le_bytes())
            .collect(),
        Dtype::BF16 => values
            .iter()
            .flat_map(|v| bf16::from_f32(*v).to_le_bytes())
            .collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}
