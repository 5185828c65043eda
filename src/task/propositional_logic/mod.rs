//! `propositional_logic`: a formula that follows from premises.
//!
//! Unlike in reasoning-gym the premises never contradict each other, and something new always follows.
//! The formulas are those of [`formula`]; [`question_generator`] writes questions, [`verifier`] says whether an answer is new.

mod config;
mod formula;
mod question_generator;
mod truth_table;
mod verifier;

pub use config::PropositionalLogicConfig;

use super::question_template::QuestionTemplate;
use super::{Scoring, Task};
use crate::rollout::Question;
use crate::seed::Seed;
use formula::{Atoms, Formula};
use question_generator::Generated;
use serde_json::{Value, json};
use std::fmt::Write as _;
use truth_table::entails;
use verifier::{Problem, in_symbols, is_new};

const NAME: &str = "propositional_logic";

const INSTRUCTION: &str = "Find a formula that follows from these premises and says something new: it must not be always true, \
     only repeat premises, or name a variable that it could do without. Answer with the formula, in the symbols \
     ∧ ∨ ¬ → ↔.";

/// Rewards of reasoning-gym for formulas that do not follow, and for those that follow from anything.
const INVALID: f64 = 0.05;
const TRIVIAL: f64 = 0.25;

/// The task.
pub struct PropositionalLogic {
    config: PropositionalLogicConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl PropositionalLogic {
    /// The task with a valid configuration.
    pub fn new(config: PropositionalLogicConfig, scoring: Scoring) -> Self {
        let c = &config;
        let difficulty = json!({
            "vars": [c.min_vars, c.max_vars],
            "statements": [c.min_statements, c.max_statements],
            "complexity": [c.min_complexity, c.max_complexity],
        });
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }
}

impl Task for PropositionalLogic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let Generated {
            variables,
            premises,
            example,
            parts,
        } = question_generator::question(&mut seed.rng(), &self.config);
        let mut text = String::with_capacity(INSTRUCTION.len() + 40 * premises.len());
        for (i, premise) in premises.iter().enumerate() {
            writeln!(text, "{}. {premise}", i + 1).expect("a String takes any text");
        }
        text.push_str(INSTRUCTION);
        self.template.question(text, None, move || {
            json!({
                "premises": premises,
                "variables": variables,
                "complexity": parts,
                "example_answer": example,
            })
        })
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let premises = strings(question.metadata.get("premises"));
        let variables = strings(question.metadata.get("variables"));
        match self.scoring {
            Scoring::ReasoningGym => library_score(&premises, &variables, answer),
            Scoring::Exact => f64::from(is_new(&premises, &variables, &in_symbols(answer))),
        }
    }
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |list| {
            list.iter().filter_map(Value::as_str).collect()
        })
}

