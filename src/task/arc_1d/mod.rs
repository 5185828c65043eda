//! `arc_1d`: the rule that turns rows into rows, to be found from examples and applied to another row.
//!
//! A rule is one function from input to output, so that all 70 can be tried on the examples. Unlike in
//! reasoning-gym no question is asked that a copy of the input answers, or where another of the rules
//! fits the examples and gives another answer.

mod input_generator;
mod pixel_row;
mod rule;
mod rule_kind;
#[cfg(test)]
mod tests;
mod transformation;

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, score, validation};
use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use pixel_row::Row;
use rule::{Input, RULES, Rule};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write as _;

const NAME: &str = "arc_1d";

/// Attempts at a row that fits its rule, at examples for one rule and length, and at rules, before giving up.
const MAX_ROW_ATTEMPTS: u32 = 1000;
const MAX_EXAMPLE_ATTEMPTS: u32 = 20;
const MAX_RULE_ATTEMPTS: u32 = 50;

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Arc1dConfig {
    /// Fewest cells of a row.
    pub min_size: usize,
    /// Most cells of a row.
    pub max_size: usize,
    /// How many examples there are of the rule.
    pub num_train: usize,
}

impl Default for Arc1dConfig {
    fn default() -> Self {
        Self {
            min_size: 10,
            max_size: 30,
            num_train: 3,
        }
    }
}

impl Arc1dConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_size", "8 to 1000"),
        ("max_size", "min_size to 1000"),
        ("num_train", "1 to 100"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        validation::range("size", [self.min_size, self.max_size], [8, 1000])?;
        if !(1..=100).contains(&self.num_train) {
            return Err(format!("num_train = {}: expected 1 to 100", self.num_train));
        }
        Ok(())
    }
}

/// The task.
pub struct Arc1d {
    config: Arc1dConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl Arc1d {
    /// The task with a valid configuration.
    pub fn new(config: Arc1dConfig, scoring: Scoring) -> Self {
        let difficulty = json!({"size": [config.min_size, config.max_size]});
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }

    /// Examples of a rule, the last one to be asked, such that only one answer fits them.
    fn clear_examples(&self, rng: &mut Rng) -> (&'static Rule, Vec<Example>) {
        let mut last = None;
        for _ in 0..MAX_RULE_ATTEMPTS {
            let rule = rng.choose(&RULES);
            let length = rng.int(self.config.min_size as i64, self.config.max_size as i64) as usize;
            for _ in 0..MAX_EXAMPLE_ATTEMPTS {
                let Some(examples) = self.examples(rule, rng, length) else {
                    break;
                };
                if is_clear(&examples) {
                    return (rule, examples);
                }
                last = Some((rule, examples));
            }
        }
        last.expect("most rules have rows of every length")
    }

    fn examples(&self, rule: &Rule, rng: &mut Rng, length: usize) -> Option<Vec<Example>> {
        let mut examples = Vec::with_capacity(self.config.num_train + 1);
        for _ in 0..=self.config.num_train {
            examples.push(Example::generate(rule, rng, length)?);
        }
        Some(examples)
    }
}

/// A row and what the rule makes of it.
#[derive(Debug)]
struct Example {
    input: Input,
    output: Row,
}

impl Example {
    fn generate(rule: &Rule, rng: &mut Rng, length: usize) -> Option<Self> {
        (0..MAX_ROW_ATTEMPTS).find_map(|_| {
            let input = rule.generate(rng, length)?;
            let output = rule.apply(&input)?;
            Some(Self { input, output })
        })
    }

    fn metadata(&self) -> Value {
        json!({"input": self.input.row(), "output": self.output})
    }
}

/// True where a copy of the input is wrong and every rule that fits the examples gives the right answer.
fn is_clear(examples: &[Example]) -> bool {
    let Some((test, train)) = examples.split_last() else {
        return false;
    };
    let fits = |rule: &Rule, example: &Example| {
        rule.apply(&example.input)
            .is_some_and(|row| row == example.output)
    };
    let misleads = |rule: &Rule| {
        train.iter().all(|example| fits(rule, example))
            && rule
                .apply(&test.input)
                .is_some_and(|row| row != test.output)
    };
    test.input.row() != test.output && !RULES.iter().any(misleads)
}

impl Task for Arc1d {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let (rule, examples) = self.clear_examples(&mut seed.rng());
        let (test, train) = examples.split_last().expect("the test row comes last");
        let mut text = "One rule turns every input into its output.\n".to_owned();
        for example in train {
            let (input, output) = (in_digits(example.input.row()), in_digits(&example.output));
            writeln!(text, "Input: {input}\nOutput: {output}").expect("a String takes any text");
        }
        text.push_str("Answer with the output for this row, numbers with spaces between.\nInput: ");
        text.push_str(&in_digits(test.input.row()));
        let answer = in_digits(&test.output);
        self.template.question(text, Some(answer), move || {
            let (test, train) = examples.split_last().expect("the test row comes last");
            json!({
                "task_name": rule.name,
                "size": test.input.row().len(),
                "train_examples": train.iter().map(Example::metadata).collect::<Value>(),
                "test_example": test.metadata(),
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
                let right = numbers(oracle);
                f64::from(right.is_some() && numbers(answer) == right)
            }
        }
    }
}

/// The colours with single spaces between them.
fn in_digits(row: &[u8]) -> String {
    let mut text = String::with_capacity(2 * row.len());
    for (i, color) in row.iter().enumerate() {
        if i > 0 {
            text.push(' ');
        }
        text.push(char::from(b'0' + color));
    }
    text
}

/// The digits of a row with spaces or commas between them, in brackets or not.
fn numbers(text: &str) -> Option<Row> {
    let text = text.trim();
    let text = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let words = text
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty());
    let digit = |word: &str| match word.as_bytes() {
        [digit @ b'0'..=b'9'] => Some(digit - b'0'),
        _ => None,
    };
    words
        .map(digit)
        .collect::<Option<Row>>()
        .filter(|row| !row.is_empty())
}
