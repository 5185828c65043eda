//! Methods of Python's texts, lists and mappings that templates call and the library does not have, or
//! has in another way.

use super::jinja_collections::{of_list, of_mapping, of_number};
use super::jinja_text::{failed, is_printable};
use minijinja::value::{Kwargs, Rest, Tuple, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat;

/// Calls a method.
///
/// # Errors
/// When the value has no such method or it does not take these arguments.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let own = match (value.kind(), value.as_str()) {
        (ValueKind::String, Some(text)) => of_text(text, method, args)?,
        (ValueKind::Seq, _) => of_list(value, method, args)?,
        (ValueKind::Map, _) => of_mapping(value, method, args)?,
        (ValueKind::Number, _) => of_number(value, method)?,
        _ => None,
    };
    match own {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, method, args),
    }
}

/// Arguments of a method, by place or by name.
struct Arguments {
    placed: Vec<Value>,
    named: Kwargs,
}

impl Arguments {
    fn new(args: &[Value]) -> Result<Self, Error> {
        let (placed, named): (Rest<Value>, Kwargs) = from_args(args)?;
        Ok(Self {
            placed: placed.0,
            named,
        })
    }

    /// One that is given and not none.
    fn get(&self, place: usize, name: &str) -> Option<Value> {
        let named = self.named.get::<Option<Value>>(name).ok().flatten();
        let given = named.or_else(|| self.placed.get(place).cloned());
        given.filter(|value| !value.is_none())
    }

    fn text(&self, place: usize, name: &str) -> Result<Option<String>, Error> {
        match self.get(place, name) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(failed(format!(
                    "{name}: expected a text, found {}",
                    value.kind()
                ))),
            },
        }
    }

    fn needed(&self, place: usize, name: &str) -> Result<String, Error> {
        self.text(place, name)?
            .ok_or_else(|| Error::from(ErrorKind::MissingArgument))
    }

    fn number(&self, place: usize, name: &str) -> Result<Option<i64>, Error> {
        self.get(place, name).map(i64::try_from).transpose()
    }
}

fn of_text(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let a = Arguments::new(args)?;
    for group in [parts, places, letters, questions] {
        if let Some(result) = group(text, method, &a)? {
            return Ok(Some(result));
        }
    }
    Ok(None)
}

/// Methods that take a text apart or put texts together.
fn parts(text: &str, method: &str, a: &Arguments) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "split" | "rsplit" => split(text, a, method == "rsplit")?,
        "partition" => {
            let sep = separator(a.needed(0, "sep")?)?;
            let (before, sep, after) = match text.split_once(&sep[..]) {
                Some((before, after)) => (before, &sep[..], after),
                None => (text, "", ""),
            };
            Value::from(Tuple::from([before, sep, after].map(Value::from)))
        }
        "rpartition" => {
            let sep = separator(a.needed(0, "sep")?)?;
            let (before, sep, after) = match text.rsplit_once(&sep[..]) {
                Some((before, after)) => (before, &sep[..], after),
                None => ("", "", text),
            };
            Value::from(Tuple::from([before, sep, after].map(Value::from)))
        }
        "removeprefix" => {
            let prefix = a.needed(0, "prefix")?;
            Value::from(text.strip_prefix(&prefix[..]).unwrap_or(text))
        }
        "removesuffix" => {
            let suffix = a.needed(0, "suffix")?;
            Value::from(text.strip_suffix(&suffix[..]).unwrap_or(text))
        }
        "splitlines" => split_lines(text, a.get(0, "keepends").is_some_and(|v| v.is_true())),
        "join" => joined(text, a.placed.first().ok_or(ErrorKind::MissingArgument)?)?,
        _ => return Ok(None),
    }))
}

/// Methods that look for a text in another.
fn places(text: &str, method: &str, a: &Arguments) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "find" | "rfind" | "index" | "rindex" => find(text, method, a)?,
        "count" => {
            let (part, what) = (part(text, a, 1)?, a.needed(0, "sub")?);
            Value::from(match part {
                Some((_, part)) => part.matches(&what[..]).count(),
                None => 0,
            })
        }
        "startswith" | "endswith" if a.placed.len() > 1 => {
            let what: Vec<String> = match &a.placed[0] {
                one if one.as_str().is_some() => vec![one.to_string()],
                several => several.try_iter()?.map(|value| value.to_string()).collect(),
            };
            let part = part(text, a, 1)?;
            let fits = |part: &str, what: &String| match method {
                "startswith" => part.starts_with(&what[..]),
                _ => part.ends_with(&what[..]),
            };
            Value::from(part.is_some_and(|(_, part)| what.iter().any(|what| fits(part, what))))
        }
        "replace" if a.get(2, "count").is_some() && a.placed.len() < 3 => {
            let (old, new) = (a.needed(0, "old")?, a.needed(1, "new")?);
            let count = a.number(2, "count")?.unwrap_or(-1);
            Value::from(match usize::try_from(count) {
                Ok(count) => text.replacen(&old[..], &new, count),
                Err(_) => text.replace(&old[..], &new),
            })
        }
        _ => return Ok(None),
    }))
}

