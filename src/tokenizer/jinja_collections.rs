//! Methods of Python's lists, mappings and numbers, as `jinja_methods` has those of texts.

use super::jinja_text::{View, failed};
use minijinja::value::{Tuple, from_args};
use minijinja::{Error, Value};

/// Of a list; none where there is no such method here.
pub(super) fn of_list(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        "index" => {
            let (what,): (&Value,) = from_args(args)?;
            let at = value.try_iter()?.position(|item| item == *what);
            at.map(|at| Some(Value::from(at)))
                .ok_or_else(|| failed("the value is not in the list"))
        }
        "copy" => Ok(Some(value.clone())),
        _ => Ok(None),
    }
}

/// Of a mapping; none where there is no such method here.
pub(super) fn of_mapping(
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    let of = match method {
        "copy" => "",
        "keys" => "keys",
        "values" => "values",
        "items" => "items",
        _ => return Ok(None),
    };
    let () = from_args(args)?;
    if of.is_empty() {
        return Ok(Some(value.clone()));
    }
    let mut items: Vec<Value> = value.try_iter()?.collect();
    if of != "keys" {
        for item in &mut items {
            let entry = value.get_item(item)?;
            *item = match of {
                "values" => entry,
                _ => Value::from(Tuple::from([item.clone(), entry])),
            };
        }
    }
    Ok(Some(Value::from_object(View { of, items })))
}

/// Of a number; none where there is no such method here.
pub(super) fn of_number(value: &Value, method: &str) -> Result<Option<Value>, Error> {
    match method {
        "is_integer" => Ok(Some(Value::from(
            f64::try_from(value.clone())?.fract() == 0.0,
        ))),
        _ => Ok(None),
    }
}
