//! TOML files as types: reading, extending another file, overriding single keys, sweeping one key over
//! values, and errors that name the key or, in a file that stands alone, the line.

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::de::DeserializeOwned;
use std::path::Path;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// Files that may extend each other.
const MOST_FILES: usize = 8;

/// Reads a file that is no sweep, applies `key=value` overrides, and parses the result.
///
/// # Errors
/// When the file cannot be read, is no TOML, has an unknown or wrongly typed key, or an override
/// names a key that does not exist.
pub(super) fn load<T: DeserializeOwned>(file: &Path, overrides: &[String]) -> Result<T> {
    let all: Sweep<T> = load_all(file, overrides)?;
    if let Some(key) = all.key {
        bail!(
            "{}: found a sweep over {key}, expected a single experiment",
            file.display()
        );
    }
    all.values
        .into_iter()
        .next()
        .map(|(_, one)| one)
        .context("one without a sweep")
}

/// What a file says with each value of the key that it sweeps.
pub struct Sweep<T> {
    /// The key; none where nothing is swept.
    pub key: Option<String>,
    /// The name of each value and what the file says with it; one without a name where nothing is swept.
    pub values: Vec<(String, T)>,
}

/// The same for a file whose table `sweep` may name a key and its values.
///
/// # Errors
/// As [`load`].
pub(super) fn load_all<T: DeserializeOwned>(file: &Path, overrides: &[String]) -> Result<Sweep<T>> {
    let single = |one| Sweep {
        key: None,
        values: vec![(String::new(), one)],
    };
    let name = file.display().to_string();
    let text = read(file)?;
    let mut document = document(file, &text, 1)?;
    let sweep = document.remove("sweep");
    if overrides.is_empty() && sweep.is_none() && !text.contains("extends") {
        // from the text itself, so that errors carry its line numbers
        return Ok(single(parse(&text, &name)?));
    }
    // the file by itself first, so that its own errors are not taken for those of an override
    match text.contains("extends") || sweep.is_some() {
        true => parse_merged::<T>(&document, &name).map(drop)?,
        false => parse::<T>(&text, &name).map(drop)?,
    }
    for text in overrides {
        apply(&mut document, text).with_context(|| format!("--set {text}"))?;
    }
    let name = match overrides {
        [] => name,
        _ => format!("{name} with --set {}", overrides.join(" --set ")),
    };
    let Some(sweep) = sweep else {
        return Ok(single(parse_merged(&document, &name)?));
    };
    let (key, values) = swept(&sweep).with_context(|| name.clone())?;
    let overridden = overrides
        .iter()
        .any(|text| text.split('=').next().is_some_and(|set| set.trim() == key));
    ensure!(
        !overridden,
        "{name}: {key} is swept, and cannot be set as well"
    );
    let mut all: Vec<(String, T)> = Vec::new();
    for value in values {
        let label = label(&value);
        let reserved = ["", ".", "..", "runs"].contains(&label.as_str());
        ensure!(
            !reserved,
            "{name}: sweep.values: found {value}, expected what can be the name of a folder"
        );
        ensure!(
            all.iter().all(|(other, _)| *other != label),
            "{name}: sweep.values: found {label} twice"
        );
        apply(&mut document, &format!("{key}={value}"))
            .with_context(|| format!("{name}: sweep.key"))?;
        all.push((
            label,
            parse_merged(&document, &format!("{name} with {key} = {value}"))?,
        ));
    }
    Ok(Sweep {
        key: Some(key),
        values: all,
    })
}

