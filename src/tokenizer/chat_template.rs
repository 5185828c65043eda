//! The chat template of a model folder, rendered as transformers renders it.

use super::error::Error;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Value, context};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// What makes a prompt of a user's text.
pub(super) struct ChatTemplate {
    file: PathBuf,
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
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

impl ChatTemplate {
    /// That of a folder: `chat_template.jinja`, or `chat_template` in `tokenizer_config.json`.
    pub(super) fn load(dir: &Path) -> Result<Option<Self>, Error> {
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

    /// The prompt of a user's text, ready for the answer.
    pub(super) fn render(&self, system: Option<&str>, text: &str) -> Result<String, Error> {
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
