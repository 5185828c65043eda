//! Rotary frequencies, from every way in which transformers 4 and 5 write them into `config.json`.

use serde_json::{Map, Value, json};
use std::f64::consts::PI;

/// A key, what it holds and what was expected.
pub(super) type Refused = (&'static str, String, String);

/// The base where a file names none.
const DEFAULT_THETA: f64 = 10_000.0;

/// How positions become angles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RopeConfig {
    theta: f64,
    scaling: Scaling,
}

/// How frequencies are stretched for longer sequences.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scaling {
    None,
    /// All by the same factor.
    Linear(f64),
    /// Low ones by a factor, high ones not at all, as Llama 3.1 does.
    Llama3 {
        factor: f64,
        low: f64,
        high: f64,
        /// Length of the sequences before.
        original: f64,
    },
}

impl RopeConfig {
    /// From the keys of a file. `rope_scaling` goes before `rope_parameters`, what stands in them before
    /// `rope_theta` beside them, as in transformers.
    pub(super) fn new(
        keys: &Map<String, Value>,
        max_position_embeddings: usize,
    ) -> Result<Self, Refused> {
        let (name, table) = table(keys)?;
        if let Some(nested) = table.values().find(|value| value.is_object()) {
            let expected = "the same for all layers".to_owned();
            return Err((name, nested.to_string(), expected));
        }
        let number = |key: &'static str, value: Option<&Value>| match value {
            Some(value) => positive(key, value),
            None => Err((name, format!("no {key}"), "a number above 0".to_owned())),
        };
        let theta = table.get("rope_theta").or_else(|| keys.get("rope_theta"));
        let theta = theta.map_or(Ok(DEFAULT_THETA), |value| positive("rope_theta", value))?;
        let kind = table.get("rope_type").or_else(|| table.get("type"));
        let kind = kind.map_or(Some("default"), Value::as_str);
        let factor = || number("factor", table.get("factor"));
        let scaling = match kind {
            Some("default") => Scaling::None,
            Some("linear") => Scaling::Linear(factor()?),
            Some("llama3") => Scaling::Llama3 {
                factor: factor()?,
                low: number("low_freq_factor", table.get("low_freq_factor"))?,
                high: number("high_freq_factor", table.get("high_freq_factor"))?,
                original: {
                    let key = "original_max_position_embeddings";
                    match keys.get(key).or_else(|| table.get(key)) {
                        Some(value) => positive(key, value)?,
                        None => max_position_embeddings as f64,
                    }
                },
            },
            _ => {
                let found = Value::Object(table.clone()).to_string();
                let expected = "rope_type \"default\", \"linear\" or \"llama3\"".to_owned();
                return Err((name, found, expected));
            }
        };
        partial(keys, &table, scaling)?;
        Ok(Self { theta, scaling })
    }

    /// The frequency of each pair of coordinates in a head.
    pub(super) fn frequencies(&self, head_dim: usize) -> Vec<f64> {
        let plain = |i: usize| self.theta.powf(-2.0 * i as f64 / head_dim as f64);
        (0..head_dim / 2)
            .map(|i| self.scaling.apply(plain(i)))
            .collect()
    }

    /// Adds the keys that are read as this.
    pub(super) fn write(&self, json: &mut Value) {
        json["rope_theta"] = self.theta.into();
        match self.scaling {
            Scaling::None => {}
            Scaling::Linear(factor) => {
                json["rope_scaling"] = json!({"rope_type": "linear", "factor": factor});
            }
            Scaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => {
                json["rope_scaling"] = json!({
                    "rope_type": "llama3",
                    "factor": factor,
                    "low_freq_factor": low,
                    "high_freq_factor": high,
                    "original_max_position_embeddings": original as u64,
                });
            }
        }
    }
}

impl Scaling {
    fn apply(self, frequency: f64) -> f64 {
        match self {
            Self::None => frequency,
            Self::Linear(factor) => frequency / factor,
            Self::Llama3 {
                factor,
                low,
                high,
                original,
            } => {
                // turns that a pair makes over a sequence of the former length
                let turns = original * frequency / (2.0 * PI);
                let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                (1.0 - kept) * frequency / factor + kept * frequency
            }
        }
    }
}

/// The table that counts and its name.
fn table(keys: &Map<String, Value>) -> Result<(&'static str, Map<String, Value>), Refused> {
    for name in ["rope_scaling", "rope_parameters"] {
        match keys.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(table)) if table.is_empty() => {}
            Some(Value::Object(table)) => return Ok((name, table.clone())),
            Some(other) => return Err((name, other.to_string(), "a table or null".to_owned())),
        }
    }
    Ok(("rope_parameters", Map::new()))
}

