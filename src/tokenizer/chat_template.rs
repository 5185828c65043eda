//! The chat template of a model folder, rendered as transformers renders it.

use super::error::Error;
use super::jinja::{TEMPLATE, environment};
use super::settings::{CONFIG, Settings};
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};

/// The file of a template that stands alone.
const ALONE: &str = "chat_template.jinja";
/// The folder of further ones.
const FURTHER: &str = "additional_chat_templates";
/// The one of several that is taken where there are no tools.
const DEFAULT: &str = "default";

/// What goes into every prompt besides the user's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatOptions {
    /// Goes before the question where the template has a place for it.
    pub system: Option<String>,
    /// Values for the template, such as `enable_thinking`, which is false where it is not among them.
    pub kwargs: Map<String, Json>,
}

impl ChatOptions {
    /// Names that a template knows already.
    pub const TAKEN: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];
}

/// What makes a prompt of a user's text.
pub(super) struct ChatTemplate {
    file: PathBuf,
    environment: Environment<'static>,
    /// The tokens that have a name.
    named: Vec<(String, String)>,
}

impl ChatTemplate {
    /// That of a folder: `chat_template.jinja`, or `chat_template` in `tokenizer_config.json`.
    pub(super) fn load(dir: &Path, settings: &Settings) -> Result<Option<Self>, Error> {
        let Some((file, source)) = find(dir, &settings.config)? else {
            return Ok(None);
        };
        let environment = environment(&source).map_err(|e| refused(&file, &e))?;
        Ok(Some(Self {
            file,
            environment,
            named: settings.named(),
        }))
    }

    /// The prompt of a user's text, ready for the answer.
    pub(super) fn render(&self, options: &ChatOptions, text: &str) -> Result<String, Error> {
        let message =
            |role: &str, content: &str| Value::from_pairs([("role", role), ("content", content)]);
        let system = options.system.as_ref();
        let mut messages: Vec<Value> = system.map(|s| message("system", s)).into_iter().collect();
        messages.push(message("user", text));
        let named = self.named.iter();
        let named = named.map(|(name, token)| (name.clone(), Value::from(token.as_str())));
        let kwargs = options.kwargs.iter();
        let kwargs = kwargs.map(|(name, value)| (name.clone(), Value::from(Serde(value))));
        let thinking = [("enable_thinking".to_owned(), Value::from(false))];
        let own = context! {
            messages => messages,
            tools => (),
            documents => (),
            add_generation_prompt => true,
        };
        let given = Value::from_pairs(named.chain(thinking).chain(kwargs));
        let template = self
            .environment
            .get_template(TEMPLATE)
            .expect("it was added when the folder was read");
        template
            .render(context! { ..own, ..given })
            .map_err(|e| refused(&self.file, &e))
    }
}

/// The source of a template and where it stands. Files go before what `tokenizer_config.json` says.
fn find(dir: &Path, config: &Map<String, Json>) -> Result<Option<(PathBuf, String)>, Error> {
    let jinja = dir.join(ALONE);
    match std::fs::read(&jinja) {
        Ok(bytes) => {
            // as Python reads it, a byte order mark is a part of the text
            let text = String::from_utf8(bytes).map_err(|e| Error {
                file: jinja.clone(),
                problem: format!("expected UTF-8: {e}"),
            })?;
            return Ok(Some((jinja, text)));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => {
            return Err(Error {
                file: jinja,
                problem: format!("cannot be read: {e}"),
            });
        }
    }
    let file = dir.join(CONFIG);
    let found = |what: String| Error {
        file: file.clone(),
        problem: format!(
            "chat_template: found {what}, expected a text, or a list of which one is {DEFAULT:?}"
        ),
    };
    let further = further(&dir.join(FURTHER));
    if !further.is_empty() {
        let what = format!("{} in {FURTHER} and no {ALONE}", further.join(", "));
        return Err(found(what));
    }
    let source = match config.get("chat_template") {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::String(source)) => Some(source),
        Some(Json::Array(list)) => {
            // of two with one name the last counts
            let default = list.iter().rfind(|entry| entry["name"] == DEFAULT);
            match default.map(|entry| &entry["template"]) {
                Some(Json::String(source)) => Some(source),
                _ => return Err(found("a list without it".to_owned())),
            }
        }
        Some(Json::Object(table)) => match table.get(DEFAULT) {
            Some(Json::String(source)) => Some(source),
            _ => return Err(found("a table without it".to_owned())),
        },
        Some(_) => return Err(found("something else".to_owned())),
    };
    Ok(source.map(|source| (file, source.clone())))
}

/// Names of templates in a folder.
fn further(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".jinja")).collect();
    names.sort();
    names
}

fn refused(file: &Path, e: &minijinja::Error) -> Error {
    Error {
        file: file.to_owned(),
        problem: format!("the chat template cannot be rendered: {e:#}"),
    }
}
