//! TOML files as types: reading, extending another file, overriding single keys, and errors that name
//! the key or, in a file that stands alone, the line.

use crate::text_file;
use anyhow::{Context, Result, anyhow, ensure};
use serde::de::DeserializeOwned;
use std::path::Path;
use toml::{Table, Value};

/// Files that may extend each other.
const MOST_FILES: usize = 8;

/// What a file says.
pub(super) struct Loaded<T> {
    /// As a type.
    pub(super) value: T,
    /// As it was put together, key by key.
    pub(super) table: Table,
    /// The file and the overrides, for errors.
    pub(super) name: String,
}

/// Reads a file with the files that it extends, applies `key=value` overrides, and parses the result.
/// Where a file or an override has one of the `exclusive` keys, it takes the place of all of them in
/// what lies below.
///
/// # Errors
/// When the file cannot be read, is no TOML, has an unknown or wrongly typed key, or an override
/// names a key that does not exist.
pub(super) fn load<T: DeserializeOwned>(
    file: &Path,
    overrides: &[String],
    exclusive: &[&str],
) -> Result<Loaded<T>> {
    let mut name = file.display().to_string();
    let text = read(file)?;
    let (mut table, alone) = merged(file, &text, 1, exclusive)?;
    // the file by itself first, so that its own errors are not taken for those of an override; from
    // the text itself where it stands alone, so that they carry its line numbers
    let mut value = match alone {
        true => {
            toml::from_str(&text).map_err(|e| anyhow!("{name}: {}", e.to_string().trim_end()))?
        }
        false => parse(&table, &name)?,
    };
    if !overrides.is_empty() {
        for text in overrides {
            apply(&mut table, text, exclusive).with_context(|| format!("--set {text}"))?;
        }
        name = format!("{name} with --set {}", overrides.join(" --set "));
        value = parse(&table, &name)?;
    }
    Ok(Loaded { value, table, name })
}

/// What overrides alone say.
///
/// # Errors
/// As [`load`].
pub(super) fn overridden<T: DeserializeOwned>(overrides: &[String]) -> Result<T> {
    let mut table = Table::new();
    for text in overrides {
        apply(&mut table, text, &[]).with_context(|| format!("--set {text}"))?;
    }
    parse(&table, &format!("--set {}", overrides.join(" --set ")))
}

/// A table put together from several as a type. Its line numbers would be nobody's, so an error shows
/// the line itself.
///
/// # Errors
/// When it has an unknown or wrongly typed key.
pub(super) fn parse<T: DeserializeOwned>(table: &Table, name: &str) -> Result<T> {
    let text = toml::to_string(table).with_context(|| name.to_owned())?;
    toml::from_str(&text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = text[start..].lines().next().unwrap_or_default().trim();
        anyhow!("{name}: `{line}`: {}", e.message())
    })
}

/// Sets a key with its tables, `train.learning_rate`, or with the number of a table in a list, `forms.0.text`; tables
/// that are missing are made.
///
/// # Errors
/// When a part of the key is empty or no table, or a list has no such element.
pub(super) fn set(table: &mut Table, key: &str, value: Value) -> Result<()> {
    let empty = key.split('.').any(str::is_empty);
    ensure!(!empty, "found an empty part in key `{key}`");
    let (mut table, mut rest) = (table, key);
    while let Some((name, below)) = rest.split_once('.') {
        let entry = table.entry(name).or_insert_with(|| Table::new().into());
        let (entry, below) = match (entry, below.split_once('.')) {
            (Value::Array(list), Some((number, below))) => {
                let element = number.parse().ok().and_then(|n: usize| list.get_mut(n));
                let missing =
                    || format!("{key}: `{name}` has no element `{number}`, the first is 0");
                (element.with_context(missing)?, below)
            }
            (entry, _) => (entry, below),
        };
        let found = entry.type_str();
        let expected = || format!("{key}: `{name}` is of type {found}, expected a table");
        table = entry.as_table_mut().with_context(expected)?;
        rest = below;
    }
    table.insert(rest.to_owned(), value);
    Ok(())
}

