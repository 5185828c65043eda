//! Questions to prompts: rendered by the chat template and encoded, once for all agents that read
//! them alike.

use super::Unreadable;
use crate::rollout::{Prompt, Question};
use crate::tokenizer::{ChatOptions, Tokenizer};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Prompts that are remembered: a few rounds of a large swarm, and the held-out questions.
const REMEMBERED: usize = 1 << 12;

/// How the agents of one model folder read questions. In a swarm every question is read by all of
/// them, so what one has rendered and encoded is kept for the others (`benches/README.md` has what
/// this brings).
pub struct Prompts {
    tokenizer: Arc<Tokenizer>,
    /// What goes into every prompt besides the question.
    options: ChatOptions,
    /// Most tokens of a prompt.
    most: usize,
    known: Mutex<HashMap<String, Result<Prompt, Unreadable>>>,
}

impl Prompts {
    /// Prompts of at most so many tokens.
    pub fn new(tokenizer: Arc<Tokenizer>, options: ChatOptions, most: usize) -> Self {
        Self {
            tokenizer,
            options,
            most,
            known: Mutex::default(),
        }
    }

    /// The prompt of a question.
    ///
    /// # Errors
    /// When the chat template refuses it or it is too long.
    pub fn read(&self, question: &Question) -> Result<Prompt, Unreadable> {
        let known = || {
            self.known
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        if let Some(prompt) = known().get(&question.text) {
            return prompt.clone();
        }
        let prompt = self.encode(&question.text);
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(question.text.clone(), prompt.clone());
        prompt
    }

    fn encode(&self, text: &str) -> Result<Prompt, Unreadable> {
        let tokens = self.tokenizer.prompt(&self.options, text);
        let tokens = tokens.and_then(|tokens| {
            self.tokenizer.check_rows(&tokens)?;
            Ok(tokens)
        });
        let tokens = tokens.map_err(|e| Unreadable::Refused(e.to_string()))?;
        if tokens.len() > self.most {
            return Err(Unreadable::TooLong {
                tokens: tokens.len(),
                most: self.most,
            });
        }
        Ok(Prompt {
            tokens: tokens.into(),
        })
    }
}