/// Methods that change letters or fill up with others.
fn letters(text: &str, method: &str, a: &Arguments) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "swapcase" => {
            let turned = |c: char| -> String {
                match c.is_uppercase() {
                    true => c.to_lowercase().collect(),
                    false => c.to_uppercase().collect(),
                }
            };
            Value::from(text.chars().map(turned).collect::<String>())
        }
        "title" => {
            let (mut out, mut cased) = (String::new(), false);
            for c in text.chars() {
                match cased {
                    true => out.extend(c.to_lowercase()),
                    false => out.extend(c.to_uppercase()),
                }
                cased = c.is_alphabetic();
            }
            Value::from(out)
        }
        "casefold" => Value::from(text.to_lowercase().replace('ß', "ss")),
        "center" | "ljust" | "rjust" => {
            let width = usize::try_from(a.number(0, "width")?.unwrap_or(0)).unwrap_or(0);
            let fill = a
                .text(1, "fillchar")?
                .and_then(|t| t.chars().next())
                .unwrap_or(' ');
            Value::from(match method {
                "center" => centered(text, width, fill),
                "ljust" => format!("{text}{}", filling(text, width, fill)),
                _ => format!("{}{text}", filling(text, width, fill)),
            })
        }
        "zfill" => {
            let width = usize::try_from(a.number(0, "width")?.unwrap_or(0)).unwrap_or(0);
            let digits = text.trim_start_matches(['+', '-']);
            let sign = &text[..(text.len() - digits.len()).min(1)];
            let rest = &text[sign.len()..];
            Value::from(format!("{sign}{}{rest}", filling(text, width, '0')))
        }
        "expandtabs" => Value::from(expanded(text, a.number(0, "tabsize")?.unwrap_or(8))),
        _ => return Ok(None),
    }))
}

/// Methods that ask of what a text is made.
fn questions(text: &str, method: &str, _: &Arguments) -> Result<Option<Value>, Error> {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    Ok(Some(match method {
        "isdecimal" => Value::from(all(|c| c.is_ascii_digit())),
        "isdigit" => Value::from(all(|c| {
            c.is_ascii_digit() || "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉".contains(c)
        })),
        "istitle" => Value::from(is_title(text)),
        "isprintable" => Value::from(text.chars().all(is_printable)),
        "isidentifier" => {
            let first = text
                .chars()
                .next()
                .is_some_and(|c| c.is_alphabetic() || c == '_');
            Value::from(first && text.chars().all(|c| c.is_alphanumeric() || c == '_'))
        }
        _ => return Ok(None),
    }))
}

fn separator(text: String) -> Result<String, Error> {
    match text.is_empty() {
        true => Err(failed("empty separator")),
        false => Ok(text),
    }
}

/// Parts between separators, or between spaces where there is none; from the right end where wanted.
fn split<'a>(text: &'a str, a: &Arguments, from_right: bool) -> Result<Value, Error> {
    let most = a
        .number(1, "maxsplit")?
        .and_then(|most| usize::try_from(most).ok());
    let mut parts: Vec<&'a str> = Vec::new();
    match a.text(0, "sep")? {
        Some(sep) => {
            let sep = separator(sep)?;
            let most = most.map_or(usize::MAX, |most| most.saturating_add(1));
            if from_right {
                parts.extend(text.rsplitn(most, &sep[..]));
                parts.reverse();
            } else {
                parts.extend(text.splitn(most, &sep[..]));
            }
        }
        None => {
            let most = most.unwrap_or(usize::MAX);
            let trim = |text: &'a str| match from_right {
                true => text.trim_end(),
                false => text.trim_start(),
            };
            let mut rest = trim(text);
            while !rest.is_empty() {
                let space = match from_right {
                    _ if parts.len() == most => None,
                    true => rest.rfind(char::is_whitespace),
                    false => rest.find(char::is_whitespace),
                };
                let Some(space) = space else {
                    parts.push(rest);
                    break;
                };
                let width = rest[space..].chars().next().map_or(1, char::len_utf8);
                let (part, left) = match from_right {
                    true => (&rest[space + width..], &rest[..space]),
                    false => (&rest[..space], &rest[space..]),
                };
                parts.push(part);
                rest = trim(left);
            }
            if from_right {
                parts.reverse();
            }
        }
    }
    Ok(parts.into_iter().map(Value::from).collect())
}

