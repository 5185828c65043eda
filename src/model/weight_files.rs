//! The safetensors files of a model folder: one file, or shards with their index.
//!
//! Headers are read and checked first; tensors are then read one at a time, so that no more than the
//! model and one tensor is ever in memory, whatever a header claims.

use super::config::ModelConfig;
use super::shard::{Shard, Values, width};
use super::tensor_names::{Names, what_is};
use super::tensor_shapes::{EMBEDDING, HEAD};
use super::weight_error::Error;
use crate::text_file;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;
use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file of a model that is in one piece.
pub(super) const FILE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// The weights of a model folder, their names, shapes and types checked against a configuration.
pub struct WeightFiles {
    shards: Vec<Shard>,
    /// The shard of each tensor and its name there.
    places: HashMap<String, (usize, String)>,
}

impl WeightFiles {
    /// Reads and checks the headers of a model folder.
    ///
    /// # Errors
    /// Names the file and the tensor, what was found and what was expected.
    pub fn open(dir: &Path, config: &ModelConfig) -> Result<Self, Error> {
        let mut files = Self::headers(dir)?;
        let left_over = files.rename(config)?;
        files.check(config, left_over.first())?;
        Ok(files)
    }

    fn headers(dir: &Path) -> Result<Self, Error> {
        let (single, index) = (dir.join(FILE), dir.join(INDEX));
        let named = if single.exists() {
            None
        } else {
            shards(&index)?
        };
        let Some(named) = named else {
            return match other_weights(dir).filter(|_| !single.exists()) {
                Some(problem) => Err(Error::Format {
                    file: single,
                    problem,
                }),
                None => Self::file(&single),
            };
        };
        let mut shards = Vec::new();
        let mut places = HashMap::new();
        for file in named {
            let shard = Shard::open(dir.join(file))?;
            for tensor in shard.header.tensors().into_keys() {
                let place = (shards.len(), tensor.clone());
                if let Some((other, _)) = places.insert(tensor.clone(), place) {
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
        let names = shard.header.tensors().into_keys();
        let places = names.map(|name| (name.clone(), (0, name))).collect();
        Ok(Self {
            shards: vec![shard],
            places,
        })
    }

    /// Takes the names of the model for those of the files, and returns those that it does not have.
    fn rename(&mut self, config: &ModelConfig) -> Result<Vec<String>, Error> {
        let names = Names::new(config, self.places.keys());
        if let Some([a, b]) = names.twice {
            return Err(Error::Format {
                file: self.file_of(&b),
                problem: format!("has tensor `{b}`, which `{a}` is too"),
            });
        }
        let renamed = names.stored.into_iter().map(|(own, stored)| {
            let (shard, _) = self.places[&stored];
            (own, (shard, stored))
        });
        let mut places: HashMap<_, _> = renamed.collect();
        // still to be named with their files
        let kept = names.left_over.iter();
        places.extend(kept.map(|name| (name.clone(), self.places[name].clone())));
        self.places = places;
        Ok(names.left_over)
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
        let Some((_, stored, info)) = self.find(name) else {
            return Err(Error::Missing {
                file: self.file_of(name),
                tensor: name.to_owned(),
                expected: shape.into(),
                besides: String::new(),
            });
        };
        let (file, tensor) = (self.file_of(name), stored.to_owned());
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
    fn check(&self, config: &ModelConfig, left_over: Option<&String>) -> Result<(), Error> {
        let told = |name: &String| what_is(name, config);
        for (name, shape) in &config.tensors() {
            self.check_tensor(name, shape).map_err(|e| match e {
                Error::Missing {
                    file,
                    tensor,
                    expected,
                    ..
                } => Error::Missing {
                    file,
                    tensor,
                    expected,
                    besides: left_over.map_or_else(String::new, |name| {
                        format!("; found `{name}`: {}", told(name))
                    }),
                },
                other => other,
            })?;
        }
        if self.has(HEAD) {
            self.check_tensor(HEAD, &[config.vocab_size, config.hidden_size])?;
        }
        match left_over {
            Some(name) => Err(Error::Unknown {
                file: self.file_of(name),
                what: told(name),
                tensor: name.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Whether there are an embedding and a head that differ, whatever the configuration says of them.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn has_own_head(&self) -> Result<bool, Error> {
        let pair = [EMBEDDING, HEAD];
        if !pair.iter().all(|name| self.has(name)) {
            return Ok(false);
        }
        let [mut embedding, mut head] = [self.values(EMBEDDING)?, self.values(HEAD)?];
        loop {
            let (a, b) = (embedding.next_chunk()?, head.next_chunk()?);
            if a != b {
                return Ok(true);
            }
            if a.is_empty() {
                return Ok(false);
            }
        }
    }

    fn find(&self, name: &str) -> Option<(&Shard, &str, &TensorInfo)> {
        let (shard, stored) = self.places.get(name)?;
        let shard = &self.shards[*shard];
        Some((shard, stored, shard.header.info(stored)?))
    }

    /// The file that has a tensor; the first one where none has.
    fn file_of(&self, name: &str) -> PathBuf {
        let place = self.places.get(name);
        self.shards[place.map_or(0, |(shard, _)| *shard)]
            .path
            .clone()
    }

    /// The type of a tensor in its file; f32 for one that is not there.
    pub fn dtype(&self, name: &str) -> Dtype {
        self.find(name)
            .map_or(Dtype::F32, |(_, _, info)| info.dtype)
    }

    /// The values of a tensor that was checked, from the first on.
    fn values(&self, name: &str) -> Result<Values<'_>, Error> {
        let (shard, stored, info) = self.find(name).expect("checked when the folder was opened");
        shard.values(stored, info)
    }

    /// The values of a tensor, of a matrix `[rows, columns]` transposed to `[columns, rows]` where wanted.
    ///
    /// # Errors
    /// When the file cannot be read or a value is not finite.
    pub(super) fn read(&self, name: &str, transposed: bool) -> Result<Vec<f32>, Error> {
        let (_, _, info) = self.find(name).expect("checked when the folder was opened");
        let [rows, columns] = match info.shape[..] {
            [rows, columns] if transposed => [rows, columns],
            _ => [info.shape.iter().product(), 1],
        };
        let (mut stored, mut values) = (self.values(name)?, vec![0.0; rows * columns]);
        let [mut row, mut column] = [0, 0];
        loop {
            let chunk = stored.next_chunk()?;
            if chunk.is_empty() {
                return Ok(values);
            }
            for value in chunk {
                values[column * rows + row] = value;
                column += 1;
                if column == columns {
                    [row, column] = [row + 1, 0];
                }
            }
        }
    }
}

/// The files of shards by an index; none when there is no index. Which tensor it says is where does not
/// matter: the files themselves are looked at.
fn shards(index: &Path) -> Result<Option<BTreeSet<String>>, Error> {
    let wrong = |problem: String| Error::Format {
        file: index.to_owned(),
        problem,
    };
    let text = match text_file::read(index) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|cause| Error::Read {
            file: index.to_owned(),
            cause,
        })?,
    };
    let json: serde_json::Value =
        text_file::json(&text).map_err(|e| wrong(format!("is not JSON: {e}")))?;
    let map = json["weight_map"].as_object().filter(|map| !map.is_empty());
    let map = map.ok_or_else(|| {
        wrong("key `weight_map`: expected an object of tensors and their files".to_owned())
    })?;
    let mut files = BTreeSet::new();
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
        files.insert(file.to_owned());
    }
    Ok(Some(files))
}

/// Weights in another form, where a folder has none that are read.
fn other_weights(dir: &Path) -> Option<String> {
    let what = |name: &str| {
        let end = |end: &str| name.ends_with(end);
        if name.starts_with("adapter_model.") {
            Some("an adapter must be merged into its model first")
        } else if end(".safetensors") {
            Some("the file needs that name, shards an index")
        } else if end(".bin") || end(".pth") || end(".pt") || end(".gguf") {
            Some("weights are read from safetensors alone")
        } else {
            None
        }
    };
    let names = std::fs::read_dir(dir).ok()?.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        Some(name.to_string_lossy().into_owned())
    });
    let mut others: Vec<String> = names
        .filter_map(|name| what(&name).map(|what| format!("is missing; found {name}: {what}")))
        .collect();
    others.sort();
    others.into_iter().next()
}
