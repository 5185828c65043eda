//! `decimal_arithmetic`: the value of an expression of decimal numbers.
//!
//! The answer is the exact value, rounded once. Expressions whose value would be lost by rounding at
//! every step, as reasoning-gym does it, are not asked.

mod config;
mod expression;
mod python_decimal;

pub use config::DecimalArithmeticConfig;

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, python_text};
use crate::rollout::Question;
use crate::seed::Seed;
use bigdecimal::BigDecimal;
use expression::{
    Token, exact_value, fraction, random_expression, random_sum, rounded, value_by_steps,
};
use num_traits::Signed as _;
use python_decimal::decimal;
use serde_json::json;
use std::fmt::Write as _;

const NAME: &str = "decimal_arithmetic";

/// Attempts at an expression before a sum is taken.
const MAX_ATTEMPTS: u32 = 300;

/// The task.
pub struct DecimalArithmetic {
    config: DecimalArithmeticConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl DecimalArithmetic {
    /// The task with a valid configuration.
    pub fn new(config: DecimalArithmeticConfig, scoring: Scoring) -> Self {
        let c = &config;
        let difficulty = json!({
            "decimal_places": [c.min_num_decimal_places, c.max_num_decimal_places],
            "num_terms": [c.min_terms, c.max_terms],
        });
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }

    /// The rounded value of an expression, where it, the exact one and the one rounded at every step agree.
    fn clear_value(&self, tokens: &[Token]) -> Option<BigDecimal> {
        let precision = self.config.precision as u64;
        let half_a_unit = BigDecimal::new(5.into(), self.config.max_num_decimal_places + 1);
        let exact = exact_value(tokens)?;
        let value = rounded(&exact, precision);
        let by_steps = value_by_steps(tokens, precision)?;
        let is_seen = exact.abs() >= fraction(&half_a_unit.double());
        let is_exact_enough = (fraction(&value) - exact).abs() <= fraction(&half_a_unit);
        let agree = (by_steps - &value).abs() <= half_a_unit;
        (is_seen && is_exact_enough && agree).then_some(value)
    }
}

impl Task for DecimalArithmetic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let c = &self.config;
        let mut rng = seed.rng();
        let terms = rng.int(c.min_terms, c.max_terms);
        let (tokens, value) = (0..MAX_ATTEMPTS)
            .find_map(|_| {
                let mut tokens = Vec::new();
                random_expression(&mut rng, c, terms, &mut tokens);
                let value = self.clear_value(&tokens)?;
                Some((tokens, value))
            })
            .unwrap_or_else(|| {
                let tokens = random_sum(&mut rng, c, terms);
                let exact = exact_value(&tokens).expect("a sum divides by nothing");
                let value = rounded(&exact, c.precision as u64);
                (tokens, value)
            });
        let mut text = format!(
            "Compute this number, right to {} decimals or better, with a maximum of {} significant digits.\n",
            c.max_num_decimal_places, c.precision
        );
        for token in &tokens {
            write!(text, "{token}").expect("a String takes any text");
        }
        text.push_str(" = ?");
        let places = tokens.iter().map(|token| match token {
            Token::Number { places, .. } => *places,
            _ => 0,
        });
        let places = places.max().unwrap_or(0).max(1);
        let answer = value.normalized().to_plain_string();
        self.template.question(
            text,
            Some(answer),
            move || json!({"decimal_places": places, "num_terms": terms}),
        )
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref() else {
            return 0.0;
        };
        let near = match self.scoring {
            Scoring::ReasoningGym => self.is_near(answer, oracle),
            Scoring::Exact => self.is_right(answer, oracle),
        };
        f64::from(near.unwrap_or(false))
    }
}

impl DecimalArithmetic {
    /// Whether reasoning-gym takes the answer: one unit of the last place may be missing.
    fn is_near(&self, answer: &str, oracle: &str) -> Option<bool> {
        let places = self.config.max_num_decimal_places;
        if let Some(near) = short_texts_are_near(answer, oracle, places as u32) {
            return Some(near);
        }
        let (answer, oracle) = (decimal(answer)?, decimal(oracle)?);
        Some((answer - oracle).abs() <= BigDecimal::new(1.into(), places))
    }

    /// Whether every asked decimal is right.
    fn is_right(&self, answer: &str, oracle: &str) -> Option<bool> {
        let (answer, oracle) = (read_minus(answer)?, decimal(oracle)?);
        let next = self.config.max_num_decimal_places + 1;
        let mut tolerance = BigDecimal::new(5.into(), next);
        if oracle.digits() as i64 >= self.config.precision {
            // It may be off by half of its last digit itself, where it was rounded.
            tolerance += BigDecimal::new(1.into(), oracle.fractional_digit_count().max(next));
        }
        Some((answer - oracle).abs() <= tolerance)
    }
}

