//! `tokenizer.json` and the chat template of a model folder.
//!
//! A prompt goes through the template where the folder has one, and is encoded without adding
//! special tokens a second time. Completions of others are encoded as plain text: what looks like a
//! special token in them stays text.

mod chat_template;
mod error;
#[cfg(test)]
mod tests;
mod train;

pub use error::Error;
pub use train::{END_OF_TEXT, train};

use chat_template::ChatTemplate;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Text to tokens and back.
pub struct Tokenizer {
    /// Reads special tokens in text: for prompts.
    prompts: tokenizers::Tokenizer,
    /// Reads all text as text: for completions.
    completions: tokenizers::Tokenizer,
    template: Option<ChatTemplate>,
    fingerprint: u64,
}

impl Tokenizer {
    /// Reads the tokenizer of a model folder, and its chat template where there is one
    /// (`chat_template.jinja`, or `chat_template` in `tokenizer_config.json`).
    ///
    /// # Errors
    /// Names the file that is missing or malformed.
    pub fn load(dir: &Path) -> Result<Self, Error> {
        let file = dir.join("tokenizer.json");
        let fail = |e| Error {
            file: file.clone(),
            problem: format!("cannot be read as a tokenizer: {e}"),
        };
        let mut prompts = tokenizers::Tokenizer::from_file(&file).map_err(fail)?;
        // some folders store how to cut and fill batches; nothing may be cut here without a word
        prompts.with_truncation(None).map_err(fail)?;
        prompts.with_padding(None);
        let mut completions = prompts.clone();
        completions.set_encode_special_tokens(true);
        Ok(Self {
            prompts,
            completions,
            template: ChatTemplate::load(dir)?,
            fingerprint: fingerprint(&file).map_err(|e| fail(e.into()))?,
        })
    }

    /// Ids that the tokenizer may produce, special ones included.
    pub fn vocab_size(&self) -> usize {
        let ids = self.prompts.get_vocab(true).into_values();
        ids.max().map_or(0, |id| id as usize + 1)
    }

    /// Bytes of the longest text that a token stands for, as far as the vocabulary shows.
    pub fn longest_token(&self) -> usize {
        let tokens = self.prompts.get_vocab(true).into_keys();
        tokens.map(|token| token.len()).max().unwrap_or(0)
    }

    /// The same for tokenizers that were read from the same `tokenizer.json`, byte for byte.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Whether prompts go through a chat template.
    pub fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// The prompt of a user's text: rendered by the chat template, with the system prompt where one
    /// is configured and ready for the answer; without a template, the text as it stands.
    ///
    /// # Errors
    /// When the template cannot be rendered or the prompt is empty.
    pub fn prompt(&self, system: Option<&str>, text: &str) -> Result<Vec<u32>, Error> {
        match &self.template {
            Some(template) => self.encode_prompt(&template.render(system, text)?),
            None => self.encode_prompt(text),
        }
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

    /// The id of a token given by its text.
    pub fn token_id(&self, token: &str) -> Option<u32> {
        self.prompts.token_to_id(token)
    }
}

/// The first eight bytes of a file's SHA-256.
fn fingerprint(file: &Path) -> io::Result<u64> {
    let hash = Sha256::digest(fs::read(file)?);
    let first = hash.iter().take(8);
    Ok(first.fold(0, |all, &byte| (all << 8) | u64::from(byte)))
}

fn encode(tokenizer: &tokenizers::Tokenizer, text: &str) -> Vec<u32> {
    // the byte-level models used here can encode any text; one that cannot has no tokens for it
    tokenizer
        .encode_fast(text, false)
        .map(|encoding| encoding.get_ids().to_vec())
        .unwrap_or_default()
}
