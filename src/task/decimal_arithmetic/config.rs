//! How hard expressions of decimal numbers are.

use crate::task::validation;
use serde::{Deserialize, Serialize};

/// Keeps the digits of a number within 64 bits.
const MAX_PLACES: i64 = 17;

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
        validation::range("num_decimal_places", places, [0, MAX_PLACES])?;
        validation::range("terms", [self.min_terms, self.max_terms], [1, 50])?;
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
