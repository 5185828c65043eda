//! `bf`: what a Brainfuck program prints.
//!
//! The programs come from [`compiler`], the answers from [`interpreter`]. Unlike in reasoning-gym every
//! program ends, and no value of the C-like source outgrows a cell.

mod compiler;
mod interpreter;
mod word_list;

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, python_text, score};
use crate::rollout::Question;
use crate::seed::{Rng, Seed};
use compiler::{Program, Statement};
use serde::{Deserialize, Serialize};
use serde_json::json;

const NAME: &str = "bf";

/// Far more than any of the programs takes.
const MAX_STEPS: u64 = 20_000_000;

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BfConfig {
    /// 1: prints a word; 2: adds two numbers up to a target; 3: the second one only from a threshold on.
    pub difficulty: u32,
}

impl Default for BfConfig {
    fn default() -> Self {
        Self { difficulty: 1 }
    }
}

impl BfConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[("difficulty", "1 to 3")];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        if !(1..=3).contains(&self.difficulty) {
            return Err(format!("difficulty = {}: expected 1 to 3", self.difficulty));
        }
        Ok(())
    }
}

/// The task.
pub struct Bf {
    config: BfConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl Bf {
    /// The task with a valid configuration.
    pub fn new(config: BfConfig, scoring: Scoring) -> Self {
        let template = QuestionTemplate::new(NAME, json!({"difficulty": config.difficulty}));
        Self {
            config,
            scoring,
            template,
        }
    }
}

impl Task for Bf {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let mut rng = seed.rng();
        let program = match self.config.difficulty {
            1 => word(&mut rng),
            2 => sum(&mut rng),
            _ => conditional_sum(&mut rng),
        };
        let code = program.compile();
        let answer = interpreter::run(&code, MAX_STEPS).expect("compiled programs end");
        let text = format!("Answer with the exact output of this Brainfuck program:\n{code}");
        self.template.question(
            text,
            Some(answer),
            move || json!({"bfit_code": program.source(), "bf_program": code}),
        )
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref() else {
            return 0.0;
        };
        match self.scoring {
            Scoring::ReasoningGym => score::containment(oracle, answer),
            Scoring::Exact => {
                let [given, right] = [answer, oracle].map(python_text::strip);
                f64::from(given == right && !right.is_empty())
            }
        }
    }
}

fn word(rng: &mut Rng) -> Program {
    let words: Vec<&str> = word_list::WORDS.split(' ').collect();
    let word = (*rng.choose(&words)).to_owned();
    Program {
        variables: Vec::new(),
        body: vec![Statement::Print(word)],
    }
}

/// `while (acc < target)` with a body, then the sum is printed.
fn accumulate(target: u8, x: u8, y: u8, body: Vec<Statement>) -> Program {
    Program {
        variables: vec![("acc", 0), ("target", target), ("x", x), ("y", y)],
        body: vec![Statement::WhileLess(0, 1, body), Statement::PrintInt(0)],
    }
}

fn sum(rng: &mut Rng) -> Program {
    let (x, y) = (rng.int(1, 4), rng.int(1, 5));
    let target = x * y * rng.int(1, 9) + rng.int(1, 9);
    accumulate(
        target as u8,
        x as u8,
        y as u8,
        vec![Statement::Add(0, 2), Statement::Add(0, 3)],
    )
}

fn conditional_sum(rng: &mut Rng) -> Program {
    loop {
        let (x, y) = (rng.int(1, 7), rng.int(1, 9));
        let target = x * y * rng.int(1, 9) + rng.int(1, 9) + 50;
        let condition = target - rng.int(1, 40);
        // The last addition starts below the target: more than 8 in 10 attempts stay within a cell.
        if target + x + y <= i64::from(u8::MAX) {
            let then = vec![Statement::Add(0, 3)];
            let body = vec![
                Statement::Add(0, 2),
                Statement::IfGreater(0, condition as u8, then),
            ];
            return accumulate(target as u8, x as u8, y as u8, body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    /// What the C-like source means, without a Brainfuck program.
    fn meaning(source: &str) -> String {
        let number = |before: &str| {
            let digits = source.split_once(before).map_or("", |(_, rest)| rest);
            digits
                .chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse::<u32>()
        };
        if let Some((_, rest)) = source.split_once("print(\"") {
            return rest.split_once('"').unwrap().0.to_owned();
        }
        let [target, x, y] = ["target = ", "x = ", "y = "].map(|name| number(name).unwrap());
        let threshold = number("acc > ").ok();
        let mut acc = 0;
        while acc < target {
            acc += x;
            acc += if threshold.is_none_or(|threshold| acc > threshold) {
                y
            } else {
                0
            };
        }
        acc.to_string()
    }

    #[test]
    fn programs_print_what_their_source_means() {
        for difficulty in 1..=3 {
            let task = Bf::new(BfConfig { difficulty }, Scoring::Exact);
            for seed in 0..300 {
                let question = task.question(Seed::new(seed));
                let source = question.metadata["bfit_code"].as_str().unwrap();
                assert_eq!(
                    question.answer.as_deref(),
                    Some(meaning(source).as_str()),
                    "{source}"
                );
            }
        }
    }

    #[test]
    fn words_are_all_different_and_of_five_letters() {
        let mut all: Vec<&str> = word_list::WORDS.split(' ').collect();
        assert!(
            all.iter()
                .all(|word| word.len() == 5 && word.bytes().all(|b| b.is_ascii_lowercase()))
        );
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(count > 500);
    }

    #[test]
    fn exact_wants_the_very_output() {
        let question = entry(NAME, Some("acorn"), json!({}));
        let task = Bf::new(BfConfig::default(), Scoring::Exact);
        assert_eq!(task.score(&question, " acorn\n"), 1.0);
        for answer in ["Acorn", "acorns", "\"acorn\"", "acorn acorn", "", " "] {
            assert_eq!(task.score(&question, answer), 0.0, "{answer:?}");
        }
    }

    #[test]
    fn there_are_three_difficulties() {
        assert_eq!(
            BfConfig { difficulty: 4 }.validate(),
            Err("difficulty = 4: expected 1 to 3".to_owned())
        );
    }
}