/// Whether two numbers are at most `10^-places` apart; `None` where one of them is not written in a few plain
/// digits, as most answers are. Takes a quarter of the time of the general way.
fn short_texts_are_near(a: &str, b: &str, places: u32) -> Option<bool> {
    let read = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let plain = text.len() <= 18 && part.bytes().all(|byte| byte.is_ascii_digit());
        let digits = plain.then(|| [whole, part].concat().parse::<i64>().ok())??;
        Some((i128::from(digits), part.len() as u32))
    };
    let ((a, a_places), (b, b_places)) = (read(a)?, read(b)?);
    let unit = places.max(a_places).max(b_places);
    let apart = a * 10_i128.pow(unit - a_places) - b * 10_i128.pow(unit - b_places);
    Some(apart.abs() <= 10_i128.pow(unit - places))
}

/// The number that a text says, with a typographic minus or the one of a keyboard.
fn read_minus(text: &str) -> Option<BigDecimal> {
    let text = python_text::strip(text);
    match text.strip_prefix('\u{2212}') {
        Some(rest) if rest.starts_with(['+', '-']) => None,
        Some(rest) => decimal(rest).map(|number| -number),
        None => decimal(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    fn task(config: &DecimalArithmeticConfig, scoring: Scoring) -> DecimalArithmetic {
        assert_eq!(config.validate(), Ok(()));
        DecimalArithmetic::new(config.clone(), scoring)
    }

    #[test]
    fn exact_wants_every_asked_decimal() {
        let question = |oracle: &str| entry(NAME, Some(oracle), json!({}));
        let score = |oracle, answer| {
            let config = DecimalArithmeticConfig::default();
            let [library, exact] =
                [Scoring::ReasoningGym, Scoring::Exact].map(|scoring| task(&config, scoring));
            (
                library.score(&question(oracle), answer),
                exact.score(&question(oracle), answer),
            )
        };
        for answer in [
            "4.86090396050",
            "4.861",
            "4.8609",
            " +4.861\n",
            "48.609e-1",
            "4.8609039605",
        ] {
            assert_eq!(score("4.86090396050", answer), (1.0, 1.0), "{answer:?}");
        }
        for answer in [
            "4.86",
            "4.8614039606",
            "4.862",
            "5",
            "",
            "4.861.",
            "4.861 4.861",
            "NaN",
        ] {
            assert_eq!(score("4.86090396050", answer).1, 0.0, "{answer:?}");
        }
        assert_eq!(score("-1.5", "\u{2212}1.500"), (0.0, 1.0));
        assert_eq!(score("-1.5", "\u{2212}-1.500").1, 0.0);
        assert_eq!(score("1.4995", "1.5"), (1.0, 1.0));
        assert_eq!(score("1.4994", "1.5"), (1.0, 0.0));
    }

    #[test]
    fn distances_at_the_edge() {
        let task = task(&DecimalArithmeticConfig::default(), Scoring::ReasoningGym);
        let near = |answer: &str, oracle: &str| {
            task.score(&entry(NAME, Some(oracle), json!({})), answer) == 1.0
        };
        let zeros = "0".repeat(100_000);
        for (answer, oracle) in [
            ("1.001", "1"),
            ("0.999", "1"),
            (".999", "1."),
            ("-1.001", "-1"),
            ("+1.001", "1"),
            ("1001e-3", "1"),
            ("1e-999999999", "0.001"),
            ("0e999999999", "0.001"),
            ("123456.78949", "123456.7891234567"),
            (&format!("1.{zeros}"), "1"),
            (&format!("1.0009{zeros}1"), "1"),
        ] {
            assert!(near(answer, oracle), "{answer:?} {oracle:?}");
        }
        for (answer, oracle) in [
            ("1.0010001", "1"),
            ("1.00100000000000000001", "1"),
            ("0.99899999", "1"),
            ("0.998999999999999999999", "1"),
            ("-1.0010001", "-1"),
            ("-1.001", "1"),
            (".+1", "0.1"),
            ("0.-1", "0.1"),
            ("1e999999999", "0.001"),
            ("1e99999999999999999999999", "1"),
            (&format!("1.001{zeros}1"), "1"),
            ("NaN", "1"),
        ] {
            assert!(!near(answer, oracle), "{answer:?} {oracle:?}");
        }
    }

    #[test]
    fn answers_hold_at_every_setting() {
        let base = DecimalArithmeticConfig::default();
        let settings = [
            base.clone(),
            DecimalArithmeticConfig {
                min_num_decimal_places: 5,
                max_num_decimal_places: 8,
                min_terms: 5,
                max_terms: 8,
                precision: 10,
            },
            DecimalArithmeticConfig {
                max_terms: 50,
                min_terms: 50,
                ..base.clone()
            },
            DecimalArithmeticConfig {
                min_num_decimal_places: 0,
                max_num_decimal_places: 0,
                precision: 2,
                ..base.clone()
            },
            DecimalArithmeticConfig {
                min_num_decimal_places: 17,
                max_num_decimal_places: 17,
                precision: 19,
                ..base
            },
        ];
        for config in settings {
            for seed in 0..60 {
                let question = task(&config, Scoring::Exact).question(Seed::new(seed));
                let right = question.answer.as_deref().unwrap();
                assert_eq!(
                    task(&config, Scoring::Exact).score(&question, right),
                    1.0,
                    "{question:?}"
                );
                assert_eq!(
                    task(&config, Scoring::ReasoningGym).score(&question, right),
                    1.0,
                    "{question:?}"
                );
            }
        }
    }
}
