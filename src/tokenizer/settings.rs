//! What the files beside `tokenizer.json` say of its tokens, in the order of precedence that transformers
//! gives them: `tokenizer_config.json`; where it lists no added tokens, `special_tokens_map.json` before it
//! and `added_tokens.json` besides.

use super::error::Error;
use crate::text_file;
use serde_json::{Map, Value};
use std::path::Path;
use tokenizers::AddedToken;

/// The file of the settings.
pub(super) const CONFIG: &str = "tokenizer_config.json";

/// Tokens with a name, in the order in which they are added where the vocabulary lacks them.
const NAMED: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// What a folder says of its tokenizer.
pub(super) struct Settings {
    /// `tokenizer_config.json`, with what goes before it.
    pub(super) config: Map<String, Value>,
    /// Tokens to be added, those of `added_tokens_decoder` or `added_tokens.json`.
    pub(super) added: Vec<AddedToken>,
    /// Tokens that are added where no added token has their text.
    pub(super) special: Vec<AddedToken>,
}

impl Settings {
    /// # Errors
    /// Names the file that is malformed.
    pub(super) fn load(dir: &Path) -> Result<Self, Error> {
        let mut config = table(&dir.join(CONFIG))?.unwrap_or_default();
        let listed = config.get("added_tokens_decoder").filter(|v| !v.is_null());
        let added = match listed {
            Some(listed) => by_id(&dir.join(CONFIG), listed)?,
            None => {
                let map = table(&dir.join("special_tokens_map.json"))?;
                config.extend(map.unwrap_or_default());
                let given = table(&dir.join("added_tokens.json"))?.unwrap_or_default();
                older(given, &config)
            }
        };
        Ok(Self {
            special: special(&config),
            added,
            config,
        })
    }

    /// The tokens that have a name, as templates know them.
    pub(super) fn named(&self) -> Vec<(String, String)> {
        let named = names(&self.config);
        let named = named.iter().map(|name| (name, &self.config[name]));
        let extra = self.config.get("extra_special_tokens");
        let extra = extra.and_then(Value::as_object).into_iter().flatten();
        let tokens = named.chain(extra).filter_map(|(name, value)| {
            let token = token(value)?;
            Some((name.clone(), token.content))
        });
        tokens.collect()
    }
}

/// A file with an object; none where there is no file.
pub(super) fn table(file: &Path) -> Result<Option<Map<String, Value>>, Error> {
    let fail = |problem: String| Error {
        file: file.to_owned(),
        problem,
    };
    let text = match text_file::read(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| fail(format!("cannot be read: {e}")))?,
    };
    let json = text_file::json(&text).map_err(|e| fail(format!("is not JSON: {e}")))?;
    match json {
        Value::Object(table) => Ok(Some(table)),
        other => {
            let found = other.to_string();
            Err(fail(format!("found {found}, expected an object")))
        }
    }
}

/// Names of tokens that are there: the usual ones, and those that a model has besides.
fn names(config: &Map<String, Value>) -> Vec<String> {
    let own = config.iter().filter(|(name, value)| {
        name.ends_with("_token") && value.is_string() && !NAMED.contains(&name.as_str())
    });
    let usual = NAMED.iter().filter(|name| config.contains_key(**name));
    let usual = usual.map(|name| (*name).to_owned());
    usual.chain(own.map(|(name, _)| name.clone())).collect()
}

/// A token as a text or with its flags.
fn token(value: &Value) -> Option<AddedToken> {
    if let Value::String(content) = value {
        return Some(AddedToken::from(content, true));
    }
    let flag = |name: &str| value[name].as_bool().unwrap_or(false);
    let content = value["content"].as_str()?;
    let special = flag("special");
    let normalized = value["normalized"].as_bool().unwrap_or(!special);
    Some(
        AddedToken::from(content, special)
            .single_word(flag("single_word"))
            .lstrip(flag("lstrip"))
            .rstrip(flag("rstrip"))
            .normalized(normalized),
    )
}

/// Tokens by their ids, in that order.
fn by_id(file: &Path, listed: &Value) -> Result<Vec<AddedToken>, Error> {
    let wrong = |what: &str| Error {
        file: file.to_owned(),
        problem: format!("added_tokens_decoder: {what}, expected a token for each id"),
    };
    let listed = listed.as_object();
    let listed = listed.ok_or_else(|| wrong("found no object"))?;
    let mut all = Vec::new();
    for (id, value) in listed {
        let id: u32 = id
            .parse()
            .map_err(|_| wrong(&format!("found the id {id:?}")))?;
        let token = token(value).filter(|_| value.is_object());
        let token = token.ok_or_else(|| wrong(&format!("{id}: found {value}")))?;
        all.push((id, token));
    }
    all.sort_by_key(|(id, _)| *id);
    Ok(all.into_iter().map(|(_, token)| token).collect())
}

/// Tokens of an `added_tokens.json`, which has texts and their ids alone.
fn older(given: Map<String, Value>, config: &Map<String, Value>) -> Vec<AddedToken> {
    let known = special(config);
    let mut all: Vec<(u64, String)> = given
        .into_iter()
        .map(|(text, id)| (id.as_u64().unwrap_or(u64::MAX), text))
        .collect();
    all.sort();
    let token = |(_, text): (u64, String)| {
        let special = known.iter().any(|token| token.content == text);
        AddedToken::from(text, special)
    };
    all.into_iter().map(token).collect()
}

/// Tokens with a name, then those that have none.
fn special(config: &Map<String, Value>) -> Vec<AddedToken> {
    let named = names(config);
    let named = named.iter().filter_map(|name| token(&config[name]));
    let lists = ["extra_special_tokens", "additional_special_tokens"];
    let listed = lists.iter().filter_map(|name| config.get(*name));
    let listed = listed.flat_map(|list| match list {
        Value::Array(list) => list.iter().collect(),
        Value::Object(table) => table.values().collect(),
        _ => Vec::new(),
    });
    let all = named.chain(listed.filter_map(token));
    all.map(|token| token.special(true)).collect()
}
