//! The model folder that agents start from, checked once before anything runs.

use super::device::Device;
use crate::learn::TrainConfig;
use crate::model::weights::{self, Checkpoint};
use crate::model::{Decoder, ModelConfig};
use crate::policy::{Policy, QwenPolicy};
use crate::tokenizer::Tokenizer;
use anyhow::{Result, ensure};
use std::path::Path;
use std::sync::Arc;

/// A model with its tokenizer.
pub struct Base {
    /// The shape.
    pub config: ModelConfig,
    /// Text to tokens.
    pub tokenizer: Arc<Tokenizer>,
    /// Ids that end a completion.
    pub eos: Vec<u32>,
}

impl Base {
    /// Reads everything but the weights of a model folder.
    ///
    /// # Errors
    /// Names the file that is missing or wrong, or the parts that do not fit together.
    pub fn open(dir: &Path) -> Result<Self> {
        let config = ModelConfig::load(dir)?;
        let tokenizer = Tokenizer::load(dir)?;
        let eos = config.eos_token_ids(dir)?;
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
            anyhow::bail!("{}: eos_token_id {id}, expected less than vocab_size {rows}", dir.display());
        }
        Ok(Self { config, tokenizer: Arc::new(tokenizer), eos })
    }

    /// Reads the weights onto a device.
    ///
    /// # Errors
    /// Names the tensor, what was found and what was expected.
    pub fn weights(&self, dir: &Path, device: &Device) -> Result<Decoder> {
        Ok(weights::load(&Checkpoint::open(dir, &self.config)?, &self.config, device)?)
    }

    /// A policy that starts from these weights.
    pub fn policy(&self, model: &Decoder, system_prompt: Option<&str>, train: &TrainConfig) -> Box<dyn Policy> {
        let system_prompt = system_prompt.map(ToOwned::to_owned);
        Box::new(QwenPolicy::new(model, Arc::clone(&self.tokenizer), system_prompt, self.eos.clone(), train.clone()))
    }
}