/// The key and the values of a table `sweep`.
fn swept(sweep: &Item) -> Result<(String, Vec<Value>)> {
    let table = sweep.as_table_like().context("sweep: expected a table")?;
    let key = table
        .get("key")
        .and_then(Item::as_str)
        .context("sweep.key: expected the name of a key")?;
    let values = table
        .get("values")
        .and_then(Item::as_array)
        .context("sweep.values: expected a list")?;
    ensure!(
        !values.is_empty(),
        "sweep.values: found an empty list, expected at least one value"
    );
    let unknown = table
        .iter()
        .find(|(name, _)| !["key", "values"].contains(name));
    if let Some((name, _)) = unknown {
        bail!("sweep.{name}: unknown, expected key and values");
    }
    Ok((
        key.to_owned(),
        values
            .iter()
            .map(|value| value.clone().decorated("", ""))
            .collect(),
    ))
}

/// A value as the name of a folder.
fn label(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    text.trim()
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))
}

/// The document, over that of the file which its key `extends` names.
fn document(file: &Path, text: &str, depth: usize) -> Result<DocumentMut> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|e| anyhow!("{}: {e}", file.display()))?;
    let Some(item) = document.remove("extends") else {
        return Ok(document);
    };
    let name = item
        .as_str()
        .with_context(|| format!("{}: extends: expected the name of a file", file.display()))?;
    ensure!(
        depth < MOST_FILES,
        "{}: extends: found more than {MOST_FILES} files, or a circle",
        file.display()
    );
    let base = file.parent().unwrap_or(Path::new("")).join(name);
    let text = read(&base).with_context(|| format!("{}: extends", file.display()))?;
    let mut all = self::document(&base, &text, depth + 1)?;
    lay_over(all.as_table_mut(), document.as_table());
    Ok(all)
}

/// Keys of the upper table replace those of the lower one; tables are laid over each other.
fn lay_over(lower: &mut dyn TableLike, upper: &dyn TableLike) {
    for (key, item) in upper.iter() {
        match (
            lower.get_mut(key).and_then(Item::as_table_like_mut),
            item.as_table_like(),
        ) {
            (Some(lower), Some(upper)) => lay_over(lower, upper),
            _ => drop(lower.insert(key, item.clone())),
        }
    }
}

fn parse<T: DeserializeOwned>(text: &str, name: &str) -> Result<T> {
    toml::from_str(text).map_err(|e| anyhow!("{name}: {}", e.to_string().trim_end()))
}

/// The same for a text put together from several: its line numbers would be nobody's, so the line itself is shown.
fn parse_merged<T: DeserializeOwned>(document: &DocumentMut, name: &str) -> Result<T> {
    let text = document.to_string();
    toml::from_str(&text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = text[start..].lines().next().unwrap_or_default().trim();
        anyhow!("{name}: `{line}`: {}", e.message())
    })
}

