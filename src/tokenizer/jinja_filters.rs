//! Filters of jinja2 that the library does not have, or has with other arguments.

use super::jinja_methods::centered;
use super::jinja_text::{failed, text};
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, Value};

/// A filter of a value with arguments by their places and by their names.
type Filter = fn(&Value, &[Value], &Kwargs) -> Result<Value, Error>;

/// Adds them.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("center", |value: &Value, width: Option<usize>| {
        centered(&text(value), width.unwrap_or(80), ' ')
    });
    environment.add_filter("wordcount", |value: &Value| {
        let (text, word) = (text(value), |c: char| c.is_alphanumeric() || c == '_');
        let parts = text.split(|c| !word(c));
        parts.filter(|part| !part.is_empty()).count()
    });
    for name in ["escape", "e", "forceescape"] {
        environment.add_filter(name, |value: &Value| escaped(&text(value)));
    }
    environment.add_filter("striptags", minijinja_contrib::filters::striptags);
    environment.add_filter("filesizeformat", minijinja_contrib::filters::filesizeformat);
    environment.add_filter("float", float);
    let filters: [(&'static str, Filter); 4] = [
        ("int", int),
        ("indent", indent),
        ("truncate", truncate),
        ("join", join),
    ];
    for (name, filter) in filters {
        let apply = move |value: &Value, arguments: Rest<Value>, named: Kwargs| {
            filter(value, &arguments, &named)
        };
        environment.add_filter(name, apply);
    }
}

fn escaped(text: &str) -> String {
    let pairs = [
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\"", "&#34;"),
        ("'", "&#39;"),
    ];
    let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    pairs.iter().fold(text.to_owned(), replace)
}

/// An argument by its place or its name, if it is given.
fn argument(arguments: &[Value], named: &Kwargs, place: usize, name: &str) -> Option<Value> {
    let by_name = named.get::<Option<Value>>(name).ok().flatten();
    by_name.or_else(|| arguments.get(place).cloned())
}

/// A whole number, or a default where there is none.
fn int(value: &Value, arguments: &[Value], named: &Kwargs) -> Result<Value, Error> {
    let default = argument(arguments, named, 0, "default").unwrap_or(Value::from(0));
    let base = argument(arguments, named, 1, "base");
    named.assert_all_used()?;
    let base = base.map_or(Ok(10), u32::try_from)?;
    let of_text = |text: &str| {
        let text = text.trim().replace('_', "");
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.strip_prefix('+').unwrap_or(&text)),
        };
        let prefix = match base {
            2 => "0b",
            8 => "0o",
            16 => "0x",
            _ => "",
        };
        let lower = digits.to_lowercase();
        let digits = format!("{sign}{}", lower.strip_prefix(prefix).unwrap_or(&lower));
        let whole = (2..=36)
            .contains(&base)
            .then(|| i128::from_str_radix(&digits, base).ok());
        // as jinja2 has it: a text of a fraction is cut off where the base is ten
        let cut = || {
            text.parse::<f64>()
                .ok()
                .filter(|f| f.is_finite())
                .map(|f| f as i128)
        };
        whole.flatten().or_else(cut)
    };
    let found = match value.kind() {
        ValueKind::Bool => Some(i128::from(value.is_true())),
        ValueKind::Number if value.is_integer() => return Ok(value.clone()),
        ValueKind::Number => f64::try_from(value.clone()).ok().map(|f| f as i128),
        ValueKind::String => of_text(value.as_str().unwrap_or_default()),
        _ => None,
    };
    Ok(found.map_or(default, Value::from))
}

/// A number with a fraction, or a default where there is none.
fn float(value: &Value, default: Option<Value>) -> Value {
    let found = match value.kind() {
        ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        ValueKind::String => value.as_str().and_then(|text| text.trim().parse().ok()),
        _ => None,
    };
    found.map_or(default.unwrap_or(Value::from(0.0)), Value::from)
}

fn flag(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

fn indent(value: &Value, arguments: &[Value], named: &Kwargs) -> Result<Value, Error> {
    let by = match argument(arguments, named, 0, "width") {
        None => " ".repeat(4),
        Some(width) => match width.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(usize::try_from(width)?.min(1 << 10)),
        },
    };
    let first = flag(argument(arguments, named, 1, "first"));
    let blank = flag(argument(arguments, named, 2, "blank"));
    named.assert_all_used()?;
    let (text, mut out) = (text(value), String::new());
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let wanted = if i == 0 {
            first
        } else {
            blank || !line.is_empty()
        };
        out.push_str(if wanted { &by } else { "" });
        out.push_str(line);
    }
    Ok(Value::from(out))
}

fn truncate(value: &Value, arguments: &[Value], named: &Kwargs) -> Result<Value, Error> {
    let number = |place, name, usual: usize| {
        argument(arguments, named, place, name).map_or(Ok(usual), usize::try_from)
    };
    let (length, leeway) = (number(0, "length", 255)?, number(3, "leeway", 5)?);
    let within = flag(argument(arguments, named, 1, "killwords"));
    let end = argument(arguments, named, 2, "end").map_or("...".to_owned(), |end| text(&end));
    named.assert_all_used()?;
    let text = text(value);
    if text.chars().count() <= length + leeway {
        return Ok(Value::from(text));
    }
    let kept = length.checked_sub(end.chars().count());
    let kept =
        kept.ok_or_else(|| failed("truncate: expected a length of at least that of its end"))?;
    let cut: String = text.chars().take(kept).collect();
    let whole = cut.rsplit_once(' ').map_or(&cut[..], |(before, _)| before);
    let kept = if within { &cut } else { whole };
    Ok(Value::from(format!("{kept}{end}")))
}

fn join(value: &Value, arguments: &[Value], named: &Kwargs) -> Result<Value, Error> {
    let between = argument(arguments, named, 0, "d").map_or(String::new(), |d| text(&d));
    let attribute = argument(arguments, named, 1, "attribute");
    named.assert_all_used()?;
    let mut texts = Vec::new();
    for mut item in value.try_iter()? {
        let path = attribute.as_ref().map(text).unwrap_or_default();
        for name in path.split('.').filter(|name| !name.is_empty()) {
            item = item.get_attr(name)?;
        }
        texts.push(text(&item));
    }
    Ok(Value::from(texts.join(&between)))
}
