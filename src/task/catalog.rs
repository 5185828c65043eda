//! Every task by its registered name.

use super::arc_1d::{Arc1d, Arc1dConfig};
use super::base_conversion::{BaseConversion, BaseConversionConfig};
use super::basic_arithmetic::{BasicArithmetic, BasicArithmeticConfig};
use super::bf::{Bf, BfConfig};
use super::binary_matrix::{BinaryMatrix, BinaryMatrixConfig};
use super::calendar_arithmetic::{CalendarArithmetic, CalendarArithmeticConfig};
use super::decimal_arithmetic::{DecimalArithmetic, DecimalArithmeticConfig};
use super::fraction_simplification::{FractionSimplification, FractionSimplificationConfig};
use super::propositional_logic::{PropositionalLogic, PropositionalLogicConfig};
use super::{Scoring, Task};
use serde::{Deserialize, Serialize};
use strsim::levenshtein;

/// A field of a task's table.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its value where none is given.
    pub default: serde_json::Value,
    /// What it may hold, in words.
    pub range: &'static str,
}

/// Makes the list of names, the tables of configurations and the constructor from one line a task.
macro_rules! catalog {
    ($($(#[$doc:meta])* $name:ident: $task:ident, $config:ident;)*) => {
        /// A table a task that says how hard its questions are; without one the defaults hold.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct TaskConfigs {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$config>,)*
        }

        /// The registered names of all tasks.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The task of this name with its configuration.
        ///
        /// # Errors
        /// Names the tasks that there are, or the field that is wrong.
        pub fn build(name: &str, configs: &TaskConfigs, scoring: Scoring) -> Result<Box<dyn Task>, String> {
            match name {
                $(stringify!($name) => {
                    let config = configs.$name.clone().unwrap_or_default();
                    config.validate().map_err(|problem| format!("{name}: {problem}"))?;
                    Ok(Box::new($task::new(config, scoring)))
                })*
                _ => Err(unknown(name)),
            }
        }

        /// The fields of a task's table; `None` for an unknown task.
        pub fn fields(name: &str) -> Option<Vec<Field>> {
            let (defaults, ranges) = match name {
                $(stringify!($name) => (serde_json::to_value($config::default()), $config::RANGES),)*
                _ => return None,
            };
            let defaults = defaults.ok()?;
            let field = |&(name, range): &(&'static str, &'static str)| Field { name, default: defaults[name].clone(), range };
            Some(ranges.iter().map(field).collect())
        }
    };
}

catalog! {
    /// Integer expressions.
    basic_arithmetic: BasicArithmetic, BasicArithmeticConfig;
    /// Numbers from base to base.
    base_conversion: BaseConversion, BaseConversionConfig;
    /// Distances in a matrix.
    binary_matrix: BinaryMatrix, BinaryMatrixConfig;
    /// Rows by a rule.
    arc_1d: Arc1d, Arc1dConfig;
    /// Brainfuck programs.
    bf: Bf, BfConfig;
    /// Conclusions from premises.
    propositional_logic: PropositionalLogic, PropositionalLogicConfig;
    /// Fractions in lowest terms.
    fraction_simplification: FractionSimplification, FractionSimplificationConfig;
    /// Expressions of decimal numbers.
    decimal_arithmetic: DecimalArithmetic, DecimalArithmeticConfig;
    /// Dates and weekdays.
    calendar_arithmetic: CalendarArithmetic, CalendarArithmeticConfig;
}

/// Says which names there are, and which one may have been meant.
fn unknown(name: &str) -> String {
    let closest = NAMES
        .iter()
        .min_by_key(|known| levenshtein(name, known))
        .filter(|known| levenshtein(name, known) <= 3);
    let hint = closest
        .map(|known| format!(", did you mean {known:?}?"))
        .unwrap_or_default();
    format!("unknown task {name:?}{hint} (tasks: {})", NAMES.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_get_a_hint() {
        let message = |name| {
            build(name, &TaskConfigs::default(), Scoring::Exact)
                .err()
                .unwrap()
        };
        assert!(message("basic_arithmetics").starts_with(
            "unknown task \"basic_arithmetics\", did you mean \"basic_arithmetic\"? (tasks: basic_arithmetic, "
        ));
        assert!(message("chess").starts_with("unknown task \"chess\" (tasks: "));
    }

    #[test]
    fn every_field_has_a_range() {
        for name in NAMES {
            let configs: TaskConfigs =
                serde_json::from_value(serde_json::json!({*name: {}})).unwrap();
            let table = serde_json::to_value(&configs).unwrap();
            let mut known: Vec<String> = table[name].as_object().unwrap().keys().cloned().collect();
            let mut listed: Vec<String> = fields(name)
                .unwrap()
                .iter()
                .map(|f| f.name.to_owned())
                .collect();
            known.sort();
            listed.sort();
            assert_eq!(known, listed, "{name}");
        }
        assert!(fields("chess").is_none());
    }

    #[test]
    fn bad_fields_are_named_with_their_task() {
        let configs: TaskConfigs = toml::from_str("[binary_matrix]\np_zero = 0.0").unwrap();
        let message = build("binary_matrix", &configs, Scoring::Exact)
            .err()
            .unwrap();
        assert_eq!(
            message,
            "binary_matrix: p_zero = 0: expected more than 0 and at most 1"
        );
        let unknown = toml::from_str::<TaskConfigs>("[binary_matrix]\nzeros = 1")
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains("zeros") && unknown.contains("p_zero"),
            "{unknown}"
        );
    }
}