/// Sets one key. A value that is no TOML is taken as a string, so quotes may be left out.
fn apply(document: &mut DocumentMut, text: &str) -> Result<()> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| anyhow!("found no `=`, expected key=value"))?;
    let value: Value = value
        .trim()
        .parse()
        .unwrap_or_else(|_| Value::from(value.trim()));
    let path: Vec<&str> = key.trim().split('.').collect();
    let (last, tables) = path.split_last().context("split gives at least one part")?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for (depth, name) in tables.iter().enumerate() {
        if name.is_empty() {
            bail!("found an empty part in key `{key}`");
        }
        let item = table
            .entry(name)
            .or_insert_with(|| Item::Table(toml_edit::Table::new()));
        let found = item.type_name();
        table = item.as_table_like_mut().ok_or_else(|| {
            anyhow!(
                "`{}` is a {found}, expected a table",
                path[..=depth].join(".")
            )
        })?;
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
        std::fs::write(
            &file,
            "rounds = 3\n[swarm]\nselection = \"first\"\nseeds = [1]\n",
        )
        .unwrap();
        load(
            &file,
            &overrides
                .iter()
                .map(|s| (*s).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn overrides_set_any_key() {
        let file = check(&[
            "swarm.selection=uniform",
            "rounds = 7",
            "swarm.seeds=[4, 5]",
        ])
        .unwrap();
        assert_eq!(
            file,
            File {
                rounds: 7,
                swarm: Table {
                    selection: "uniform".into(),
                    seeds: vec![4, 5]
                }
            }
        );
    }

    fn files(texts: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        texts
            .iter()
            .for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
        dir
    }

    #[test]
    fn a_file_extends_another_and_sweeps_a_key() {
        let dir = files(&[
            (
                "a.toml",
                "rounds = 3\n[swarm]\nselection = \"first\"\nseeds = [1]\n",
            ),
            ("b.toml", "extends = \"a.toml\"\n[swarm]\nseeds = [4]\n"),
            (
                "c.toml",
                "extends = \"b.toml\"\n[sweep]\nkey = \"swarm.selection\"\nvalues = [\"x y\", \"z\"]\n",
            ),
        ]);
        let file: File = load(&dir.path().join("b.toml"), &[]).unwrap();
        assert_eq!(
            file,
            File {
                rounds: 3,
                swarm: Table {
                    selection: "first".into(),
                    seeds: vec![4]
                }
            }
        );
        let sweep: Sweep<File> =
            load_all(&dir.path().join("c.toml"), &["rounds=5".into()]).unwrap();
        let all = sweep.values;
        assert_eq!(sweep.key.as_deref(), Some("swarm.selection"));
        let found: Vec<_> = all
            .iter()
            .map(|(label, file)| (&label[..], file.rounds, &file.swarm.selection[..]))
            .collect();
        assert_eq!(found, [("x_y", 5, "x y"), ("z", 5, "z")]);
        assert_eq!(all[0].1.swarm.seeds, [4]);
    }

    #[test]
    fn a_bad_key_of_a_file_that_extends_another_is_shown_itself() {
        let dir = files(&[
            (
                "a.toml",
                "rounds = 3\n[swarm]\nselection = \"first\"\nseeds = [1]\n",
            ),
            ("b.toml", "extends = \"a.toml\"\n[swarm]\nseed = [4]\n"),
        ]);
        let message = format!(
            "{:#}",
            load::<File>(&dir.path().join("b.toml"), &[]).unwrap_err()
        );
        assert!(
            message.contains("b.toml: `seed = [4]`: unknown field `seed`, expected"),
            "{message}"
        );
    }

    #[test]
    fn bad_sweeps_and_circles_say_what_is_wrong() {
        let plain = "rounds = 3\nswarm = { selection = \"first\", seeds = [1] }\n";
        for (text, expected) in [
            ("extends = \"x.toml\"", "or a circle"),
            ("extends = \"none.toml\"", "none.toml: cannot be read"),
            ("extends = 3", "expected the name of a file"),
            ("[sweep]\nkey = \"rounds\"\nvalues = []", "empty list"),
            ("[sweep]\nvalues = [1]", "sweep.key"),
            ("[sweep]\nkey = \"rounds\"\nvalues = [1, 1]", "1 twice"),
            (
                "[sweep]\nkey = \"swarm.selection\"\nvalues = [\"..\"]",
                "the name of a folder",
            ),
            (
                "[sweep]\nkey = \"swarm.selection\"\nvalues = [\"\"]",
                "the name of a folder",
            ),
            (
                "[sweep]\nkey = \"round\"\nvalues = [1]",
                "unknown field `round`",
            ),
            (
                "[sweep]\nkey = \"rounds\"\nvalues = [1]\nvalue = 2",
                "sweep.value: unknown",
            ),
        ] {
            let text = if text.starts_with("ext") {
                format!("{text}\n{plain}")
            } else {
                format!("{plain}{text}\n")
            };
            let dir = files(&[("x.toml", &text)]);
            let message = format!(
                "{:#}",
                load_all::<File>(&dir.path().join("x.toml"), &[])
                    .err()
                    .unwrap()
            );
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
        ] {
            let message = format!("{:#}", check(&[text]).unwrap_err());
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
