//! How each task gets harder, level by level, as data: attributes and their levels are reasoning-gym's.
//!
//! [`at_level`] turns a level into the fields of the task's configuration.

use serde_json::{Map, Value, json};

/// The values that an attribute takes, the easiest first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Levels {
    /// Whole numbers.
    Integers(&'static [i64]),
    /// Other numbers.
    Numbers(&'static [f64]),
    /// Lists of names.
    Names(&'static [&'static [&'static str]]),
}

/// What a level sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One field, to the value of the level.
    Scalar,
    /// `min_` and `max_`, from the first value to that of the level.
    Range,
    /// The same, but to the value of the next level where there is one, so that the two ends differ.
    Interval,
}

/// One thing that makes a task harder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attribute {
    /// Its name in reasoning-gym's curriculum.
    pub name: &'static str,
    /// The field that it sets; of a range the part after `min_` and `max_`.
    pub field: &'static str,
    /// Its values.
    pub levels: Levels,
    /// Which fields it sets.
    pub kind: Kind,
}

const fn integers(
    name: &'static str,
    field: &'static str,
    kind: Kind,
    levels: &'static [i64],
) -> Attribute {
    Attribute {
        name,
        field,
        levels: Levels::Integers(levels),
        kind,
    }
}

use Kind::{Interval, Range, Scalar};

const BASIC_ARITHMETIC: &[Attribute] = &[
    integers("num_terms", "terms", Range, &[2, 3, 4, 5, 6]),
    integers("num_digits", "digits", Range, &[1, 2, 3, 4]),
];
const BASE_CONVERSION: &[Attribute] = &[
    integers("base", "base", Interval, &[2, 9, 18, 27, 36]),
    integers(
        "value",
        "value",
        Interval,
        &[1_000, 10_000, 100_000, 1_000_000],
    ),
];
const BINARY_MATRIX: &[Attribute] = &[
    Attribute {
        name: "p_zero",
        field: "p_zero",
        levels: Levels::Numbers(&[0.5, 0.25, 0.1, 0.05]),
        kind: Scalar,
    },
    integers("n", "n", Range, &[10, 25, 50, 100]),
];
const ARC_1D: &[Attribute] = &[integers("size", "size", Range, &[10, 25, 50, 100])];
const BF: &[Attribute] = &[integers("difficulty", "difficulty", Scalar, &[1, 2, 3])];
const PROPOSITIONAL_LOGIC: &[Attribute] = &[
    integers("vars", "vars", Range, &[2, 4, 6, 8, 10]),
    integers("statements", "statements", Range, &[2, 4, 6, 8, 10]),
    integers("complexity", "complexity", Range, &[1, 2, 3, 4, 5]),
];
const FRACTION_SIMPLIFICATION: &[Attribute] = &[
    integers("value", "value", Interval, &[1, 100, 1_000, 10_000]),
    integers("factor", "factor", Interval, &[1, 10, 100, 1_000]),
];
const DECIMAL_ARITHMETIC: &[Attribute] = &[
    integers(
        "decimal_places",
        "num_decimal_places",
        Interval,
        &[2, 4, 6, 8],
    ),
    integers("precision", "precision", Scalar, &[6, 8, 10, 12]),
    integers("num_terms", "terms", Range, &[2, 5, 8, 10]),
];
const CALENDAR_ARITHMETIC: &[Attribute] = &[
    Attribute {
        name: "tasks",
        field: "tasks",
        levels: Levels::Names(CALENDAR_KINDS),
        kind: Scalar,
    },
    integers(
        "offset_upper_bound",
        "offset_upper_bound",
        Scalar,
        &[30, 100, 250, 365],
    ),
];
const CALENDAR_KINDS: &[&[&str]] = &[
    &["weekday_of_date"],
    &["weekday_of_date", "is_leap_year", "weekday_offset"],
    &[
        "weekday_of_date",
        "is_leap_year",
        "weekday_offset",
        "count_days",
        "count_business_days",
    ],
    &[
        "weekday_of_date",
        "is_leap_year",
        "weekday_offset",
        "count_days",
        "count_business_days",
        "weekday_of_date_from_first_date",
        "recurring_event_day",
    ],
];

/// The attributes of a task, by its registered name; none for an unknown one.
pub fn attributes(task: &str) -> &'static [Attribute] {
    match task {
        "basic_arithmetic" => BASIC_ARITHMETIC,
        "base_conversion" => BASE_CONVERSION,
        "binary_matrix" => BINARY_MATRIX,
        "arc_1d" => ARC_1D,
        "bf" => BF,
        "propositional_logic" => PROPOSITIONAL_LOGIC,
        "fraction_simplification" => FRACTION_SIMPLIFICATION,
        "decimal_arithmetic" => DECIMAL_ARITHMETIC,
        "calendar_arithmetic" => CALENDAR_ARITHMETIC,
        _ => &[],
    }
}

impl Levels {
    /// How many levels there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Numbers(values) => values.len(),
            Self::Names(values) => values.len(),
        }
    }

    /// The value of a level, the last one for a higher level.
    pub fn value(&self, level: usize) -> Value {
        let level = level.min(self.count() - 1);
        match self {
            Self::Integers(values) => json!(values[level]),
            Self::Numbers(values) => json!(values[level]),
            Self::Names(values) => json!(values[level]),
        }
    }
}

impl Attribute {
    /// The fields that this attribute sets at a level.
    pub fn fields(&self, level: usize) -> Vec<(String, Value)> {
        let [min, max] = ["min", "max"].map(|end| format!("{end}_{}", self.field));
        let level = level.min(self.levels.count() - 1);
        match self.kind {
            Scalar => vec![(self.field.to_owned(), self.levels.value(level))],
            Range => vec![(min, self.levels.value(0)), (max, self.levels.value(level))],
            Interval => vec![
                (min, self.levels.value(0)),
                (max, self.levels.value(level + 1)),
            ],
        }
    }
}

/// The fields of a task's configuration with every attribute at this level, capped at its highest.
pub fn at_level(task: &str, level: usize) -> Map<String, Value> {
    attributes(task)
        .iter()
        .flat_map(|attribute| attribute.fields(level))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_by_hand() {
        assert_eq!(
            Value::from(at_level("arc_1d", 1)),
            json!({"min_size": 10, "max_size": 25})
        );
        assert_eq!(
            Value::from(at_level("base_conversion", 0)),
            json!({"min_base": 2, "max_base": 9, "min_value": 1000, "max_value": 10_000})
        );
        assert_eq!(Value::from(at_level("base_conversion", 9))["max_base"], 36);
        assert_eq!(
            Value::from(at_level("binary_matrix", 2)),
            json!({"p_zero": 0.1, "min_n": 10, "max_n": 50})
        );
        assert_eq!(at_level("bf", 7)["difficulty"], 3);
        assert_eq!(
            at_level("calendar_arithmetic", 0)["tasks"],
            json!(["weekday_of_date"])
        );
        assert!(at_level("chess", 0).is_empty());
    }
}
