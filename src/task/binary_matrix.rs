//! `binary_matrix`: for every cell of a square 0/1 matrix the distance to the nearest 0.
//!
//! Where reasoning-gym evaluates the answer as a program, nested lists are read by [`python_literal`].

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, python_literal, validation};
use crate::rollout::Question;
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write as _;

const NAME: &str = "binary_matrix";

/// Reward of reasoning-gym for the right matrix in another notation.
const OTHER_NOTATION: f64 = 0.1;

const INSTRUCTION: &str = "Replace each number by its distance to the nearest 0, in steps up, down, left or right. \
                           Keep the layout: one row a line, spaces between numbers.\n";

/// Keeps a question within memory.
const LARGEST: usize = 1000;

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BinaryMatrixConfig {
    /// Fewest rows and columns.
    pub min_n: usize,
    /// Most rows and columns.
    pub max_n: usize,
    /// Probability of a 0; one cell is always 0.
    pub p_zero: f64,
}

impl Default for BinaryMatrixConfig {
    fn default() -> Self {
        Self {
            min_n: 3,
            max_n: 10,
            p_zero: 0.25,
        }
    }
}

impl BinaryMatrixConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_n", "1 to 1000"),
        ("max_n", "min_n to 1000"),
        ("p_zero", "more than 0, to 1"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        validation::range("n", [self.min_n, self.max_n], [1, LARGEST])?;
        if !(self.p_zero > 0.0 && self.p_zero <= 1.0) {
            return Err(format!(
                "p_zero = {}: expected more than 0 and at most 1",
                self.p_zero
            ));
        }
        Ok(())
    }
}

/// The task.
pub struct BinaryMatrix {
    config: BinaryMatrixConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl BinaryMatrix {
    /// The task with a valid configuration.
    pub fn new(config: BinaryMatrixConfig, scoring: Scoring) -> Self {
        let difficulty = json!({"n": [config.min_n, config.max_n], "p_zero": config.p_zero});
        let template = QuestionTemplate::new(NAME, difficulty);
        Self {
            config,
            scoring,
            template,
        }
    }
}

impl Task for BinaryMatrix {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let c = &self.config;
        let mut rng = seed.rng();
        let n = rng.int(c.min_n as i64, c.max_n as i64) as usize;
        let mut matrix = vec![0; n * n];
        matrix[1..].fill_with(|| u32::from(rng.uniform() >= c.p_zero));
        rng.shuffle(&mut matrix);

        let solution = distances(&matrix, n);
        let text = format!("{INSTRUCTION}{}", in_lines(&matrix, n));
        let answer = in_lines(&solution, n);
        self.template.question(text, Some(answer), move || {
            let rows = |cells: &[u32]| cells.chunks(n).collect::<Value>();
            json!({"matrix": rows(&matrix), "solution": rows(&solution), "n": n})
        })
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question.answer.as_deref() else {
            return 0.0;
        };
        match self.scoring {
            Scoring::ReasoningGym if answer == oracle && !answer.is_empty() => 1.0,
            Scoring::ReasoningGym => match python_literal::rows(answer) {
                Some(rows) if rows == oracle && !rows.is_empty() => OTHER_NOTATION,
                _ => 0.0,
            },
            Scoring::Exact => {
                let right = numbers(oracle);
                let given = numbers(
                    &python_literal::rows(answer.trim()).unwrap_or_else(|| answer.to_owned()),
                );
                f64::from(right.is_some() && given == right)
            }
        }
    }
}

/// Steps from every cell to the nearest 0, of a matrix row by row: once down and right, once up and left.
fn distances(matrix: &[u32], n: usize) -> Vec<u32> {
    let far = 2 * n as u32;
    let mut steps: Vec<u32> = matrix.iter().map(|&cell| cell * far).collect();
    for r in 0..n {
        let mut left = far;
        for at in r * n..(r + 1) * n {
            let above = if r > 0 { steps[at - n] } else { far };
            left = steps[at].min(above + 1).min(left + 1);
            steps[at] = left;
        }
    }
    for r in (0..n).rev() {
        let mut right = far;
        for at in (r * n..(r + 1) * n).rev() {
            let below = if r + 1 < n { steps[at + n] } else { far };
            right = steps[at].min(below + 1).min(right + 1);
            steps[at] = right;
        }
    }
    steps
}

/// One row per line, with single spaces between the numbers.
fn in_lines(matrix: &[u32], n: usize) -> String {
    let mut text = String::new();
    for (i, cell) in matrix.iter().enumerate() {
        if i > 0 {
            text.push(if i % n == 0 { '\n' } else { ' ' });
        }
        write!(text, "{cell}").expect("a String takes any text");
    }
    text
}

/// The rows of numbers, with any spaces or commas between them; `None` where something else stands there.
fn numbers(text: &str) -> Option<Vec<Vec<u32>>> {
    let cells = |line: &str| {
        let words = line
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty());
        words
            .map(|word| word.parse().ok())
            .collect::<Option<Vec<u32>>>()
    };
    let rows: Vec<Vec<u32>> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(cells)
        .collect::<Option<_>>()?;
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    #[test]
    fn distances_agree_with_a_search_of_all_zeros() {
        let task = BinaryMatrix::new(
            BinaryMatrixConfig {
                p_zero: 0.05,
                ..Default::default()
            },
            Scoring::Exact,
        );
        for i in 0..200 {
            let metadata = task.question(Seed::new(i)).metadata;
            let matrix: Vec<Vec<u32>> = serde_json::from_value(metadata["matrix"].clone()).unwrap();
            let solution: Vec<Vec<u32>> =
                serde_json::from_value(metadata["solution"].clone()).unwrap();
            let cells = || (0..matrix.len()).flat_map(|r| (0..matrix.len()).map(move |c| (r, c)));
            for (r, c) in cells() {
                let zeros = cells().filter(|&(y, x)| matrix[y][x] == 0);
                let nearest = zeros
                    .map(|(y, x)| y.abs_diff(r) + x.abs_diff(c))
                    .min()
                    .unwrap();
                assert_eq!(solution[r][c] as usize, nearest);
            }
        }
    }

    #[test]
    fn scores_of_other_notations() {
        let question = entry(NAME, Some("0 1\n1 0"), json!({}));
        let check = |answer: &str, library: f64, exact: f64| {
            let score = |scoring| {
                BinaryMatrix::new(BinaryMatrixConfig::default(), scoring).score(&question, answer)
            };
            assert_eq!(
                (score(Scoring::ReasoningGym), score(Scoring::Exact)),
                (library, exact),
                "{answer:?}"
            );
        };
        check("0 1\n1 0", 1.0, 1.0);
        check("0 1\n1 0\n", 0.0, 1.0);
        check("0  1\r\n\n 1 0 ", 0.0, 1.0);
        check("[[0, 1], [1, 0]]", 0.1, 1.0);
        check("0 1\n1 0\n0", 0.0, 0.0);
        check("0 1 1 0", 0.0, 0.0);
        check("01\n10", 0.0, 0.0);
        check("0 1\n1 1", 0.0, 0.0);
        check("0 1\n1 0 or maybe not", 0.0, 0.0);
        check("", 0.0, 0.0);
        check("[]", 0.0, 0.0);
    }
}
