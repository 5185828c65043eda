//! A model folder in Hugging Face's layout that agents start from, checked once before anything runs.

use crate::model::weights::{self, Dtype, WeightFiles};
use crate::model::{Decoder, Device, ModelConfig};
use crate::seed::Seed;
use crate::tokenizer::Tokenizer;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A model with its tokenizer; its weights are read later.
pub struct ModelFolder {
    dir: PathBuf,
    /// The shape.
    pub config: ModelConfig,
    /// Text to tokens.
    pub tokenizer: Arc<Tokenizer>,
    /// Ids that end a completion.
    pub eos: Vec<u32>,
    /// `None` for random weights.
    files: Option<WeightFiles>,
}

/// What a saved model takes over from the folder that it comes from, where there is such a file.
const COMPANIONS: [&str; 10] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
];

impl ModelFolder {
    /// Reads everything of a model folder but the values of its weights.
    ///
    /// # Errors
    /// Names the file that is missing or wrong, or the parts that do not fit together.
    pub fn open(dir: &Path) -> Result<Self> {
        let config = ModelConfig::load(&dir.join("config.json"))?;
        let eos = config.eos_token_ids(Some(dir))?;
        let folder = Self::new(dir, config, eos)?;
        if let Some(id) = folder.eos.iter().find(|id| !folder.tokenizer.has_id(**id)) {
            bail!(
                "{}: eos_token_id {id}, expected an id of tokenizer.json",
                dir.display()
            );
        }
        let files = WeightFiles::open(dir, &folder.config)?;
        // as transformers does: what the weights are goes before what is said of them
        let mut config = folder.config;
        config.tie_word_embeddings &= !files.has_own_head()?;
        Ok(Self {
            files: Some(files),
            config,
            ..folder
        })
    }

    /// The tokenizer of a folder with random weights in the shape of a `config.json` from elsewhere.
    ///
    /// # Errors
    /// As [`ModelFolder::open`].
    pub fn random(dir: &Path, shape: &Path) -> Result<Self> {
        let config = ModelConfig::load(shape)?;
        let eos = config.eos_token_ids(None)?;
        Self::new(dir, config, eos)
    }

    fn new(dir: &Path, config: ModelConfig, mut eos: Vec<u32>) -> Result<Self> {
        let tokenizer = Tokenizer::load_for(dir, config.vocab_size)?;
        // of several ends, the one that the tokenizer names is that of a turn
        if let Some(place) = eos.iter().position(|id| tokenizer.eos_id() == Some(*id)) {
            eos[..=place].rotate_right(1);
        }
        let (ids, rows) = (tokenizer.vocab_size(), config.vocab_size);
        ensure!(
            ids <= rows,
            "{}: tokenizer.json has token ids up to {}, config.json a vocab_size of {rows}",
            dir.display(),
            ids.saturating_sub(1)
        );
        ensure!(
            !eos.is_empty(),
            "{}: key `eos_token_id`: found none, expected an id",
            dir.join("config.json").display()
        );
        if let Some(id) = eos.iter().find(|id| **id as usize >= rows) {
            bail!(
                "{}: eos_token_id {id}, expected less than vocab_size {rows}",
                dir.display()
            );
        }
        Ok(Self {
            dir: dir.to_owned(),
            config,
            tokenizer: Arc::new(tokenizer),
            eos,
            files: None,
        })
    }

    /// The files of a folder that make the model: what is read of it, its weights among them where they are wanted.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn files(dir: &Path, weights: bool) -> std::io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let of_weights = name.ends_with(".safetensors") || name.ends_with(".index.json");
            let read = COMPANIONS.contains(&&*name) || of_weights;
            if read && (weights || !of_weights) && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// Reads the weights onto a device, or makes them.
    ///
    /// # Errors
    /// Names the tensor, what was found and what was expected.
    pub fn weights(&self, device: &Device) -> Result<Decoder> {
        match &self.files {
            Some(files) => Ok(weights::load(files, &self.config, device)?),
            None => Ok(weights::random(
                &self.config,
                Seed::new(0).child("weights", 0),
                device,
            )),
        }
    }

    /// Most tokens that a prompt may have before a completion of this length.
    pub fn room(&self, max_completion_length: usize) -> usize {
        self.config
            .max_position_embeddings()
            .saturating_sub(max_completion_length)
    }

    /// Saves a model that came from this one, its tensors in the types that they had, its other files
    /// byte for byte as they are.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn save(&self, model: &Decoder, dir: &Path) -> Result<()> {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("{}: cannot be made", dir.display()))?;
        for name in COMPANIONS
            .iter()
            .filter(|name| self.dir.join(name).exists())
        {
            // the bytes alone: the copy is no more secret or read-only than any other file of the run
            let (from, to) = (self.dir.join(name), dir.join(name));
            let bytes = std::fs::read(&from)
                .with_context(|| format!("{}: cannot be read", from.display()))?;
            std::fs::write(&to, bytes)
                .with_context(|| format!("{}: cannot be written", to.display()))?;
        }
        match &self.files {
            Some(files) => {
                weights::save(model, dir, |tensor| files.dtype(tensor))?;
                self.config.correct(dir)?;
            }
            None => {
                weights::save(model, dir, |_| Dtype::F32)?;
                self.config.save(dir)?;
            }
        }
        Ok(())
    }
}
