//! `tokenizer.json` and the chat template of a model folder.
//!
//! A prompt goes through the template where the folder has one, and is encoded without adding
//! special tokens a second time. Completions of others are encoded as plain text: what looks like a
//! special token in them stays text.

mod chat_template;
mod error;
mod jinja;
mod jinja_collections;
mod jinja_filters;
mod jinja_methods;
mod jinja_source;
mod jinja_text;
mod settings;
#[cfg(test)]
mod tests;
mod train;

pub use chat_template::ChatOptions;
pub use error::Error;
pub use train::{END_OF_TEXT, train};

use crate::text_file;
use chat_template::ChatTemplate;
use settings::Settings;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Text to tokens and back.
pub struct Tokenizer {
    /// Reads special tokens in text: for prompts.
    prompts: tokenizers::Tokenizer,
    /// Reads all text as text: for completions.
    completions: tokenizers::Tokenizer,
    template: Option<ChatTemplate>,
    /// The token that ends a text by the files of the tokenizer.
    eos_id: Option<u32>,
    /// Ids of `tokenizer.json` itself.
    own_ids: usize,
    /// Rows of the model's embedding.
    rows: usize,
    fingerprint: u64,
}

impl Tokenizer {
    /// Reads the tokenizer of a model folder, with the tokens that the files beside it add, and its chat
    /// template where there is one (`chat_template.jinja`, or `chat_template` in `tokenizer_config.json`).
    ///
    /// # Errors
    /// Names the file that is missing or malformed.
    pub fn load(dir: &Path) -> Result<Self, Error> {
        Self::load_for(dir, usize::MAX)
    }

    /// The same for a model whose embedding has so many rows, which what is added may go beyond.
    ///
    /// # Errors
    /// As [`Tokenizer::load`].
    pub fn load_for(dir: &Path, rows: usize) -> Result<Self, Error> {
        let file = dir.join("tokenizer.json");
        let fail = |e: tokenizers::Error| Error {
            file: file.clone(),
            problem: format!("cannot be read as a tokenizer: {e}"),
        };
        let text = text_file::read(&file).map_err(|e| fail(e.into()))?;
        let mut prompts: tokenizers::Tokenizer = text.parse().map_err(fail)?;
        // some folders store how to cut and fill batches; nothing may be cut here without a word
        prompts.with_truncation(None).map_err(fail)?;
        prompts.with_padding(None);
        let settings = Settings::load(dir)?;
        let own_ids = ids(&prompts);
        // a completion is learned from, so it must be made of what has a row
        let mut completions = prompts.clone();
        add(&mut completions, &settings, rows).map_err(fail)?;
        let added = add(&mut prompts, &settings, usize::MAX).map_err(fail)?;
        let eos = settings
            .named()
            .into_iter()
            .find(|(name, _)| name == "eos_token");
        completions.set_encode_special_tokens(true);
        Ok(Self {
            eos_id: eos.and_then(|(_, token)| prompts.token_to_id(&token)),
            prompts,
            completions,
            own_ids,
            rows,
            template: ChatTemplate::load(dir, &settings)?,
            fingerprint: fingerprint(&text, &added),
        })
    }

    /// Ids that `tokenizer.json` has, special ones included.
    pub fn vocab_size(&self) -> usize {
        self.own_ids
    }

    /// # Errors
    /// When a token of a prompt has no row of the model's embedding.
    pub fn check_rows(&self, tokens: &[u32]) -> Result<(), Error> {
        match tokens.iter().find(|id| **id as usize >= self.rows) {
            None => Ok(()),
            Some(id) => Err(Error {
                file: PathBuf::from("the prompt"),
                problem: format!(
                    "found token {:?} with id {id}, expected one of the {} of the model",
                    self.prompts.id_to_token(*id).unwrap_or_default(),
                    self.rows
                ),
            }),
        }
    }

    /// Bytes of the longest text that a token stands for, as far as the vocabulary shows.
    pub fn longest_token(&self) -> usize {
        let tokens = self.prompts.get_vocab(true).into_keys();
        tokens.map(|token| token.len()).max().unwrap_or(0)
    }