/// A part of a text by the numbers of its first and last character, with the number of the first.
fn part<'a>(text: &'a str, a: &Arguments, place: usize) -> Result<Option<(usize, &'a str)>, Error> {
    let length = text.chars().count() as i64;
    let clamp = |at: i64| if at < 0 { (at + length).max(0) } else { at };
    let start = clamp(a.number(place, "start")?.unwrap_or(0));
    let end = clamp(a.number(place + 1, "end")?.unwrap_or(length)).min(length);
    if start > end {
        return Ok(None);
    }
    let byte = |at: i64| {
        text.char_indices()
            .nth(at as usize)
            .map_or(text.len(), |(i, _)| i)
    };
    Ok(Some((start as usize, &text[byte(start)..byte(end)])))
}

fn find(text: &str, method: &str, a: &Arguments) -> Result<Value, Error> {
    let what = a.needed(0, "sub")?;
    let found = part(text, a, 1)?.and_then(|(start, part)| {
        let at = match method.starts_with('r') {
            true => part.rfind(&what[..]),
            false => part.find(&what[..]),
        };
        at.map(|at| start + part[..at].chars().count())
    });
    match found {
        Some(at) => Ok(Value::from(at)),
        None if method.ends_with("find") => Ok(Value::from(-1)),
        None => Err(failed("substring not found")),
    }
}

fn split_lines(text: &str, keep_ends: bool) -> Value {
    let is_end = |c: char| "\n\r\u{b}\u{c}\u{1c}\u{1d}\u{1e}\u{85}\u{2028}\u{2029}".contains(c);
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(is_end) {
        let width = match rest[at..].starts_with("\r\n") {
            true => 2,
            false => rest[at..].chars().next().map_or(1, char::len_utf8),
        };
        lines.push(Value::from(
            &rest[..if keep_ends { at + width } else { at }],
        ));
        rest = &rest[at + width..];
    }
    lines.extend((!rest.is_empty()).then(|| Value::from(rest)));
    Value::from(lines)
}

fn filling(text: &str, width: usize, fill: char) -> String {
    let missing = width.min(1 << 16).saturating_sub(text.chars().count());
    fill.to_string().repeat(missing)
}

/// A text in the middle of a width, as Python divides an odd rest.
pub(super) fn centered(text: &str, width: usize, fill: char) -> String {
    let missing = width.min(1 << 16).saturating_sub(text.chars().count());
    let left = missing / 2 + (missing & width & 1);
    let fill = |count: usize| fill.to_string().repeat(count);
    format!("{}{text}{}", fill(left), fill(missing - left))
}

fn expanded(text: &str, width: i64) -> String {
    let width = usize::try_from(width).unwrap_or(0).min(1 << 10);
    let (mut out, mut column) = (String::new(), 0);
    for c in text.chars() {
        match c {
            '\t' if width == 0 => {}
            '\t' => {
                let missing = width - column % width;
                out.push_str(&" ".repeat(missing));
                column += missing;
            }
            c => {
                out.push(c);
                column = if c == '\n' || c == '\r' {
                    0
                } else {
                    column + 1
                };
            }
        }
    }
    out
}

fn is_title(text: &str) -> bool {
    let (mut cased, mut any) = (false, false);
    for c in text.chars() {
        if (c.is_uppercase() && cased) || (c.is_lowercase() && !cased) {
            return false;
        }
        cased = c.is_uppercase() || c.is_lowercase();
        any |= cased;
    }
    any
}

fn joined(sep: &str, parts: &Value) -> Result<Value, Error> {
    let mut texts = Vec::new();
    for part in parts.try_iter()? {
        match part.as_str() {
            Some(text) => texts.push(text.to_owned()),
            None => {
                return Err(failed(format!(
                    "join: expected texts, found {}",
                    part.kind()
                )));
            }
        }
    }
    Ok(Value::from(texts.join(sep)))
}
