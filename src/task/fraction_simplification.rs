//! `fraction_simplification`: a fraction in lowest terms.
//!
//! Unlike in reasoning-gym no fraction is in lowest terms already, as long as a factor above 1 is allowed.

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, python_text, validation};
use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use num_bigint::BigInt;
use num_integer::Integer as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const NAME: &str = "fraction_simplification";

/// Attempts at a pair before a fixed one is taken.
const MAX_ATTEMPTS: u32 = 1000;

/// Keeps numerator and denominator within 64 bits.
const LARGEST: i64 = 1_000_000_000;

/// How a fraction is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// `1/2`
    Plain,
    /// `$1/2$`
    LatexInline,
    /// `$\frac{1}{2}$`
    LatexFrac,
    /// `$\dfrac{1}{2}$`
    LatexDfrac,
}

impl Style {
    /// A fraction of positive numbers in this notation.
    fn written(self, numerator: i64, denominator: i64) -> String {
        match self {
            Self::Plain => format!("{numerator}/{denominator}"),
            Self::LatexInline => format!("${numerator}/{denominator}$"),
            Self::LatexFrac => format!("$\\frac{{{numerator}}}{{{denominator}}}$"),
            Self::LatexDfrac => format!("$\\dfrac{{{numerator}}}{{{denominator}}}$"),
        }
    }
}

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FractionSimplificationConfig {
    /// Smallest numerator and denominator of the simple fraction.
    pub min_value: i64,
    /// Largest ones.
    pub max_value: i64,
    /// Smallest factor that both are multiplied by; at least 2 where `max_factor` allows.
    pub min_factor: i64,
    /// Largest factor.
    pub max_factor: i64,
    /// How fractions are written; one listed twice is used twice as often.
    pub styles: Vec<Style>,
}

impl Default for FractionSimplificationConfig {
    fn default() -> Self {
        let styles = vec![
            Style::Plain,
            Style::LatexInline,
            Style::LatexFrac,
            Style::LatexDfrac,
        ];
        Self {
            min_value: 1,
            max_value: 1000,
            min_factor: 1,
            max_factor: 100,
            styles,
        }
    }
}

impl FractionSimplificationConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_value", "1 to 10^9"),
        ("max_value", "more than min_value, to 10^9"),
        ("min_factor", "1 to 10^9"),
        ("max_factor", "min_factor to 10^9"),
        (
            "styles",
            "some of plain, latex_inline, latex_frac, latex_dfrac",
        ),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        validation::range("value", [self.min_value, self.max_value], [1, LARGEST])?;
        if self.min_value == self.max_value {
            return Err(format!(
                "max_value = {}: expected more than min_value, to {LARGEST}",
                self.max_value
            ));
        }
        validation::range("factor", [self.min_factor, self.max_factor], [1, LARGEST])?;
        if self.styles.is_empty() {
            return Err(
                "styles = []: expected some of \"plain\", \"latex_inline\", \"latex_frac\", \"latex_dfrac\"".to_owned()
            );
        }
        Ok(())
    }

    /// A fraction between 0 and 1, in lowest terms.
    fn simple(&self, rng: &mut Rng) -> (i64, i64) {
        for _ in 0..MAX_ATTEMPTS {
            let (a, b) = (
                rng.int(self.min_value, self.max_value),
                rng.int(self.min_value, self.max_value),
            );
            let common = a.gcd(&b);
            let (low, high) = (a.min(b) / common, a.max(b) / common);
            if low >= self.min_value {
                return (low, high);
            }
        }
        (self.max_value - 1, self.max_value)
    }
}

/// The task.
pub struct FractionSimplification {
    config: FractionSimplificationConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl FractionSimplification {
    /// The task with a valid configuration.
    pub fn new(config: FractionSimplificationConfig, scoring: Scoring) -> Self {
        let c = &config;
        let difficulty =
            json!({"value": [c.min_value, c.max_value], "factor": [c.min_factor, c.max_factor]});
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }
}

impl Task for FractionSimplification {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let c = &self.config;
        let mut rng = seed.rng();
        let (n, d) = c.simple(&mut rng);
        let factor = rng.int(c.min_factor.max(2).min(c.max_factor), c.max_factor);
        let style = *rng.choose(&c.styles);
        let (numerator, denominator) = (n * factor, d * factor);
        let text = format!(
            "Write {} in lowest terms, as a fraction in the same notation.",
            style.written(numerator, denominator)
        );
        self.template
            .question(text, Some(style.written(n, d)), move || {
                json!({
                    "numerator": numerator,
                    "denominator": denominator,
                    "simplified_numerator": n,
                    "simplified_denominator": d,
                    "reduction_factor": factor,
                    "style": style,
                    "factor": factor,
                })
            })
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let stored = |key: &str| match question.metadata.get(key) {
            Some(Value::Number(number)) => number
                .as_u64()
                .map_or_else(|| python_text::int(&number.to_string()), |n| Some(n.into())),
            _ => None,
        };
        let right = stored("simplified_numerator").zip(stored("simplified_denominator"));
        if self.scoring == Scoring::Exact {
            return f64::from(right.is_some() && person_reads(answer) == right);
        }
        match library_reads(answer) {
            None => NO_FRACTION,
            Some(pair) if Some(&pair) == right.as_ref() => 1.0,
            Some((ref n, ref d))
                if stored("numerator").as_ref() == Some(n)
                    || stored("denominator").as_ref() == Some(d) =>
            {
                HALF_UNCHANGED
            }
            Some(_) => SOME_FRACTION,
        }
    }

    fn score_missing(&self) -> f64 {
        if self.scoring == Scoring::Exact {
            0.0
        } else {
            NO_FRACTION
        }
    }
}