fn positive(key: &'static str, value: &Value) -> Result<f64, Refused> {
    match value.as_f64() {
        Some(number) if number > 0.0 => Ok(number),
        _ => Err((key, value.to_string(), "a number above 0".to_owned())),
    }
}

/// Heads that are turned in part are not known; transformers does not turn them so without a scaling.
fn partial(
    keys: &Map<String, Value>,
    table: &Map<String, Value>,
    scaling: Scaling,
) -> Result<(), Refused> {
    let key = "partial_rotary_factor";
    let found = table.get(key).or_else(|| keys.get(key));
    match found.filter(|value| !value.is_null() && value.as_f64() != Some(1.0)) {
        Some(value) if scaling != Scaling::None => Err((key, value.to_string(), "1".to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rope(keys: &Value) -> Result<RopeConfig, Refused> {
        RopeConfig::new(keys.as_object().unwrap(), 4096)
    }

    #[test]
    fn one_base_has_many_spellings() {
        let expected = RopeConfig {
            theta: 500.0,
            scaling: Scaling::None,
        };
        for keys in [
            json!({"rope_theta": 500}),
            json!({"rope_theta": 500.0, "rope_scaling": null, "rope_parameters": {}}),
            json!({"rope_parameters": {"rope_theta": 500.0}}),
            json!({"rope_theta": 7.0, "rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}}),
            json!({"rope_theta": 500.0, "rope_parameters": {"type": "default"}}),
            json!({"rope_theta": 500.0, "rope_scaling": {"rope_type": "default"}, "rope_parameters": {"rope_theta": 7.0}}),
            json!({"rope_scaling": {"type": "default", "rope_theta": 500.0}}),
            json!({"rope_theta": 500.0, "partial_rotary_factor": 0.5}),
        ] {
            assert_eq!(rope(&keys), Ok(expected), "{keys}");
        }
        assert_eq!(rope(&json!({})).unwrap().theta, DEFAULT_THETA);
    }

    #[test]
    fn what_is_scaled_otherwise_is_refused_by_its_key() {
        for (keys, key, found) in [
            (json!({"rope_theta": 0.0}), "rope_theta", "0.0"),
            (json!({"rope_theta": null}), "rope_theta", "null"),
            (
                json!({"rope_scaling": {"type": "yarn", "factor": 4.0}}),
                "rope_scaling",
                "yarn",
            ),
            (
                json!({"rope_parameters": {"rope_type": "dynamic", "factor": 2}}),
                "rope_parameters",
                "dynamic",
            ),
            (
                json!({"rope_parameters": {"rope_type": null}}),
                "rope_parameters",
                "null",
            ),
            (
                json!({"rope_scaling": {"rope_type": "linear"}}),
                "rope_scaling",
                "no factor",
            ),
            (json!({"rope_scaling": 4.0}), "rope_scaling", "4.0"),
            (
                json!({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}),
                "rope_parameters",
                "rope_theta",
            ),
            (
                json!({"partial_rotary_factor": 0.5, "rope_scaling": {"rope_type": "linear", "factor": 2}}),
                "partial_rotary_factor",
                "0.5",
            ),
        ] {
            let (at, what, _) = rope(&keys).unwrap_err();
            assert!(at == key && what.contains(found), "{keys}: {at} {what}");
        }
    }

    #[test]
    fn low_frequencies_are_stretched_and_high_ones_are_not() {
        let scaled = rope(&json!({"rope_theta": 500_000.0, "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192
        }}));
        let plain = rope(&json!({"rope_theta": 500_000.0}))
            .unwrap()
            .frequencies(64);
        let scaled = scaled.unwrap().frequencies(64);
        let ratio = |i: usize| plain[i] / scaled[i];
        assert!(ratio(0) == 1.0 && (ratio(31) - 8.0).abs() < 1e-12);
        // pair 17: 8192 / (2 pi) * 500000^(-34/64) = 1.22358 turns, so 0.07453 of it is kept
        let kept = (8192.0 * plain[17] / (2.0 * PI) - 1.0) / 3.0;
        assert!((kept - 0.07453).abs() < 1e-4, "{kept}");
        assert!((scaled[17] / plain[17] - (kept + (1.0 - kept) / 8.0)).abs() < 1e-12);
        let halved = rope(&json!({"rope_scaling": {"type": "linear", "factor": 2}}));
        assert_eq!(halved.unwrap().frequencies(4), [0.5, 0.005]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for keys in [
            json!({"rope_theta": 500.0}),
            json!({"rope_scaling": {"type": "linear", "factor": 2}}),
            json!({"rope_scaling": {"type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 4}}),
        ] {
            let (rope, mut json) = (rope(&keys).unwrap(), json!({}));
            rope.write(&mut json);
            assert_eq!(RopeConfig::new(json.as_object().unwrap(), 4096), Ok(rope));
        }
    }
}
