//! `tokenizer.json` and the chat template of a model folder.
//!
//! A prompt goes through the template where the folder has one, and is encoded without adding
//! special tokens a second time. Completions of others are encoded as plain text: what looks like a
//! special token in them stays text.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Value, context};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{AddedToken, TokenizerBuilder};

/// Why a tokenizer or its template cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct Error {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

/// Text to tokens and back.
pub struct Tokenizer {
    /// Reads special tokens in text: for prompts.
    prompts: tokenizers::Tokenizer,
    /// Reads all text as text: for completions.
    completions: tokenizers::Tokenizer,
    template: Option<Template>,
}

struct Template {
    file: PathBuf,
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
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
            template: Template::load(dir)?,
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

fn encode(tokenizer: &tokenizers::Tokenizer, text: &str) -> Vec<u32> {
    // the byte-level models used here can encode any text; one that cannot has no tokens for it
    tokenizer
        .encode_fast(text, false)
        .map(|encoding| encoding.get_ids().to_vec())
        .unwrap_or_default()
}

/// The text of a file; none when there is no such file.
fn read(file: &Path) -> Result<Option<String>, Error> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error {
            file: file.to_owned(),
            problem: format!("cannot be read: {e}"),
        }),
    }
}

/// Steps that a chat template may take; one that needs more never ends.
const TEMPLATE_FUEL: u64 = 1_000_000;

impl Template {
    fn load(dir: &Path) -> Result<Option<Self>, Error> {
        let (file, jinja) = (
            dir.join("tokenizer_config.json"),
            dir.join("chat_template.jinja"),
        );
        let config = match read(&file)? {
            Some(text) => serde_json::from_str(&text).map_err(|e| Error {
                file: file.clone(),
                problem: format!("is not JSON: {e}"),
            })?,
            None => Json::Object(serde_json::Map::new()),
        };
        let found = |what: &str| {
            let problem = format!(
                "chat_template: found {what}, expected a text, or a list of which one is \"default\""
            );
            Err(Error {
                file: file.clone(),
                problem,
            })
        };
        let (file, source) = match (read(&jinja)?, &config["chat_template"]) {
            (Some(source), _) => (jinja, source),
            (None, Json::Null) if config.is_object() => return Ok(None),
            (None, Json::String(source)) => (file, source.clone()),
            (None, Json::Array(list)) => {
                let default = list.iter().find(|entry| entry["name"] == "default");
                match default.and_then(|entry| entry["template"].as_str()) {
                    Some(source) => (file, source.to_owned()),
                    None => return found("a list without it"),
                }
            }
            _ => return found("something else"),
        };
        let token = |name: &str| match &config[name] {
            Json::String(token) => token.clone(),
            object => object["content"].as_str().unwrap_or_default().to_owned(),
        };
        let (bos_token, eos_token) = (token("bos_token"), token("eos_token"));
        let environment = environment(source).map_err(|e| refused(&file, &e))?;
        let template = Self {
            file,
            environment,
            bos_token,
            eos_token,
        };
        template.render(None, "probe")?;
        Ok(Some(template))
    }

    fn render(&self, system: Option<&str>, text: &str) -> Result<String, Error> {
        let message = |role: &str, content: &str| context! { role => role, content => content };
        let mut messages: Vec<Value> = system.map(|s| message("system", s)).into_iter().collect();
        messages.push(message("user", text));
        let values = context! {
            messages => messages,
            add_generation_prompt => true,
            enable_thinking => false,
            bos_token => &self.bos_token,
            eos_token => &self.eos_token,
        };
        let template = self
            .environment
            .get_template(TEMPLATE)
            .expect("it was added when the folder was read");
        template.render(values).map_err(|e| refused(&self.file, &e))
    }
}

fn refused(file: &Path, e: &minijinja::Error) -> Error {
    Error {
        file: file.to_owned(),
        problem: format!("the chat template cannot be rendered: {e:#}"),
    }
}

const TEMPLATE: &str = "chat_template";

/// A template in an environment like the one that transformers sets up in jinja2.
fn environment(source: String) -> Result<Environment<'static>, minijinja::Error> {
    let fail =
        |problem: String| minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, problem);
    let mut environment = Environment::new();
    environment.set_fuel(Some(TEMPLATE_FUEL));
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .expect("the default delimiters"),
    );
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", move |message: String| {
        Err::<Value, _>(fail(message))
    });
    // jinja2 escapes for HTML here, transformers does not
    let json = move |value: &Value| serde_json::to_string(value).map_err(|e| fail(e.to_string()));
    environment.add_filter("tojson", json);
    environment.add_template_owned(TEMPLATE, source)?;
    Ok(environment)
}

/// The end-of-sequence token of tokenizers made by [`train`].
pub const END_OF_TEXT: &str = "<|endoftext|>";

