//! TOML files as types: reading, overriding single keys, and errors that point at the place.

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use std::path::Path;
use toml_edit::{DocumentMut, Item, Value};

/// Reads a file, applies `key=value` overrides, and parses the result.
///
/// # Errors
/// When the file cannot be read, is no TOML, has an unknown or wrongly typed key, or an override
/// names a key that does not exist.
pub(super) fn load<T: DeserializeOwned>(file: &Path, overrides: &[String]) -> Result<T> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    if overrides.is_empty() {
        return parse(&text, &file.display().to_string());
    }
    // the file by itself first, so that its own errors carry its line numbers
    parse::<T>(&text, &file.display().to_string())?;
    let mut document: DocumentMut = text.parse().map_err(|e| anyhow!("{}: {e}", file.display()))?;
    for text in overrides {
        apply(&mut document, text).with_context(|| format!("--set {text}"))?;
    }
    parse(&document.to_string(), &format!("{} with --set {}", file.display(), overrides.join(" --set ")))
}

fn parse<T: DeserializeOwned>(text: &str, name: &str) -> Result<T> {
    toml::from_str(text).map_err(|e| anyhow!("{name}: {}", e.to_string().trim_end()))
}

/// Sets one key. A value that is no TOML is taken as a string, so quotes may be left out.
fn apply(document: &mut DocumentMut, text: &str) -> Result<()> {
    let (key, value) = text.split_once('=').ok_or_else(|| anyhow!("found no `=`, expected key=value"))?;
    let value: Value = value.trim().parse().unwrap_or_else(|_| Value::from(value.trim()));
    let path: Vec<&str> = key.trim().split('.').collect();
    let (last, tables) = path.split_last().context("split gives at least one part")?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for (depth, name) in tables.iter().enumerate() {
        if name.is_empty() {
            bail!("found an empty part in key `{key}`");
        }
        let item = table.entry(name).or_insert_with(|| Item::Table(toml_edit::Table::new()));
        let found = item.type_name();
        table = item
            .as_table_like_mut()
            .ok_or_else(|| anyhow!("`{}` is a {found}, expected a table", path[..=depth].join(".")))?;
    }
    if last.is_empty() {
        bail!("found an empty part in key `{key}`");
    }
    table.insert(last, Item::Value(value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct File {
        rounds: u32,
        swarm: Table,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Table {
        selection: String,
        seeds: Vec<u64>,
    }

    fn check(overrides: &[&str]) -> Result<File> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.toml");
        std::fs::write(&file, "rounds = 3\n[swarm]\nselection = \"first\"\nseeds = [1]\n").unwrap();
        load(&file, &overrides.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn overrides_set_any_key() {
        let file = check(&["swarm.selection=uniform", "rounds = 7", "swarm.seeds=[4, 5]"]).unwrap();
        assert_eq!(file, File { rounds: 7, swarm: Table { selection: "uniform".into(), seeds: vec![4, 5] } });
    }

    #[test]
    fn bad_overrides_say_what_is_wrong() {
        for (text, expected) in [
            ("rounds", "expected key=value"),
            ("round=3", "unknown field `round`"),
            ("rounds=many", "invalid type: string \"many\""),
            ("rounds.x=1", "expected a table"),
            ("swarm..x=1", "empty part"),
        ] {
            let message = format!("{:#}", check(&[text]).unwrap_err());
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
