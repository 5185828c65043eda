//! `decimal_arithmetic`: the value of an expression of decimal numbers.
//!
//! The answer is the exact value, rounded once. Expressions whose value would be lost by rounding at
//! every step, as reasoning-gym does it, are not asked.

use super::decimal::{Fraction, Number, Plain, Text, is_near, power_of_ten};
use super::expression::Operator;
use super::form::{Form, push_number, written};
use super::quotient::Quotient;
use super::{Scoring, Task, check, python};
use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use num_bigint::BigInt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::Cell;

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
        Self {
            min_num_decimal_places: 3,
            max_num_decimal_places: 3,
            min_terms: 2,
            max_terms: 6,
            precision: 12,
        }
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
    form: Form,
}

impl DecimalArithmetic {
    /// The task with a valid configuration.
    pub fn new(config: DecimalArithmeticConfig, scoring: Scoring) -> Self {
        let c = &config;
        let difficulty = json!({
            "decimal_places": [c.min_num_decimal_places, c.max_num_decimal_places],
            "num_terms": [c.min_terms, c.max_terms],
        });
        let form = Form::new(NAME, &["decimal_places", "num_terms"], difficulty);
        Self {
            config,
            scoring,
            form,
        }
    }

    /// The rounded value of an expression, where the exact value and the one rounded step by step agree.
    fn answer(&self, tokens: &[Token]) -> Option<String> {
        let (places, precision) = (
            self.config.max_num_decimal_places as u32,
            self.config.precision as u32,
        );
        if let Some(answer) = small_answer(tokens, places as i32, precision as i32) {
            return answer;
        }
        let exact: Fraction = evaluate(tokens, &Some)?;
        let value = exact.rounded(precision);
        let written = value.fraction();
        let by_step: Fraction = evaluate(tokens, &|value: Fraction| {
            Some(value.rounded(precision).fraction())
        })?;
        let shown = exact.numerator.magnitude() * power_of_ten(places).magnitude()
            >= *exact.denominator.magnitude();
        let agree =
            written.is_within_half(&exact, places) && by_step.is_within_half(&written, places);
        (agree && shown).then(|| value.text())
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
        let mut tokens = Vec::with_capacity(4 * terms as usize);
        let drawn = (0..MOST_DRAWS).find_map(|_| {
            tokens.clear();
            expression(&mut rng, c, terms, &mut tokens);
            self.answer(&tokens)
        });
        let answer = drawn.unwrap_or_else(|| {
            tokens = plain_sum(&mut rng, c, terms);
            let exact: Fraction = evaluate(&tokens, &Some).expect("a sum divides by nothing");
            exact.rounded(c.precision as u32).text()
        });
        let places = tokens.iter().filter_map(|token| {
            if let Token::Number { places, .. } = token {
                Some(*places)
            } else {
                None
            }
        });
        let places = places.max().unwrap_or(0).max(1);
        let mut text = written(
            110 + 4 * tokens.len(),
            format_args!(
                "Compute this number, right to {} decimals or better, with a maximum of {} significant digits.\n",
                c.max_num_decimal_places, c.precision
            ),
        );
        tokens.iter().for_each(|token| token.write(&mut text));
        text.push_str(" = ?");
        self.form
            .question(text, Some(answer), move || [places.into(), terms.into()])
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref() else {
            return 0.0;
        };
        let places = self.config.max_num_decimal_places;
        if self.scoring == Scoring::ReasoningGym {
            return f64::from(is_near_as_read(answer, oracle, places));
        }
        let Some(oracle) = Text::read(oracle) else {
            return 0.0;
        };
        let answer = python::strip(answer);
        let unsigned = answer
            .strip_prefix('\u{2212}')
            .filter(|rest| !rest.starts_with(['+', '-']));
        let read = unsigned.map_or_else(
            || Text::read(answer),
            |rest| Text::read(&format!("-{rest}")),
        );
        // The oracle itself may be off by half of its last digit, where it was rounded.
        let (tolerance, places) = if oracle.significant() as i64 >= self.config.precision {
            let last = oracle.decimals().max(places + 1);
            let half = 5 * 10_i64.saturating_pow((last - places - 1).min(17) as u32);
            (
                half.saturating_add(1),
                places + 1 + (last - places - 1).min(17),
            )
        } else {
            (5, places + 1)
        };
        f64::from(read.is_some_and(|candidate| is_near(&candidate, &oracle, tolerance, places)))
    }
}

/// True where the answer is no further from the oracle than one unit of the last place, as reasoning-gym has it.
fn is_near_as_read(answer: &str, oracle: &str, places: i64) -> bool {
    if let (Some(candidate), Some(oracle)) = (Plain::read(answer), Plain::read(oracle)) {
        return candidate.is_near(oracle, 1, places as u32);
    }
    let near = |candidate: Text| Some(is_near(&candidate, &Text::read(oracle)?, 1, places));
    Text::read(answer).and_then(near).unwrap_or(false)
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
    fn write(&self, text: &mut String) {
        let sign = match self {
            Self::Number { raw, places } => {
                let (raw, unit) = (raw.unsigned_abs(), 10_u64.pow(*places));
                push_number(text, raw / unit, 1);
                if *places > 0 {
                    text.push('.');
                    push_number(text, raw % unit, *places as usize);
                }
                return;
            }
            Self::Operator(Operator::Plus) => '+',
            Self::Operator(Operator::Minus) => '-',
            Self::Operator(Operator::Times) => '*',
            Self::Operator(Operator::Divide) => '/',
            Self::Open => '(',
            Self::Close => ')',
        };
        text.push(sign);
    }
}

const OPERATORS: [Operator; 4] = [
    Operator::Plus,
    Operator::Minus,
    Operator::Times,
    Operator::Divide,
];