/// Trains a byte-level BPE tokenizer in which every digit is its own token, and writes its
/// `tokenizer.json`. The same texts give the same file.
///
/// # Errors
/// When training fails or the file cannot be written.
pub fn train(texts: &[String], vocab_size: usize, dir: &Path) -> Result<(), Error> {
    let file = dir.join("tokenizer.json");
    let fail = |e: tokenizers::Error| Error {
        file: file.clone(),
        problem: format!("cannot be made: {e}"),
    };
    let split = Sequence::new(vec![
        Digits::new(true).into(),
        ByteLevel::new(false, true, true).into(),
    ]);
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(BPE::default())
        .with_normalizer(None::<tokenizers::normalizers::NFC>)
        .with_pre_tokenizer(Some(split))
        .with_post_processor(None::<ByteLevel>)
        .with_decoder(Some(ByteLevel::default()))
        .build()
        .map_err(fail)?;
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(vocab_size)
        .special_tokens(vec![AddedToken::from(END_OF_TEXT, true)])
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .build();
    tokenizer
        .train(&mut trainer, texts.iter().map(String::as_str))
        .map_err(fail)?;
    tokenizer.save(&file, true).map_err(fail)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(template: Option<&str>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let texts: Vec<String> = (0..50)
            .map(|i| format!("The answer is {i}. <answer>{}</answer>", i * 37))
            .collect();
        train(&texts, 300, dir.path()).unwrap();
        if let Some(template) = template {
            let config = serde_json::json!({"chat_template": template, "eos_token": END_OF_TEXT});
            std::fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
        }
        dir
    }

    #[test]
    fn any_text_survives_and_digits_stand_alone() {
        let dir = folder(None);
        let tokenizer = Tokenizer::load(dir.path()).unwrap();
        for text in [
            "",
            " leading",
            "nul \0",
            "line\u{2028}separator",
            "emoji 🦀",
            "a\r\n\tb",
            "<|endoftext|>",
            "12345",
        ] {
            assert_eq!(tokenizer.decode(&tokenizer.encode_completion(text)), text);
        }
        assert_eq!(tokenizer.encode_completion("12345").len(), 5);
        assert!(
            tokenizer.encode_completion("The answer is").len() < 6,
            "words were merged"
        );
        let end = tokenizer.token_id(END_OF_TEXT).unwrap();
        assert!(
            !tokenizer
                .encode_completion("a<|endoftext|>b")
                .contains(&end),
            "in a completion it is text"
        );
        assert!(
            tokenizer
                .encode_prompt("a<|endoftext|>b")
                .unwrap()
                .contains(&end)
        );
        assert!(tokenizer.vocab_size() <= 300);
    }

    #[test]
    fn training_twice_gives_the_same_file() {
        let read = |dir: &Path| std::fs::read(dir.join("tokenizer.json")).unwrap();
        assert_eq!(read(folder(None).path()), read(folder(None).path()));
    }

    #[test]
    fn templates_are_rendered_as_jinja2_would() {
        let template = "{%- for message in messages %}\n    {{- '[' + message.role.upper() + ']' + \
                        message['content'].strip() + eos_token }}\n{%- endfor %}\n{% if add_generation_prompt %}\n[ASSISTANT]{% endif %}";
        let dir = folder(Some(template));
        let tokenizer = Tokenizer::load(dir.path()).unwrap();
        let shown = |system| tokenizer.decode(&tokenizer.prompt(system, " hi ").unwrap());
        assert_eq!(shown(None), "[USER]hi<|endoftext|>[ASSISTANT]");
        assert_eq!(
            shown(Some("be brief")),
            "[SYSTEM]be brief<|endoftext|>[USER]hi<|endoftext|>[ASSISTANT]"
        );
    }

    #[test]
    fn without_a_template_the_text_stands_as_it_is() {
        let dir = folder(None);
        let tokenizer = Tokenizer::load(dir.path()).unwrap();
        assert!(!tokenizer.has_template());
        assert_eq!(
            tokenizer.decode(&tokenizer.prompt(Some("ignored"), "Hello?").unwrap()),
            "Hello?"
        );
        assert!(
            tokenizer.prompt(None, "").is_err(),
            "an empty prompt cannot be continued"
        );
    }

    #[test]
    fn bad_folders_are_named() {
        let message = |dir: &Path| Tokenizer::load(dir).err().unwrap().to_string();
        let empty = tempfile::tempdir().unwrap();
        assert!(message(empty.path()).contains("tokenizer.json: cannot be read"));
        let broken = folder(Some("{{ messages[0].content }"));
        assert!(message(broken.path()).contains("the chat template cannot be rendered"));
        let listed = folder(None);
        let config = listed.path().join("tokenizer_config.json");
        for (text, expected) in [
            ("[]", "found something else"),
            (r#"{"chat_template": 3}"#, "found something else"),
            (
                r#"{"chat_template": [{"name": "tools", "template": ""}]}"#,
                "found a list without it",
            ),
            ("nonsense", "is not JSON"),
        ] {
            std::fs::write(&config, text).unwrap();
            assert!(
                message(listed.path()).contains(expected),
                "{text}: {}",
                message(listed.path())
            );
        }
        std::fs::write(
            &config,
            r#"{"chat_template": [{"name": "default", "template": "x"}]}"#,
        )
        .unwrap();
        assert!(Tokenizer::load(listed.path()).unwrap().has_template());
        let refusing = folder(Some("{{ raise_exception('no users') }}"));
        assert!(message(refusing.path()).contains("no users"));
    }
}
