//! How hard premises are.

use crate::task::validation;
use serde::{Deserialize, Serialize};

/// As many as there are letters from P to Z.
const MAX_VARIABLES: usize = 11;

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PropositionalLogicConfig {
    /// Fewest variables.
    pub min_vars: usize,
    /// Most variables.
    pub max_vars: usize,
    /// Fewest premises.
    pub min_statements: usize,
    /// Most premises.
    pub max_statements: usize,
    /// Least depth of a premise.
    pub min_complexity: u32,
    /// Greatest depth of a premise.
    pub max_complexity: u32,
}

impl Default for PropositionalLogicConfig {
    fn default() -> Self {
        Self {
            min_vars: 2,
            max_vars: 4,
            min_statements: 2,
            max_statements: 4,
            min_complexity: 1,
            max_complexity: 3,
        }
    }
}

impl PropositionalLogicConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("min_vars", "1 to 11"),
        ("max_vars", "min_vars to 11, at least 2"),
        ("min_statements", "1 to 50"),
        ("max_statements", "min_statements to 50"),
        ("min_complexity", "1 to 8"),
        ("max_complexity", "min_complexity to 8"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        validation::range("vars", [self.min_vars, self.max_vars], [1, MAX_VARIABLES])?;
        validation::range(
            "statements",
            [self.min_statements, self.max_statements],
            [1, 50],
        )?;
        validation::range(
            "complexity",
            [self.min_complexity, self.max_complexity],
            [1, 8],
        )?;
        if self.max_vars == 1 {
            return Err(
                "max_vars = 1: expected 2 to 11, as nothing new follows about a single variable"
                    .to_owned(),
            );
        }
        if self.max_statements == 1 && self.max_complexity == 1 {
            return Err("max_statements = 1: expected 2 to 50 with max_complexity = 1, as nothing new follows from a \
                        single variable"
                .to_owned());
        }
        Ok(())
    }
}
