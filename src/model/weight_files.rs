//! The safetensors files of a model folder: one file, or shards with their index.
//!
//! Headers are read and checked first; tensors are then read one at a time, so that no more than the
//! model and one tensor is ever in memory, whatever a header claims.

use super::config::ModelConfig;
use super::weight_error::Error;
use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The file of a model that is in one piece.
pub(super) const FILE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Longest header that the format allows.
const LONGEST_HEADER: u64 = 100_000_000;

/// Values read and converted at once.
const CHUNK: usize = 1 << 18;

/// A file with its header.
struct Shard {
    path: PathBuf,
    header: Metadata,
    /// Where the tensors start.
    start: u64,
}

/// The weights of a model folder, their names, shapes and types checked against a configuration.
pub struct WeightFiles {
    shards: Vec<Shard>,
    /// The shard of each tensor.
    places: HashMap<String, usize>,
}

impl WeightFiles {
    /// Reads and checks the headers of a model folder.
    ///
    /// # Errors
    /// Names the file and the tensor, what was found and what was expected.
    pub fn open(dir: &Path, config: &ModelConfig) -> Result<Self, Error> {
        let files = Self::headers(dir)?;
        files.check(config)?;
        Ok(files)
    }

    fn headers(dir: &Path) -> Result<Self, Error> {
        let (single, index) = (dir.join(FILE), dir.join(INDEX));
        let named = if single.exists() {
            None
        } else {
            weight_map(&index)?
        };
        let Some(named) = named else {
            return Self::file(&single);
        };
        let mut shards = Vec::new();
        let mut places = HashMap::new();
        for (file, tensors) in named {
            let shard = Shard::open(dir.join(file))?;
            for tensor in tensors {
                if shard.header.info(&tensor).is_none() {
                    let problem =
                        format!("has no tensor `{tensor}`, where {INDEX} says that it is");
                    return Err(Error::Format {
                        file: shard.path,
                        problem,
                    });
                }
            }
            for tensor in shard.header.tensors().into_keys() {
                if let Some(other) = places.insert(tensor.clone(), shards.len()) {
                    let other: &Shard = &shards[other];
                    let problem = format!(
                        "has tensor `{tensor}`, which {} has too",
                        other.path.display()
                    );
                    return Err(Error::Format {
                        file: shard.path,
                        problem,
                    });
                }
            }
            shards.push(shard);
        }
        Ok(Self { shards, places })
    }

    /// Reads the header of a single file, whatever tensors it has.
    pub(super) fn file(path: &Path) -> Result<Self, Error> {
        let shard = Shard::open(path.to_owned())?;
        let places = shard
            .header
            .tensors()
            .into_keys()
            .map(|name| (name, 0))
            .collect();
        Ok(Self {
            shards: vec![shard],
            places,
        })
    }

    /// A value of the metadata of a single file.
    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        self.shards[0]
            .header
            .metadata()
            .as_ref()?
            .get(key)
            .map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// A tensor must be there, in this shape and in a type that is read.
    pub(super) fn check_tensor(&self, name: &str, shape: &[usize]) -> Result<(), Error> {
        let (file, tensor) = (self.file_of(name), name.to_owned());
        let Some((_, info)) = self.find(name) else {
            return Err(Error::Missing {
                file,
                tensor,
                expected: shape.into(),
            });
        };
        if info.shape != *shape {
            return Err(Error::Shape {
                file,
                tensor,
                found: info.shape.clone(),
                expected: shape.into(),
            });
        }
        if width(info.dtype).is_none() {
            return Err(Error::Type {
                file,
                tensor,
                found: info.dtype,
            });
        }
        Ok(())
    }

    /// Every tensor of the configuration must be there in its shape, and none besides.
    fn check(&self, config: &ModelConfig) -> Result<(), Error> {
        let expected = config.tensors();
        for (name, shape) in &expected {
            self.check_tensor(name, shape)?;
        }
        // a tied model may ship its head a second time
        let known = |name: &str| {
            name == "lm_head.weight" || expected.iter().any(|(known, _)| known == name)
        };
        match self.places.keys().filter(|name| !known(name)).min() {
            Some(name) => Err(Error::Unknown {
                file: self.file_of(name),
                tensor: name.clone(),
            }),
            None => Ok(()),
        }
    }

