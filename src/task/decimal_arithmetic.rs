//! `decimal_arithmetic`: the value of an expression of decimal numbers.
//!
//! The answer is the exact value, rounded once. Expressions whose value would be lost by rounding at
//! every step, as reasoning-gym does it, are not asked.

use super::decimal::{Fraction, Rounded, Text, is_near, power_of_ten};
use super::expression::Operator;
use super::{Scoring, Task, check, entry, python};
use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};
use serde_json::json;

const NAME: &str = "decimal_arithmetic";

/// Draws of an expression before a plain sum is taken.
const MOST_DRAWS: u32 = 300;

/// Keeps the digits of a number within 64 bits.
const MOST_PLACES: i64 = 17;

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecimalArithmeticConfig {
    /// Fewest decimals of a number.
    pub min_num_decimal_places: i64,
    /// Most decimals of a number; the answer must be right to as many.
    pub max_num_decimal_places: i64,
    /// Fewest numbers of an expression.
    pub min_terms: i64,
    /// Most numbers of an expression.
    pub max_terms: i64,
    /// Significant digits of the answer, more than `max_num_decimal_places + 1`.
    pub precision: i64,
}

impl Default for DecimalArithmeticConfig {
    fn default() -> Self {
        Self { min_num_decimal_places: 3, max_num_decimal_places: 3, min_terms: 2, max_terms: 6, precision: 12 }
    }
}

impl DecimalArithmeticConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_num_decimal_places", "0 to 17"),
        ("max_num_decimal_places", "min_num_decimal_places to 17"),
        ("min_terms", "1 to 50"),
        ("max_terms", "min_terms to 50"),
        ("precision", "max_num_decimal_places + 2 to 100"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        let places = [self.min_num_decimal_places, self.max_num_decimal_places];
        check::range("num_decimal_places", places, [0, MOST_PLACES])?;
        check::range("terms", [self.min_terms, self.max_terms], [1, 50])?;
        let least = self.max_num_decimal_places + 2;
        if !(least..=100).contains(&self.precision) {
            return Err(format!(
                "precision = {}: expected {least} (max_num_decimal_places + 2) to 100",
                self.precision
            ));
        }
        Ok(())
    }
}

/// The task.
pub struct DecimalArithmetic {
    config: DecimalArithmeticConfig,
    scoring: Scoring,
}

impl DecimalArithmetic {
    /// The task with a valid configuration.
    pub fn new(config: DecimalArithmeticConfig, scoring: Scoring) -> Self {
        Self { config, scoring }
    }

    /// An expression with its rounded value, where the exact value and the one rounded step by step agree.
    fn draw(&self, rng: &mut Rng, terms: i64) -> Option<(Vec<Token>, Rounded)> {
        let c = &self.config;
        let (places, precision) = (c.max_num_decimal_places as u32, c.precision as u32);
        let tokens = expression(rng, c, terms);
        let exact = evaluate(&tokens, &|value| value)?;
        let value = exact.rounded(precision);
        let written = value.fraction();
        let by_step = evaluate(&tokens, &|value| value.rounded(precision).fraction())?;
        let shown = exact.numerator.magnitude() * power_of_ten(places).magnitude() >= *exact.denominator.magnitude();
        let agree = written.is_within_half(&exact, places) && by_step.is_within_half(&written, places);
        (agree && shown).then_some((tokens, value))
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
        let drawn = (0..MOST_DRAWS).find_map(|_| self.draw(&mut rng, terms));
        let (tokens, value) = drawn.unwrap_or_else(|| {
            let tokens = plain_sum(&mut rng, c, terms);
            let exact = evaluate(&tokens, &|value| value).expect("a sum divides by nothing");
            (tokens, exact.rounded(c.precision as u32))
        });
        let places = tokens
            .iter()
            .filter_map(|token| if let Token::Number { places, .. } = token { Some(*places) } else { None });
        let places = places.max().unwrap_or(0).max(1);
        let written: String = tokens.iter().map(Token::text).collect();
        let text = format!(
            "Compute this number, right to {} decimals or better, with a maximum of {} significant digits.\n\
             {written} = ?",
            c.max_num_decimal_places, c.precision
        );
        let own = json!({"decimal_places": places, "num_terms": terms});
        let difficulty = json!({
            "decimal_places": [c.min_num_decimal_places, c.max_num_decimal_places],
            "num_terms": [c.min_terms, c.max_terms],
        });
        entry(NAME, text, Some(value.text()), own, difficulty)
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref().and_then(Text::read) else { return 0.0 };
        let places = self.config.max_num_decimal_places;
        match self.scoring {
            Scoring::ReasoningGym => {
                f64::from(Text::read(answer).is_some_and(|candidate| is_near(&candidate, &oracle, 1, places)))
            }
            Scoring::Exact => {
                let answer = python::strip(answer);
                let unsigned = answer.strip_prefix('\u{2212}').filter(|rest| !rest.starts_with(['+', '-']));
                let read = unsigned.map_or_else(|| Text::read(answer), |rest| Text::read(&format!("-{rest}")));
                // The oracle itself may be off by half of its last digit, where it was rounded.
                let (tolerance, places) = if oracle.significant() as i64 >= self.config.precision {
                    let last = oracle.decimals().max(places + 1);
                    let half = 5 * 10_i64.saturating_pow((last - places - 1).min(17) as u32);
                    (half.saturating_add(1), places + 1 + (last - places - 1).min(17))
                } else {
                    (5, places + 1)
                };
                f64::from(read.is_some_and(|candidate| is_near(&candidate, &oracle, tolerance, places)))
            }
        }
    }
}