/// Keys of the upper table replace those of the lower one; tables are laid over each other.
pub(super) fn lay_over(lower: &mut Table, upper: &Table) {
    for (key, value) in upper {
        match (lower.get_mut(key), value) {
            (Some(Value::Table(lower)), Value::Table(upper)) => lay_over(lower, upper),
            _ => drop(lower.insert(key.clone(), value.clone())),
        }
    }
}

fn read(file: &Path) -> Result<String> {
    text_file::read(file).with_context(|| format!("{}: cannot be read", file.display()))
}

/// The keys of a file, over those of the file which its key `extends` names; and whether it names none.
fn merged(file: &Path, text: &str, depth: usize, exclusive: &[&str]) -> Result<(Table, bool)> {
    let name = file.display();
    let table = toml::from_str(text);
    let mut table: Table = table.map_err(|e| anyhow!("{name}: {}", e.to_string().trim_end()))?;
    let Some(base) = table.remove("extends") else {
        return Ok((table, true));
    };
    let base = base.as_str();
    let base = base.with_context(|| format!("{name}: extends: expected the name of a file"))?;
    ensure!(
        depth < MOST_FILES,
        "{name}: extends: found more than {MOST_FILES} files, or a circle"
    );
    let base = file.parent().unwrap_or(Path::new("")).join(base);
    let text = read(&base).with_context(|| format!("{name}: extends"))?;
    let (mut all, _) = merged(&base, &text, depth + 1, exclusive)?;
    if exclusive.iter().any(|key| table.contains_key(*key)) {
        exclusive.iter().for_each(|key| drop(all.remove(*key)));
    }
    lay_over(&mut all, &table);
    Ok((all, false))
}