    fn find(&self, name: &str) -> Option<(&Shard, &TensorInfo)> {
        let shard = &self.shards[*self.places.get(name)?];
        Some((shard, shard.header.info(name)?))
    }

    /// The file that has a tensor; the first one where none has.
    fn file_of(&self, name: &str) -> PathBuf {
        self.shards[self.places.get(name).copied().unwrap_or(0)]
            .path
            .clone()
    }

    /// The type of a tensor in its file; f32 for one that is not there.
    pub fn dtype(&self, name: &str) -> Dtype {
        self.find(name).map_or(Dtype::F32, |(_, info)| info.dtype)
    }

    /// The values of a tensor, of a matrix `[rows, columns]` transposed to `[columns, rows]` where wanted.
    ///
    /// # Errors
    /// When the file cannot be read or a value is not finite.
    pub(super) fn read(&self, name: &str, transposed: bool) -> Result<Vec<f32>, Error> {
        let (shard, info) = self.find(name).expect("checked when the folder was opened");
        let failed = |cause| Error::Read {
            file: shard.path.clone(),
            cause,
        };
        let mut file = File::open(&shard.path).map_err(failed)?;
        file.seek(SeekFrom::Start(shard.start + info.data_offsets.0 as u64))
            .map_err(failed)?;
        let width = width(info.dtype).expect("checked when the folder was opened");
        let [rows, columns] = match info.shape[..] {
            [rows, columns] if transposed => [rows, columns],
            _ => [info.shape.iter().product(), 1],
        };
        let mut values = vec![0.0; rows * columns];
        let at_once = (CHUNK / columns.max(1)).clamp(1, rows.max(1));
        let mut buffer = vec![0; at_once * columns * width];
        for first in (0..rows).step_by(at_once) {
            let count = at_once.min(rows - first);
            let chunk = &mut buffer[..count * columns * width];
            file.read_exact(chunk).map_err(failed)?;
            let value = |i: usize| to_f32(info.dtype, &chunk[i * width..]);
            if (0..count * columns).any(|i| !value(i).is_finite()) {
                return Err(Error::NotFinite {
                    file: shard.path.clone(),
                    tensor: name.to_owned(),
                });
            }
            for column in 0..columns {
                let places = &mut values[column * rows + first..][..count];
                places
                    .iter_mut()
                    .enumerate()
                    .for_each(|(row, place)| *place = value(row * columns + column));
            }
        }
        Ok(values)
    }
}

impl Shard {
    fn open(path: PathBuf) -> Result<Self, Error> {
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
}

/// The tensors of each file by an index; none when there is no index.
fn weight_map(index: &Path) -> Result<Option<BTreeMap<String, Vec<String>>>, Error> {
    let wrong = |problem: String| Error::Format {
        file: index.to_owned(),
        problem,
    };
    let text = match std::fs::read_to_string(index) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|cause| Error::Read {
            file: index.to_owned(),
            cause,
        })?,
    };
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| wrong(format!("is not JSON: {e}")))?;
    let map = json["weight_map"].as_object().filter(|map| !map.is_empty());
    let map = map.ok_or_else(|| {
        wrong("key `weight_map`: expected an object of tensors and their files".to_owned())
    })?;
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tensor, file) in map {
        let name = file.as_str().filter(|file| {
            Path::new(file)
                .file_name()
                .is_some_and(|name| name == *file)
        });
        let file = name.ok_or_else(|| {
            wrong(format!(
                "tensor `{tensor}`: found {file}, expected the name of a file"
            ))
        })?;
        files
            .entry(file.to_owned())
            .or_default()
            .push(tensor.clone());
    }
    Ok(Some(files))
}

/// Bytes of a value; `None` for a type that is not read.
fn width(dtype: Dtype) -> Option<usize> {
    match dtype {
        Dtype::F32 => Some(4),
        Dtype::F16 | Dtype::BF16 => Some(2),
        _ => None,
    }
}

fn to_f32(dtype: Dtype, bytes: &[u8]) -> f32 {
    let short = || [bytes[0], bytes[1]];
    match dtype {
        Dtype::F16 => f16::from_le_bytes(short()).to_f32(),
        Dtype::BF16 => bf16::from_le_bytes(short()).to_f32(),
        _ => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
    }
}

/// Values in a type of a file, to the nearest.
pub(super) fn to_bytes(dtype: Dtype, values: &[f32]) -> Vec<u8> {
    match dtype {
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