/// A number above 0, 10 at most.
fn number(rng: &mut Rng, c: &DecimalArithmeticConfig) -> Token {
    let places = rng.int(c.min_num_decimal_places, c.max_num_decimal_places) as u32;
    Token::Number {
        raw: rng.int(1, 10 * 10_i64.pow(places)),
        places,
    }
}

/// So many numbers, split at random, every part in brackets or not.
fn expression(rng: &mut Rng, c: &DecimalArithmeticConfig, terms: i64, tokens: &mut Vec<Token>) {
    if terms == 1 {
        return tokens.push(number(rng, c));
    }
    let (start, left) = (tokens.len(), rng.int(1, terms - 1));
    expression(rng, c, left, tokens);
    tokens.push(Token::Operator(*rng.choose(&OPERATORS)));
    expression(rng, c, terms - left, tokens);
    if rng.below(2) == 0 {
        tokens.insert(start, Token::Open);
        tokens.push(Token::Close);
    }
}

/// Numbers that are added and subtracted in turn, so that no digit is lost on the way.
fn plain_sum(rng: &mut Rng, c: &DecimalArithmeticConfig, terms: i64) -> Vec<Token> {
    let mut tokens = vec![number(rng, c)];
    for i in 1..terms {
        let Some(total): Option<Fraction> = evaluate(&tokens, &Some) else {
            return tokens;
        };
        let positive = total.numerator > BigInt::ZERO;
        let operator = if positive && i > 1 {
            Operator::Minus
        } else {
            Operator::Plus
        };
        tokens.extend([Token::Operator(operator), number(rng, c)]);
    }
    tokens
}

/// The answer as [`DecimalArithmetic::answer`] gives it; `None` where 128 bits do not do.
fn small_answer(tokens: &[Token], places: i32, precision: i32) -> Option<Option<String>> {
    let all_fit = Cell::new(true);
    let by_step: Quotient = evaluate(tokens, &|value: Quotient| {
        all_fit.set(all_fit.get() && value.fits(precision));
        value.rounded(precision)
    })?;
    // Where nothing was rounded the value is exact.
    let exact = if all_fit.get() {
        by_step
    } else {
        evaluate(tokens, &Some)?
    };
    let value = exact.rounded(precision)?;
    if !value.reaches(places) {
        return None;
    }
    let agree = by_step.is_within_half(value, places)? && exact.shows(places)?;
    Some(agree.then(|| value.text()))
}

/// The value by the usual precedence, with `step` applied to every result.
fn evaluate<N: Number>(tokens: &[Token], step: &impl Fn(N) -> Option<N>) -> Option<N> {
    sum(&mut tokens.iter().peekable(), step)
}

type Tokens<'a> = std::iter::Peekable<std::slice::Iter<'a, Token>>;

fn sum<N: Number>(tokens: &mut Tokens, step: &impl Fn(N) -> Option<N>) -> Option<N> {
    let mut total = product(tokens, step)?;
    while let Some(Token::Operator(operator)) = tokens.peek() {
        tokens.next();
        let sign = if *operator == Operator::Minus { -1 } else { 1 };
        total = step(total.plus(&product(tokens, step)?, sign)?)?;
    }
    Some(total)
}

fn product<N: Number>(tokens: &mut Tokens, step: &impl Fn(N) -> Option<N>) -> Option<N> {
    let mut value = factor(tokens, step)?;
    while let Some(Token::Operator(operator @ (Operator::Times | Operator::Divide))) = tokens.peek()
    {
        tokens.next();
        let right = factor(tokens, step)?;
        value = step(if *operator == Operator::Times {
            value.times(&right)?
        } else {
            value.over(&right)?
        })?;
    }
    Some(value)
}

fn factor<N: Number>(tokens: &mut Tokens, step: &impl Fn(N) -> Option<N>) -> Option<N> {
    match tokens.next()? {
        Token::Number { raw, places } => Some(N::new(*raw, *places)),
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
    use super::super::entry;
    use super::*;

    fn task(config: &DecimalArithmeticConfig, scoring: Scoring) -> DecimalArithmetic {
        assert_eq!(config.validate(), Ok(()));
        DecimalArithmetic::new(config.clone(), scoring)
    }

    #[test]
    fn exact_wants_every_asked_decimal() {
        let question = |oracle: &str| {
            entry(
                NAME,
                String::new(),
                Some(oracle.to_owned()),
                json!({}),
                json!({}),
            )
        };
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

    #[test]
    fn precedence_and_brackets() {
        let number = |raw| Token::Number { raw, places: 1 };
        let op = Token::Operator;
        let check = |tokens: &[Token], expected: &str| {
            assert_eq!(
                evaluate::<Fraction>(tokens, &Some)
                    .unwrap()
                    .rounded(12)
                    .text(),
                expected
            );
            assert_eq!(
                evaluate::<Quotient>(tokens, &Some)
                    .unwrap()
                    .rounded(12)
                    .unwrap()
                    .text(),
                expected
            );
        };
        check(
            &[
                number(10),
                op(Operator::Plus),
                number(20),
                op(Operator::Times),
                number(35),
            ],
            "8",
        );
        check(
            &[
                number(10),
                op(Operator::Minus),
                number(20),
                op(Operator::Minus),
                number(35),
            ],
            "-4.5",
        );
        let bracket = [
            Token::Open,
            number(10),
            op(Operator::Plus),
            number(20),
            Token::Close,
        ];
        check(&bracket, "3");
        let mut text = String::new();
        Token::Number {
            raw: 2005,
            places: 3,
        }
        .write(&mut text);
        assert_eq!(text, "2.005");
    }
}
