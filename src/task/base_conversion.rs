//! `base_conversion`: a number written in one base, to be written in another.
//!
//! Zero is written "0" in every base, where reasoning-gym leaves most of them empty.

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, score, validation};
use crate::rollout::Question;
use crate::seed::Seed;
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use serde_json::json;

const NAME: &str = "base_conversion";

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BaseConversionConfig {
    /// Smallest base, 2 at least.
    pub min_base: u32,
    /// Largest base, 36 at most; above the smallest, so that there are two to convert between.
    pub max_base: u32,
    /// Smallest value.
    pub min_value: u64,
    /// Largest value.
    pub max_value: u64,
}

impl Default for BaseConversionConfig {
    fn default() -> Self {
        Self {
            min_base: 2,
            max_base: 16,
            min_value: 0,
            max_value: 1000,
        }
    }
}

impl BaseConversionConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_base", "2 to 36"),
        ("max_base", "more than min_base, to 36"),
        ("min_value", "0 to 2^63 - 1"),
        ("max_value", "more than min_value, to 2^63 - 1"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        validation::range("base", [self.min_base, self.max_base], [2, 36])?;
        if self.min_base == self.max_base {
            return Err(format!(
                "max_base = {}: expected more than min_base, for two bases",
                self.max_base
            ));
        }
        validation::range(
            "value",
            [self.min_value, self.max_value],
            [0, i64::MAX as u64],
        )?;
        if self.min_value == self.max_value {
            return Err(format!(
                "max_value = {}: expected more than min_value",
                self.max_value
            ));
        }
        Ok(())
    }
}

/// The task.
pub struct BaseConversion {
    config: BaseConversionConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl BaseConversion {
    /// The task with a valid configuration.
    pub fn new(config: BaseConversionConfig, scoring: Scoring) -> Self {
        let c = &config;
        let difficulty =
            json!({"base": [c.min_base, c.max_base], "value": [c.min_value, c.max_value]});
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }
}

impl Task for BaseConversion {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let c = &self.config;
        let mut rng = seed.rng();
        let value = rng.int(c.min_value as i64, c.max_value as i64) as u64;
        let source = rng.int(c.min_base.into(), c.max_base.into()) as u32;
        // One of the other bases.
        let target = rng.int(c.min_base.into(), i64::from(c.max_base) - 1) as u32;
        let target = target + u32::from(target >= source);

        let (source_repr, target_repr) = (in_base(value, source), in_base(value, target));
        let digits = if target > 10 {
            " Digits above 9 are lower-case letters."
        } else {
            ""
        };
        let text = format!("Convert {source_repr} from base {source} to base {target}.{digits}");
        let answer = Some(target_repr.clone());
        self.template.question(text, answer, move || {
            json!({
                "decimal_value": value,
                "source_base": source,
                "target_base": target,
                "source_repr": source_repr,
                "target_repr": target_repr,
            })
        })
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref() else {
            return 0.0;
        };
        match self.scoring {
            Scoring::ReasoningGym => score::containment(oracle, answer),
            Scoring::Exact => {
                let base = question
                    .metadata
                    .get("target_base")
                    .and_then(serde_json::Value::as_u64);
                let right = significant_digits(oracle, base);
                f64::from(right.is_some() && significant_digits(answer, base) == right)
            }
        }
    }
}

/// The value in a base of 2 to 36, without leading zeros.
fn in_base(value: u64, base: u32) -> String {
    BigUint::from(value).to_str_radix(base)
}

/// The digits in lower case, without the prefix of the base, a plus sign and leading zeros.
fn significant_digits(text: &str, base: Option<u64>) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_prefix('+').unwrap_or(&text);
    let prefix = match base {
        Some(2) => "0b",
        Some(8) => "0o",
        Some(16) => "0x",
        _ => "",
    };
    let digits = text.strip_prefix(prefix).unwrap_or(text);
    let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_alphanumeric());
    valid.then(|| digits.trim_start_matches('0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    fn exact(value: u64, base: u32, answer: &str) -> f64 {
        let task = BaseConversion::new(BaseConversionConfig::default(), Scoring::Exact);
        let own = json!({"target_base": base});
        task.score(&entry(NAME, Some(&in_base(value, base)), own), answer)
    }

    #[test]
    fn digits_of_known_numbers() {
        assert_eq!(in_base(0, 7), "0");
        assert_eq!(in_base(255, 16), "ff");
        assert_eq!(in_base(60, 3), "2020");
        assert_eq!(in_base(270_248, 26), "f9k4");
        assert_eq!(in_base(u64::MAX, 2).len(), 64);
    }

    #[test]
    fn exact_accepts_the_same_number_only() {
        for answer in ["1f", "1F", " 1f ", "0x1f", "0X1F", "001f", "+1f"] {
            assert_eq!(exact(31, 16, answer), 1.0, "{answer:?}");
        }
        for answer in [
            "",
            "0x",
            "31",
            "1f1f",
            "1f 1f",
            "1f.",
            "-1f",
            "0b1f",
            "the answer is 1f",
        ] {
            assert_eq!(exact(31, 16, answer), 0.0, "{answer:?}");
        }
        assert_eq!(exact(5, 2, "0b101"), 1.0);
        assert_eq!(exact(5, 3, "0b12"), 0.0);
        assert_eq!(exact(0, 5, "00"), 1.0);
        assert_eq!(exact(0, 5, ""), 0.0);
    }

    #[test]
    fn one_base_is_an_error() {
        let config = BaseConversionConfig {
            min_base: 7,
            max_base: 7,
            ..Default::default()
        };
        assert_eq!(
            config.validate(),
            Err("max_base = 7: expected more than min_base, for two bases".to_owned())
        );
    }
}
