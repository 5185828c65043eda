//! `basic_arithmetic`: the value of an integer expression with + - * / and brackets.
//!
//! Unlike in reasoning-gym every division is exact, and an expression without brackets has the usual
//! precedence.

pub use super::integer_expression::Operator;

use super::integer_expression::{Token, Writer, value};
use super::question_template::QuestionTemplate;
use super::{Scoring, Task, score, validation};
use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt::Write as _;

const NAME: &str = "basic_arithmetic";

/// Share of the tokens that a space is put before with [`Whitespace::Random`].
const RANDOM_SPACES: f64 = 0.15;

/// Sentences of [`FormatStyle::Natural`].
const SENTENCES: [&str; 4] = [
    "What integer is equal to {}?",
    "Please work out {} and give the integer.",
    "Find the value of {} as an integer.",
    "Which integer do you get from {}?",
];

/// How the question is worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatStyle {
    /// Always the same words.
    Simple,
    /// One of a few sentences.
    Natural,
}

/// How the parts of the expression are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whitespace {
    /// One space between all parts.
    Single,
    /// Nothing between them.
    NoSpace,
    /// A space here and there.
    Random,
}

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BasicArithmeticConfig {
    /// Fewest numbers of an expression.
    pub min_terms: i64,
    /// Most numbers of an expression.
    pub max_terms: i64,
    /// Fewest digits of a number.
    pub min_digits: u32,
    /// Most digits of a number.
    pub max_digits: u32,
    /// What the numbers are joined by; one listed twice is used twice as often.
    pub operators: Vec<Operator>,
    /// Whether there are brackets; without them there are no negative numbers either.
    pub allow_parentheses: bool,
    /// Whether a bracket may have a minus before it.
    pub allow_negation: bool,
    /// How the question is worded.
    pub format_style: FormatStyle,
    /// How the parts of the expression are set apart.
    pub whitespace: Whitespace,
}

impl Default for BasicArithmeticConfig {
    fn default() -> Self {
        Self {
            min_terms: 2,
            max_terms: 6,
            min_digits: 1,
            max_digits: 4,
            operators: vec![
                Operator::Plus,
                Operator::Minus,
                Operator::Times,
                Operator::Divide,
            ],
            allow_parentheses: true,
            allow_negation: true,
            format_style: FormatStyle::Simple,
            whitespace: Whitespace::Single,
        }
    }
}

impl BasicArithmeticConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_terms", "1 to 100"),
        ("max_terms", "min_terms to 100"),
        ("min_digits", "1 to 18"),
        ("max_digits", "min_digits to 18"),
        ("operators", "some of + - * /"),
        ("allow_parentheses", "true or false"),
        ("allow_negation", "true or false"),
        ("format_style", "simple or natural"),
        ("whitespace", "single, no_space or random"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        validation::range("terms", [self.min_terms, self.max_terms], [1, 100])?;
        validation::range("digits", [self.min_digits, self.max_digits], [1, 18])?;
        if self.operators.is_empty() {
            return Err("operators = []: expected some of \"+\", \"-\", \"*\", \"/\"".to_owned());
        }
        Ok(())
    }
}

/// The task.
pub struct BasicArithmetic {
    config: BasicArithmeticConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl BasicArithmetic {
    /// The task with a valid configuration.
    pub fn new(config: BasicArithmeticConfig, scoring: Scoring) -> Self {
        let c = &config;
        let difficulty = json!({"num_terms": [c.min_terms, c.max_terms], "num_digits": [c.min_digits, c.max_digits]});
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }
}

impl Task for BasicArithmetic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let c = &self.config;
        let mut rng = seed.rng();
        let terms = rng.int(c.min_terms, c.max_terms);
        let digits = rng.int(c.min_digits.into(), c.max_digits.into());
        let high = 10_i64.pow(digits as u32) - 1;
        let mut writer = Writer {
            rng: &mut rng,
            operators: &c.operators,
            brackets: c.allow_parentheses,
            negation: c.allow_negation,
            literals: [if c.allow_parentheses { -high } else { 0 }, high],
        };
        let tokens = writer.terms(terms);

        let expression = spaced(&tokens, c.whitespace, &mut rng);
        let text = match c.format_style {
            FormatStyle::Simple => format!("Compute this integer: {expression}"),
            FormatStyle::Natural => rng.choose(&SENTENCES).replace("{}", &expression),
        };
        let answer = value(&tokens).to_string();
        self.template.question(
            text,
            Some(answer),
            move || json!({"expression": expression, "num_terms": terms, "num_digits": digits}),
        )
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref() else {
            return 0.0;
        };
        match self.scoring {
            Scoring::ReasoningGym => score::containment(oracle, answer),
            Scoring::Exact => score::same_integer(oracle, answer),
        }
    }
}

fn spaced(tokens: &[Token], whitespace: Whitespace, rng: &mut Rng) -> String {
    let mut text = String::new();
    for (i, token) in tokens.iter().enumerate() {
        let space = match whitespace {
            Whitespace::Single => true,
            Whitespace::NoSpace => false,
            Whitespace::Random => rng.uniform() < RANDOM_SPACES,
        };
        if space && i > 0 {
            text.push(' ');
        }
        write!(text, "{token}").expect("a String takes any text");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hardest_setting_is_written_without_overflow() {
        let config = BasicArithmeticConfig {
            min_terms: 90,
            max_terms: 100,
            min_digits: 18,
            max_digits: 18,
            operators: vec![Operator::Times, Operator::Divide],
            ..Default::default()
        };
        assert_eq!(config.validate(), Ok(()));
        let task = BasicArithmetic::new(config, Scoring::Exact);
        for seed in 0..20 {
            let question = task.question(Seed::new(seed));
            assert_eq!(
                task.score(&question, question.answer.as_deref().unwrap()),
                1.0
            );
        }
    }

    #[test]
    fn spaces_change_the_text_alone() {
        let ask = |whitespace| {
            let config = BasicArithmeticConfig {
                whitespace,
                ..Default::default()
            };
            BasicArithmetic::new(config, Scoring::Exact).question(Seed::new(3))
        };
        let (single, none) = (ask(Whitespace::Single), ask(Whitespace::NoSpace));
        assert_eq!(
            single.text.split_once(':').unwrap().1.replace(' ', ""),
            none.text.split_once(": ").unwrap().1
        );
        assert_eq!(single.answer, none.answer);
        assert_eq!(single.answer, ask(Whitespace::Random).answer);
    }
}
