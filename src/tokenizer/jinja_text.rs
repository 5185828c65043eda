//! Values of a template as Python writes them: as text, and as JSON.

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use std::fmt;
use std::sync::Arc;

/// `str()` of a value; nothing of one that is undefined.
pub(super) fn text(value: &Value) -> String {
    match value.kind() {
        ValueKind::Number | ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => repr(value),
        _ => value.to_string(),
    }
}

/// `repr()` of a value.
pub(super) fn repr(value: &Value) -> String {
    let items = |value: &Value| -> Vec<Value> {
        value
            .try_iter()
            .map_or_else(|_| Vec::new(), Iterator::collect)
    };
    match value.kind() {
        ValueKind::Undefined => "Undefined".to_owned(),
        ValueKind::Number => number(value),
        ValueKind::String => quoted(value.as_str().unwrap_or_default()),
        ValueKind::Seq if value.is_tuple() => match &items(value)[..] {
            [one] => format!("({},)", repr(one)),
            all => format!("({})", joined(all)),
        },
        ValueKind::Iterable if value.downcast_object_ref::<View>().is_some() => value.to_string(),
        ValueKind::Seq | ValueKind::Iterable => format!("[{}]", joined(&items(value))),
        ValueKind::Map => {
            let pairs = items(value).into_iter().map(|key| {
                let entry = value.get_item(&key).unwrap_or_default();
                format!("{}: {}", repr(&key), repr(&entry))
            });
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        _ => value.to_string(),
    }
}

/// Keys, values or items of a mapping.
#[derive(Debug)]
pub(super) struct View {
    /// `keys`, `values` or `items`.
    pub(super) of: &'static str,
    pub(super) items: Vec<Value>,
}

impl Object for View {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.items.clone())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dict_{}([{}])", self.of, joined(&self.items))
    }
}

fn joined(values: &[Value]) -> String {
    values.iter().map(repr).collect::<Vec<_>>().join(", ")
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() => float(number),
        _ => value.to_string(),
    }
}

/// The shortest digits that are the same number, with an exponent where Python has one.
pub(super) fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

/// A text in quotes: single ones, unless it has those and no double ones.
fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if !is_printable(c) => out.push_str(&match c as u32 {
                code @ ..=0xff => format!("\\x{code:02x}"),
                code @ ..=0xffff => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// Whether Python shows a character as it is; the rare ones of no category are taken to be shown.
pub(super) fn is_printable(c: char) -> bool {
    let format = ['\u{ad}', '\u{600}', '\u{feff}', '\u{180e}', '\u{61c}'].contains(&c)
        || ('\u{200b}'..='\u{200f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
        || ('\u{e000}'..='\u{f8ff}').contains(&c);
    c == ' ' || !(c.is_control() || c.is_whitespace() || format)
}

/// The filter `tojson` as transformers has it: `json.dumps` with its arguments.
pub(super) fn tojson(value: &Value, arguments: &[Value], named: &Kwargs) -> Result<String, Error> {
    let argument = |place: usize, name: &str| -> Option<Value> {
        let named = named.get::<Option<Value>>(name).ok().flatten();
        let given = named.or_else(|| arguments.get(place).cloned());
        given.filter(|value| !value.is_none() && !value.is_undefined())
    };
    let indent = match argument(1, "indent") {
        None => None,
        Some(text) if text.as_str().is_some() => text.as_str().map(str::to_owned),
        Some(width) => {
            let width = i64::try_from(width.clone()).unwrap_or(i64::from(width.is_true()));
            Some(" ".repeat(usize::try_from(width).unwrap_or(0).min(64)))
        }
    };
    let separators = match argument(2, "separators") {
        None => None,
        Some(pair) => {
            let texts: Vec<String> = pair.try_iter()?.map(|part| part.to_string()).collect();
            Some(<[String; 2]>::try_from(texts).map_err(|_| failed("separators: expected two"))?)
        }
    };
    let usual = [if indent.is_some() { "," } else { ", " }, ": "].map(str::to_owned);
    let json = Json {
        ascii: argument(0, "ensure_ascii").is_some_and(|value| value.is_true()),
        sorted: argument(3, "sort_keys").is_some_and(|value| value.is_true()),
        separators: separators.unwrap_or(usual),
        indent,
    };
    named.assert_all_used()?;
    let mut out = String::new();
    json.write(value, 1, &mut out)?;
    Ok(out)
}

/// The error of an operation that cannot be done.
pub(super) fn failed(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem.into())
}

/// How JSON is written.
struct Json {
    ascii: bool,
    sorted: bool,
    /// Between items, and between a key and its value.
    separators: [String; 2],
    /// Before each item on a line of its own, as often as it is deep.
    indent: Option<String>,
}

impl Json {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&json_number(value)),
            ValueKind::String => self.string(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.items('[', ']', &items, depth, out, |item, out| {
                    self.write(item, depth + 1, out)
                })?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sorted {
                    keys.sort();
                }
                self.items('{', '}', &keys, depth, out, |key, out| {
                    self.string(&key_text(key)?, out);
                    out.push_str(&self.separators[1]);
                    self.write(&value.get_item(key)?, depth + 1, out)
                })?;
            }
            kind => return Err(failed(format!("{kind} is not JSON serializable"))),
        }
        Ok(())
    }

    fn items(
        &self,
        open: char,
        close: char,
        items: &[Value],
        depth: usize,
        out: &mut String,
        mut write: impl FnMut(&Value, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let line = |depth: usize, out: &mut String| {
            if let Some(indent) = &self.indent {
                out.push('\n');
                out.push_str(&indent.repeat(depth));
            }
        };
        out.push(open);
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push_str(&self.separators[0]);
            }
            line(depth, out);
            write(item, out)?;
        }
        if !items.is_empty() {
            line(depth - 1, out);
        }
        out.push(close);
        Ok(())
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' || (self.ascii && c > '~') => {
                    let units = c.encode_utf16(&mut [0; 2]).to_vec();
                    let escaped = units.iter().map(|unit| format!("\\u{unit:04x}"));
                    out.extend(escaped);
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

fn json_number(value: &Value) -> String {
    match &number(value)[..] {
        "nan" => "NaN".to_owned(),
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        other => other.to_owned(),
    }
}

/// A key of a mapping as a text.
fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::None => Ok("null".to_owned()),
        ValueKind::Bool => Ok(key.is_true().to_string()),
        ValueKind::Number => Ok(json_number(key)),
        kind => Err(failed(format!(
            "keys must be texts or numbers, found {kind}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_does() {
        for (number, expected) in [
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (-1.5e300, "-1.5e+300"),
            (f64::INFINITY, "inf"),
            (3.0, "3.0"),
        ] {
            assert_eq!(float(number), expected);
        }
    }
}