/// Rewards of reasoning-gym for wrong answers.
const NO_FRACTION: f64 = 0.01;
const SOME_FRACTION: f64 = 0.05;
const HALF_UNCHANGED: f64 = 0.1;

/// The pair that reasoning-gym finds: a LaTeX fraction at the start, else what is around the first slash.
fn library_reads(text: &str) -> Option<(BigInt, BigInt)> {
    let text = python_text::strip(python_text::strip(text).trim_matches('$'));
    if let Some((n, d, _)) = latex_fraction(text, &["\\frac", "\\dfrac"]) {
        return Some((python_text::int(n)?, python_text::int(d)?));
    }
    let (n, d) = text.split_once('/')?;
    Some((python_text::int(n)?, python_text::int(d)?))
}

/// The pair that the whole text says in one of the notations of fractions; a whole number is over 1.
fn person_reads(text: &str) -> Option<(BigInt, BigInt)> {
    let mut text = python_text::strip(text);
    for (open, close) in [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")] {
        if let Some(inside) = text
            .strip_prefix(open)
            .and_then(|rest| rest.strip_suffix(close))
        {
            text = python_text::strip(inside);
            break;
        }
    }
    if let Some((n, d, rest)) = latex_fraction(text, &["\\frac", "\\dfrac", "\\tfrac"]) {
        return if rest.is_empty() {
            Some((python_text::int(n)?, python_text::int(d)?))
        } else {
            None
        };
    }
    match text.split_once(['/', '\u{2044}', '\u{2215}']) {
        Some((n, d)) => Some((python_text::int(n)?, python_text::int(d)?)),
        None => Some((python_text::int(text)?, 1.into())),
    }
}

/// Numerator, denominator and the rest of a text that starts with `\frac{..}{..}`, digits in the braces.
fn latex_fraction<'a>(text: &'a str, commands: &[&str]) -> Option<(&'a str, &'a str, &'a str)> {
    let starts = |command: &&str| {
        text.get(..command.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(command))
    };
    let command = commands.iter().find(|command| starts(command))?;
    let (n, rest) = braced_digits(&text[command.len()..])?;
    let (d, rest) = braced_digits(rest)?;
    Some((n, d, rest))
}

fn braced_digits(text: &str) -> Option<(&str, &str)> {
    let inside = text
        .trim_start_matches(python_text::is_space)
        .strip_prefix('{')?
        .trim_start_matches(python_text::is_space);
    let end = inside
        .find(|c| python_text::digit(c).is_none())
        .filter(|&end| end > 0)?;
    let rest = inside[end..]
        .trim_start_matches(python_text::is_space)
        .strip_prefix('}')?;
    Some((&inside[..end], rest))
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    fn scores(answer: &str) -> (f64, f64) {
        let own = json!({"numerator": 30, "denominator": 40, "simplified_numerator": 3, "simplified_denominator": 4});
        let question = entry(NAME, Some("3/4"), own);
        let score =
            |scoring| FractionSimplification::new(FractionSimplificationConfig::default(), scoring);
        (
            score(Scoring::ReasoningGym).score(&question, answer),
            score(Scoring::Exact).score(&question, answer),
        )
    }

    #[test]
    fn the_same_fraction_in_many_notations() {
        for answer in [
            "3/4",
            " 3 / 4\n",
            "$3/4$",
            "$\\frac{3}{4}$",
            "\\dfrac {3} { 4 }",
            "$$3/4$$",
            "03/4",
            "+3/+4",
        ] {
            assert_eq!(scores(answer), (1.0, 1.0), "{answer:?}");
        }
        for answer in ["\\tfrac{3}{4}", "\\(\\frac{3}{4}\\)", "\\[3/4\\]", "3⁄4"] {
            assert_eq!(scores(answer).1, 1.0, "{answer:?}");
        }
    }

    #[test]
    fn wrong_ones() {
        for (answer, library) in [
            ("30/40", 0.1),
            ("30/1", 0.1),
            ("6/8", 0.05),
            ("4/3", 0.05),
            ("-3/-4", 0.05),
            ("", 0.01),
            ("0.75", 0.01),
            ("3/4.", 0.01),
            ("3/4 3/4", 0.01),
            ("The answer is 3/4", 0.01),
            ("\\frac{3}{4} is the answer", 1.0),
            ("\\frac{3}{4}$", 1.0),
        ] {
            let exact = scores(answer).1;
            assert_eq!((scores(answer).0, exact), (library, 0.0), "{answer:?}");
        }
    }

    #[test]
    fn one_may_be_written_without_a_denominator() {
        let own = json!({"simplified_numerator": 1, "simplified_denominator": 1});
        let question = entry(NAME, Some("1/1"), own);
        let task =
            FractionSimplification::new(FractionSimplificationConfig::default(), Scoring::Exact);
        assert_eq!(
            (task.score(&question, "1"), task.score(&question, "1/1")),
            (1.0, 1.0)
        );
        assert_eq!(task.score(&question, "2/2"), 0.0);
    }

    #[test]
    fn fractions_are_in_lowest_terms_after_and_not_before() {
        for (min_value, max_value) in [(1, 1000), (500, 520), (7, 8), (1, 2)] {
            let config = FractionSimplificationConfig {
                min_value,
                max_value,
                ..Default::default()
            };
            let task = FractionSimplification::new(config, Scoring::Exact);
            for seed in 0..300 {
                let metadata = task.question(Seed::new(seed)).metadata;
                let get = |key: &str| metadata[key].as_i64().unwrap();
                let (n, d) = (get("simplified_numerator"), get("simplified_denominator"));
                assert_eq!(n.gcd(&d), 1);
                assert!(min_value <= n && n <= d && d <= max_value);
                assert!(get("factor") > 1 && get("numerator") == n * get("factor"));
            }
        }
    }
}