/// A piece of an expression.
enum Token {
    /// `raw / 10^places`
    Number {
        raw: i64,
        places: u32,
    },
    Operator(Operator),
    Open,
    Close,
}

impl Token {
    fn text(&self) -> String {
        match self {
            Self::Number { raw, places: 0 } => raw.to_string(),
            Self::Number { raw, places } => {
                let unit = 10_i64.pow(*places);
                format!("{}.{:0width$}", raw / unit, raw % unit, width = *places as usize)
            }
            Self::Operator(Operator::Plus) => "+".to_owned(),
            Self::Operator(Operator::Minus) => "-".to_owned(),
            Self::Operator(Operator::Times) => "*".to_owned(),
            Self::Operator(Operator::Divide) => "/".to_owned(),
            Self::Open => "(".to_owned(),
            Self::Close => ")".to_owned(),
        }
    }
}

const OPERATORS: [Operator; 4] = [Operator::Plus, Operator::Minus, Operator::Times, Operator::Divide];

/// A number above 0, 10 at most.
fn number(rng: &mut Rng, c: &DecimalArithmeticConfig) -> Token {
    let places = rng.int(c.min_num_decimal_places, c.max_num_decimal_places) as u32;
    Token::Number { raw: rng.int(1, 10 * 10_i64.pow(places)), places }
}

/// So many numbers, split at random, every part in brackets or not.
fn expression(rng: &mut Rng, c: &DecimalArithmeticConfig, terms: i64) -> Vec<Token> {
    if terms == 1 {
        return vec![number(rng, c)];
    }
    let left = rng.int(1, terms - 1);
    let mut tokens = expression(rng, c, left);
    tokens.push(Token::Operator(*rng.choose(&OPERATORS)));
    tokens.extend(expression(rng, c, terms - left));
    if rng.below(2) == 0 {
        tokens.insert(0, Token::Open);
        tokens.push(Token::Close);
    }
    tokens
}

/// Numbers that are added and subtracted in turn, so that no digit is lost on the way.
fn plain_sum(rng: &mut Rng, c: &DecimalArithmeticConfig, terms: i64) -> Vec<Token> {
    let mut tokens = vec![number(rng, c)];
    for i in 1..terms {
        let Some(total) = evaluate(&tokens, &|value| value) else { return tokens };
        let positive = total.numerator > BigInt::ZERO;
        let operator = if positive && i > 1 { Operator::Minus } else { Operator::Plus };
        tokens.extend([Token::Operator(operator), number(rng, c)]);
    }
    tokens
}

/// The value by the usual precedence, with `step` applied to every number and every result.
fn evaluate(tokens: &[Token], step: &dyn Fn(Fraction) -> Fraction) -> Option<Fraction> {
    sum(&mut tokens.iter().peekable(), step)
}

type Tokens<'a> = std::iter::Peekable<std::slice::Iter<'a, Token>>;