/// Sets one key by `key=value`. A value that is no TOML is taken as a string, so quotes may be left out.
fn apply(table: &mut Table, text: &str, exclusive: &[&str]) -> Result<()> {
    let (key, value) = text
        .split_once('=')
        .context("found no `=`, expected key=value")?;
    let (key, text) = (key.trim(), value.trim());
    let parsed = toml::from_str::<Table>(&format!("value = {text}"));
    let parsed = parsed.ok().filter(|table| table.len() == 1);
    let value = parsed.and_then(|mut table| table.remove("value"));
    let value = value.unwrap_or_else(|| text.into());
    let top = key.split('.').next().unwrap_or_default();
    if exclusive.contains(&top) {
        // what only a part of is set stays
        let replaced = exclusive
            .iter()
            .filter(|other| **other != top || key == top);
        replaced.for_each(|other| drop(table.remove(*other)));
    }
    set(table, key, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct File {
        rounds: u32,
        swarm: Swarm,
        #[serde(default)]
        one: u32,
        #[serde(default)]
        other: u32,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Swarm {
        selection: String,
        seeds: Vec<u64>,
    }

    const BASE: &str = "rounds = 3\none = 1\n[swarm]\nselection = \"first\"\nseeds = [1]\n";

    fn files(texts: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let write = |(name, text): &(&str, &str)| std::fs::write(dir.path().join(name), text);
        texts.iter().for_each(|file| write(file).unwrap());
        dir
    }

    /// The last of these files with overrides.
    fn loaded(texts: &[(&str, &str)], overrides: &[&str]) -> Result<File> {
        let dir = files(texts);
        let file = dir.path().join(texts[texts.len() - 1].0);
        let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
        Ok(load(&file, &overrides, &["one", "other"])?.value)
    }

    fn error(texts: &[(&str, &str)], overrides: &[&str]) -> String {
        format!("{:#}", loaded(texts, overrides).unwrap_err())
    }

    #[test]
    fn overrides_set_any_key() {
        let set = [
            "swarm.selection=uniform",
            "rounds = 7",
            "swarm.seeds=[4, 5]",
        ];
        let file = loaded(&[("x.toml", BASE)], &set).unwrap();
        assert_eq!((file.rounds, file.one), (7, 1));
        assert_eq!(
            (&file.swarm.selection[..], file.swarm.seeds),
            ("uniform", vec![4, 5])
        );
        let quoted = loaded(&[("x.toml", BASE)], &["swarm.selection = \"a = b\""]).unwrap();
        assert_eq!(quoted.swarm.selection, "a = b");
    }

    #[test]
    fn overrides_set_keys_of_a_table_in_a_list() {
        let mut table: Table = toml::from_str("[[forms]]\nx = 1\n[[forms]]\nx = 2\n").unwrap();
        set(&mut table, "forms.1.x", 5.into()).unwrap();
        let expected: Table = toml::from_str("[[forms]]\nx = 1\n[[forms]]\nx = 5\n").unwrap();
        assert_eq!(table, expected);
        for (key, expected) in [
            ("forms.2.x", "no element `2`"),
            ("forms.-1.x", "no element `-1`"),
            ("forms.x.y", "no element `x`"),
            ("forms.x", "`forms` is of type array, expected a table"),
        ] {
            let message = format!("{:#}", set(&mut table, key, 5.into()).unwrap_err());
            assert!(message.contains(expected), "{key}: {message}");
        }
    }

    #[test]
    fn a_part_of_an_exclusive_key_leaves_the_rest_of_it() {
        let mut table: Table = toml::from_str("one = 1\n[[arm]]\nx = 1\ny = 2\n").unwrap();
        apply(&mut table, "arm.0.x=5", &["one", "arm"]).unwrap();
        let expected: Table = toml::from_str("[[arm]]\nx = 5\ny = 2\n").unwrap();
        assert_eq!(table, expected);
    }

    #[test]
    fn a_file_extends_another() {
        let b = "extends = \"a.toml\"\n[swarm]\nseeds = [4]\n";
        let file = loaded(&[("a.toml", BASE), ("b.toml", b)], &["rounds=5"]).unwrap();
        assert_eq!((file.rounds, &file.swarm.selection[..]), (5, "first"));
        assert_eq!(file.swarm.seeds, [4]);
    }

    #[test]
    fn exclusive_keys_take_each_others_place() {
        let b = "extends = \"a.toml\"\nother = 2\n";
        let file = loaded(&[("a.toml", BASE), ("b.toml", b)], &[]).unwrap();
        assert_eq!((file.one, file.other), (0, 2));
        let file = loaded(&[("a.toml", BASE)], &["other=3"]).unwrap();
        assert_eq!((file.one, file.other), (0, 3));
    }

    #[test]
    fn errors_carry_the_line_or_show_it() {
        let alone = format!("# it extends nothing\n{BASE}seed = 3\n");
        let message = error(&[("x.toml", &alone)], &[]);
        assert!(
            message.contains("line 7") && message.contains("unknown field `seed`"),
            "{message}"
        );
        let b = "extends = \"a.toml\"\n[swarm]\nseed = [4]\n";
        let message = error(&[("a.toml", BASE), ("b.toml", b)], &[]);
        let expected = "b.toml: `seed = [4]`: unknown field `seed`, expected";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn circles_and_missing_files_say_what_is_wrong() {
        for (text, expected) in [
            ("extends = \"x.toml\"", "or a circle"),
            ("extends = \"none.toml\"", "none.toml: cannot be read"),
            ("extends = 3", "expected the name of a file"),
        ] {
            let message = error(&[("x.toml", &format!("{text}\n{BASE}"))], &[]);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn bad_overrides_say_what_is_wrong() {
        for (text, expected) in [
            ("rounds", "expected key=value"),
            ("round=3", "unknown field `round`"),
            ("rounds=many", "invalid type: string \"many\""),
            ("rounds.x=1", "expected a table"),
            ("swarm..x=1", "empty part"),
            ("=1", "empty part"),
        ] {
            let message = error(&[("x.toml", BASE)], &[text]);
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