    /// The same for tokenizers that were read from the same `tokenizer.json`, byte for byte, and to which
    /// the same tokens were added.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Whether prompts go through a chat template.
    pub fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// The prompt of a user's text: rendered by the chat template and ready for the answer; without a
    /// template, the text as it stands.
    ///
    /// # Errors
    /// When the template cannot be rendered or the prompt is empty.
    pub fn prompt(&self, options: &ChatOptions, text: &str) -> Result<Vec<u32>, Error> {
        match &self.template {
            Some(template) => self.encode_prompt(&template.render(options, text)?),
            None => self.encode_prompt(text),
        }
    }

    /// Tries the chat template, so that one that cannot be rendered is found before anything runs.
    ///
    /// # Errors
    /// When it refuses.
    pub fn check(&self, options: &ChatOptions) -> Result<(), Error> {
        self.template
            .iter()
            .try_for_each(|template| template.render(options, "probe").map(drop))
    }

    /// Tokens of a prompt that is already in its final form.
    ///
    /// # Errors
    /// When it has no token.
    pub fn encode_prompt(&self, text: &str) -> Result<Vec<u32>, Error> {
        let tokens = encode(&self.prompts, text);
        if tokens.is_empty() {
            let problem = "found no token, expected at least one".to_owned();
            return Err(Error {
                file: PathBuf::from("the prompt"),
                problem,
            });
        }
        Ok(tokens)
    }

    /// Tokens of a completion's text.
    pub fn encode_completion(&self, text: &str) -> Vec<u32> {
        encode(&self.completions, text)
    }

    /// The text of tokens, special ones included. Bytes that are no UTF-8 become U+FFFD; an id that
    /// the tokenizer lacks has no text.
    pub fn decode(&self, tokens: &[u32]) -> String {
        self.prompts.decode(tokens, false).unwrap_or_default()
    }

    /// Whether there is a token with this id.
    pub fn has_id(&self, id: u32) -> bool {
        self.prompts.id_to_token(id).is_some()
    }

    /// The id of the token that ends a text, where the files of the tokenizer name one.
    pub fn eos_id(&self) -> Option<u32> {
        self.eos_id
    }

    /// The id of a token given by its text.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.prompts.token_to_id(token)
    }
}

/// The first eight bytes of the SHA-256 of a text and of the tokens that it lacks.
fn fingerprint(text: &str, added: &[String]) -> u64 {
    let mut hash = Sha256::new_with_prefix(text);
    added.iter().for_each(|token| hash.update(token));
    let hash = hash.finalize();
    let first = hash.iter().take(8);
    first.fold(0, |all, &byte| (all << 8) | u64::from(byte))
}

fn ids(tokenizer: &tokenizers::Tokenizer) -> usize {
    let ids = tokenizer.get_vocab(true).into_values();
    ids.max().map_or(0, |id| id as usize + 1)
}

/// Adds the tokens that the files beside `tokenizer.json` know, and returns those that it lacked; none that would go
/// beyond so many rows.
fn add(
    tokenizer: &mut tokenizers::Tokenizer,
    settings: &Settings,
    rows: usize,
) -> tokenizers::Result<Vec<String>> {
    let (mut lacking, own) = (Vec::new(), ids(tokenizer));
    let special = settings.special.iter().map(|token| (token, true));
    let added = settings.added.iter().map(|token| (token, false));
    for (token, unless_known) in added.chain(special) {
        let mut known = tokenizer.get_added_tokens_decoder().into_values();
        if unless_known && known.any(|known| known.content == token.content) {
            continue;
        }
        if tokenizer.token_to_id(&token.content).is_none() {
            if own + lacking.len() >= rows {
                continue;
            }
            lacking.push(token.content.clone());
        }
        tokenizer.add_tokens([token.clone()])?;
    }
    Ok(lacking)
}

fn encode(tokenizer: &tokenizers::Tokenizer, text: &str) -> Vec<u32> {
    // the byte-level models used here can encode any text; one that cannot has no tokens for it
    tokenizer
        .encode_fast(text, false)
        .map(|encoding| encoding.get_ids().to_vec())
        .unwrap_or_default()
}