/// What reasoning-gym gives.
fn library_score(premises: &[&str], variables: &[&str], answer: &str) -> f64 {
    let declared = |c: char| {
        variables
            .iter()
            .any(|name| name.len() == 1 && name.starts_with(c))
    };
    if answer
        .chars()
        .any(|c| c.is_ascii_uppercase() && !declared(c))
    {
        return 0.0;
    }
    let mut atoms = Atoms::default();
    let Some(answer) = Formula::read(answer, &mut atoms) else {
        return 0.0;
    };
    let Some(problem) = Problem::read(premises, answer, &mut atoms) else {
        return INVALID;
    };
    let Some(table) = problem.answer.table(problem.words) else {
        return INVALID;
    };
    let trivial = problem.answer.nodes.len() == 1 || table.iter().all(|&word| word == !0);
    match entails(&problem.all, &table) {
        false => INVALID,
        true if trivial => TRIVIAL,
        true => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    fn scores(premises: &[&str], answer: &str) -> (f64, f64) {
        let own = json!({"premises": premises, "variables": ["P", "Q", "R"]});
        let question = entry(NAME, None, own);
        let task = |scoring| PropositionalLogic::new(PropositionalLogicConfig::default(), scoring);
        (
            task(Scoring::ReasoningGym).score(&question, answer),
            task(Scoring::Exact).score(&question, answer),
        )
    }

    #[test]
    fn something_new_in_any_notation() {
        for answer in [
            "Q",
            "(Q)",
            "¬¬Q",
            "Q ∧ P",
            "Q ∧ Q",
            "Q ∨ Q",
            "P <-> Q",
            "P & Q",
            "¬(¬Q ∨ ¬P)",
            "~~Q",
            "Q && (P -> Q)",
            "Q ∨ (R ∧ ¬R)",
            "(P → Q) ∧ (Q → P)",
            "P ∧ (P → Q) ∧ Q",
        ] {
            assert_eq!(scores(&["P", "(P → Q)"], answer).1, 1.0, "{answer}");
        }
        assert_eq!(scores(&["(P ∧ Q)"], "Q").1, 1.0);
        assert_eq!(scores(&["(P → Q)", "(Q → R)"], "P → R"), (1.0, 1.0));
        assert_eq!(scores(&["(P ∨ Q)", "(P → R)", "(Q → R)"], "R").1, 1.0);
        assert_eq!(scores(&["(P ↔ Q)", "(P ∨ Q)"], "P ∧ Q"), (1.0, 1.0));
    }

    #[test]
    fn nothing_new() {
        let premises = ["P", "(P → Q)"];
        for answer in [
            "P",
            "¬¬P",
            "P ∧ P",
            "P ∧ (P → Q)",
            "(P → Q) ∧ P",
            "¬(¬P ∨ ¬(P → Q))",
            "P → Q",
            "¬P ∨ Q",
            "P ∨ Q",
            "P ∨ R",
            "Q ∨ R",
            "R → P",
            "P ∨ ¬P",
            "P ∨ Q ∨ R",
            "¬(¬P ∧ ¬R)",
            "R",
            "P ∨ p",
            "q",
            "",
            "Q or Q",
            "Q.",
            "P Q",
            "¬Q",
            "∧",
            "((",
            "The formula Q",
        ] {
            assert_eq!(scores(&premises, answer).1, 0.0, "{answer}");
        }
        for answer in [
            "P ∧ (P → Q) ∧ (P ∨ R)",
            "P ∧ (Q ∨ R)",
            "P ∧ ¬¬(P → Q) ∧ (R ∨ ¬R)",
        ] {
            assert_eq!(scores(&premises, answer).1, 0.0, "{answer}");
        }
        assert_eq!(scores(&["(P ∧ Q)", "R"], "(P ∧ Q) ∧ R").1, 0.0);
        assert_eq!(
            scores(&["P", "Q"], "(P ↔ Q)").1,
            scores(&["P", "Q"], "(P → Q) ∧ (Q → P)").1
        );
        assert_eq!(scores(&["P", "¬P"], "Q ∧ P").1, 0.0);
        assert_eq!(scores(&["(P ∨ ¬P)"], "P ∨ ¬P").1, 0.0);
    }

    #[test]
    fn partial_credit_of_the_library() {
        let premises = ["P", "(P → Q)"];
        for (answer, score) in [
            ("Q", 0.25),
            ("P ∨ ¬P", 0.25),
            ("Q ∧ Q", 1.0),
            ("P ∨ Q", 1.0),
            ("R ∧ P", 0.05),
            ("garbage", 0.05),
            ("The formula", 0.0),
            ("P ∧", 0.0),
            ("", 0.0),
        ] {
            assert_eq!(scores(&premises, answer).0, score, "{answer}");
        }
    }

    #[test]
    fn every_question_has_an_answer_at_every_setting() {
        let base = PropositionalLogicConfig::default();
        let settings = [
            PropositionalLogicConfig {
                min_vars: 1,
                max_vars: 2,
                max_statements: 2,
                max_complexity: 1,
                ..base.clone()
            },
            PropositionalLogicConfig {
                min_statements: 1,
                max_statements: 1,
                max_complexity: 2,
                ..base.clone()
            },
            PropositionalLogicConfig {
                max_vars: 11,
                max_statements: 50,
                max_complexity: 8,
                ..base.clone()
            },
            PropositionalLogicConfig {
                min_vars: 11,
                max_vars: 11,
                min_statements: 1,
                max_statements: 1,
                ..base
            },
        ];
        for config in settings {
            assert_eq!(config.validate(), Ok(()));
            let task = |scoring| PropositionalLogic::new(config.clone(), scoring);
            for seed in 0..20 {
                let question = task(Scoring::Exact).question(Seed::new(seed));
                let example = question.metadata["example_answer"].as_str().unwrap();
                assert_eq!(
                    task(Scoring::Exact).score(&question, example),
                    1.0,
                    "{question:?}"
                );
                assert_eq!(
                    task(Scoring::ReasoningGym).score(&question, example),
                    1.0,
                    "{question:?}"
                );
            }
        }
        let Generated {
            premises, example, ..
        } = question_generator::simplest(&PropositionalLogicConfig::default());
        assert_eq!(
            scores(
                &premises.iter().map(String::as_str).collect::<Vec<_>>(),
                &example
            ),
            (1.0, 1.0)
        );
        assert_eq!(scores(&["(P ∧ Q)"], "(P ↔ Q)"), (1.0, 1.0));
    }

    #[test]
    fn settings_without_answers_are_errors() {
        let config = PropositionalLogicConfig {
            min_vars: 1,
            max_vars: 1,
            ..Default::default()
        };
        assert!(
            config
                .validate()
                .unwrap_err()
                .starts_with("max_vars = 1: expected 2 to 11")
        );
        let mut config = PropositionalLogicConfig {
            max_complexity: 1,
            min_statements: 1,
            ..Default::default()
        };
        config.max_statements = 1;
        assert!(
            config
                .validate()
                .unwrap_err()
                .starts_with("max_statements = 1: expected 2 to 50")
        );
    }
}
