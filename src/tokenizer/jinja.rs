//! An environment of templates like the one that transformers sets up in jinja2: what the library has
//! in another way or not at all is put in its place.

use super::jinja_filters;
use super::jinja_methods;
use super::jinja_source::{MODULO, adapted};
use super::jinja_text::{View, failed, repr, text, tojson};
use minijinja::formatting::{FormatStyle, format};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, Value};

/// The name of the one template.
pub(super) const TEMPLATE: &str = "chat_template";

/// Steps that a template may take; one that needs more never ends.
const FUEL: u64 = 1_000_000;

/// An environment with a template.
///
/// # Errors
/// When the template cannot be read.
pub(super) fn environment(source: &str) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("the default delimiters");
    environment.set_syntax(syntax.clone());
    environment.set_unknown_method_callback(jinja_methods::call);
    environment.set_formatter(|out, _, value| {
        if value.is_undefined() {
            return Ok(());
        }
        out.write_str(&text(value))
            .map_err(|_| failed("cannot be written"))
    });
    functions(&mut environment);
    tests(&mut environment);
    filters(&mut environment);
    environment.add_template_owned(TEMPLATE, adapted(source, syntax)?)?;
    Ok(environment)
}

fn functions(environment: &mut Environment<'static>) {
    environment.add_function("raise_exception", |message: String| {
        Err::<Value, _>(failed(message))
    });
    environment.add_function("strftime_now", |format: String| {
        let now = jiff::ZonedDateTime::now();
        jiff::fmt::strtime::format(&format, &now)
            .map_err(|e| failed(format!("strftime_now({format:?}): {e}")))
    });
    environment.add_function("joiner", minijinja_contrib::globals::joiner);
    environment.add_function("dict", |of: Option<Value>, named: Kwargs| {
        dict(of.as_ref(), &named)
    });
    environment.remove_global("debug");
}

/// A mapping from another, or from pairs, and from arguments with a name.
fn dict(of: Option<&Value>, named: &Kwargs) -> Result<Value, Error> {
    let mut pairs: Vec<(Value, Value)> = Vec::new();
    for item in of.into_iter().flat_map(Value::try_iter).flatten() {
        let mapping = of.filter(|of| of.kind() == ValueKind::Map);
        pairs.push(match mapping {
            Some(mapping) => (item.clone(), mapping.get_item(&item)?),
            None => (item.get_item_by_index(0)?, item.get_item_by_index(1)?),
        });
    }
    for name in named.args() {
        pairs.push((Value::from(name), named.get::<Value>(name)?));
    }
    Ok(Value::from_pairs(pairs))
}

fn tests(environment: &mut Environment<'static>) {
    environment.add_test("sequence", |value: &Value| match value.kind() {
        ValueKind::Iterable => value.downcast_object_ref::<View>().is_none(),
        kind => matches!(
            kind,
            ValueKind::Seq | ValueKind::Map | ValueKind::String | ValueKind::Undefined
        ),
    });
    environment.add_test("iterable", |value: &Value| {
        value.is_undefined() || value.try_iter().is_ok() && !value.is_none()
    });
    environment.add_test("number", |value: &Value| {
        matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
    });
    environment.add_test("callable", |value: &Value| value.kind() == ValueKind::Plain);
}

fn filters(environment: &mut Environment<'static>) {
    environment.add_filter(MODULO, modulo);
    environment.add_filter(
        "tojson",
        |value: &Value, arguments: Rest<Value>, named: Kwargs| tojson(value, &arguments, &named),
    );
    environment.add_filter("string", |value: &Value| text(value));
    jinja_filters::add(environment);
    // laid out in another way than Python's
    environment.remove_filter("pprint");
}

/// The operator `%`: a format with its values, or the remainder of a division.
fn modulo(left: &Value, right: &Value) -> Result<Value, Error> {
    if let Some(template) = left.as_str() {
        let arguments: Vec<Value> = match right.is_tuple() {
            true => right.try_iter()?.collect(),
            false => vec![right.clone()],
        };
        return formatted(template, arguments).map(Value::from);
    }
    let [a, b] = [left, right].map(|value| match value.kind() {
        ValueKind::Bool => Value::from(i64::from(value.is_true())),
        _ => value.clone(),
    });
    let wrong = || {
        failed(format!(
            "cannot take {} modulo {}",
            left.kind(),
            right.kind()
        ))
    };
    if a.is_integer() && b.is_integer() {
        let [a, b] = [a, b].map(|value| i128::try_from(value).map_err(|_| wrong()));
        let (a, b) = (a?, b?);
        let remainder = a.checked_rem(b).ok_or_else(wrong)?;
        // the remainder has the sign of the divisor
        let turned = remainder != 0 && (remainder < 0) != (b < 0);
        return Ok(Value::from(if turned { remainder + b } else { remainder }));
    }
    let (true, true) = (a.is_number(), b.is_number()) else {
        return Err(wrong());
    };
    let [a, b] = [a, b].map(|value| f64::try_from(value).map_err(|_| wrong()));
    let (a, b) = (a?, b?);
    if b == 0.0 {
        return Err(wrong());
    }
    let remainder = a % b;
    let turned = remainder != 0.0 && (remainder < 0.0) != (b < 0.0);
    Ok(Value::from(if turned { remainder + b } else { remainder }))
}

/// A template with conversions and its values, of which none may be left.
fn formatted(template: &str, mut arguments: Vec<Value>) -> Result<String, Error> {
    let (mut plain, mut rest, mut count) = (String::new(), template, 0);
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let spec = &rest[at..];
        if spec.starts_with("%(") {
            // by name, from a mapping
            return format(FormatStyle::Printf, template, &arguments);
        }
        let end = spec[1..].find(|c: char| c == '%' || c.is_ascii_alphabetic());
        let end = end.ok_or_else(|| failed("incomplete format"))? + 1;
        let kind = &spec[end..=end];
        plain.push_str(&spec[..end]);
        plain.push_str(if kind == "r" { "s" } else { kind });
        if kind != "%" {
            if let Some(argument) = arguments.get_mut(count) {
                match kind {
                    "s" => *argument = Value::from(text(argument)),
                    "r" => *argument = Value::from(repr(argument)),
                    _ => {}
                }
            }
            count += 1;
        }
        rest = &spec[end + 1..];
    }
    plain.push_str(rest);
    if arguments.len() > count {
        return Err(failed(
            "not all arguments converted during string formatting",
        ));
    }
    format(FormatStyle::Printf, &plain, &arguments)
}