fn sum(tokens: &mut Tokens, step: &dyn Fn(Fraction) -> Fraction) -> Option<Fraction> {
    let mut total = product(tokens, step)?;
    while let Some(Token::Operator(operator)) = tokens.peek() {
        tokens.next();
        let sign = if *operator == Operator::Minus { -1 } else { 1 };
        total = step(total.plus(&product(tokens, step)?, sign));
    }
    Some(total)
}

fn product(tokens: &mut Tokens, step: &dyn Fn(Fraction) -> Fraction) -> Option<Fraction> {
    let mut value = factor(tokens, step)?;
    while let Some(Token::Operator(operator @ (Operator::Times | Operator::Divide))) = tokens.peek() {
        tokens.next();
        let right = factor(tokens, step)?;
        value = step(if *operator == Operator::Times { value.times(&right) } else { value.over(&right)? });
    }
    Some(value)
}

fn factor(tokens: &mut Tokens, step: &dyn Fn(Fraction) -> Fraction) -> Option<Fraction> {
    match tokens.next()? {
        Token::Number { raw, places } => {
            Some(Fraction { numerator: (*raw).into(), denominator: power_of_ten(*places) })
        }
        Token::Open => {
            let value = sum(tokens, step);
            tokens.next();
            value
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(config: &DecimalArithmeticConfig, scoring: Scoring) -> DecimalArithmetic {
        assert_eq!(config.validate(), Ok(()));
        DecimalArithmetic::new(config.clone(), scoring)
    }

    #[test]
    fn exact_wants_every_asked_decimal() {
        let question = |oracle: &str| entry(NAME, String::new(), Some(oracle.to_owned()), json!({}), json!({}));
        let score = |oracle, answer| {
            let config = DecimalArithmeticConfig::default();
            let [library, exact] = [Scoring::ReasoningGym, Scoring::Exact].map(|scoring| task(&config, scoring));
            (library.score(&question(oracle), answer), exact.score(&question(oracle), answer))
        };
        for answer in ["4.86090396050", "4.861", "4.8609", " +4.861\n", "48.609e-1", "4.8609039605"] {
            assert_eq!(score("4.86090396050", answer), (1.0, 1.0), "{answer:?}");
        }
        for answer in ["4.86", "4.8614039606", "4.862", "5", "", "4.861.", "4.861 4.861", "NaN"] {
            assert_eq!(score("4.86090396050", answer).1, 0.0, "{answer:?}");
        }
        assert_eq!(score("-1.5", "\u{2212}1.500"), (0.0, 1.0));
        assert_eq!(score("-1.5", "\u{2212}-1.500").1, 0.0);
        assert_eq!(score("1.4995", "1.5"), (1.0, 1.0));
        assert_eq!(score("1.4994", "1.5"), (1.0, 0.0));
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
            DecimalArithmeticConfig { max_terms: 50, min_terms: 50, ..base.clone() },
            DecimalArithmeticConfig {
                min_num_decimal_places: 0,
                max_num_decimal_places: 0,
                precision: 2,
                ..base.clone()
            },
            DecimalArithmeticConfig { min_num_decimal_places: 17, max_num_decimal_places: 17, precision: 19, ..base },
        ];
        for config in settings {
            for seed in 0..60 {
                let question = task(&config, Scoring::Exact).question(Seed::new(seed));
                let right = question.answer.as_deref().unwrap();
                assert_eq!(task(&config, Scoring::Exact).score(&question, right), 1.0, "{question:?}");
                assert_eq!(task(&config, Scoring::ReasoningGym).score(&question, right), 1.0, "{question:?}");
            }
        }
    }

    #[test]
    fn precedence_and_brackets() {
        let number = |raw| Token::Number { raw, places: 1 };
        let op = Token::Operator;
        let check = |tokens: &[Token], expected: &str| {
            assert_eq!(evaluate(tokens, &|value| value).unwrap().rounded(12).text(), expected);
        };
        check(&[number(10), op(Operator::Plus), number(20), op(Operator::Times), number(35)], "8");
        check(&[number(10), op(Operator::Minus), number(20), op(Operator::Minus), number(35)], "-4.5");
        let bracket = [Token::Open, number(10), op(Operator::Plus), number(20), Token::Close];
        check(&bracket, "3");
        assert_eq!(Token::Number { raw: 2005, places: 3 }.text(), "2.005");
    }
}
