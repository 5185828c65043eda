//! `calendar_arithmetic`: weekdays, numbers of days and leap years.
//!
//! Unlike in reasoning-gym every date is printed with the year it lies in, and a year without a number
//! is said to be a leap year or not. The questions are in [`question_kinds`].

mod config;
mod question_kinds;

pub use config::{CalendarArithmeticConfig, CalendarKind};

use super::question_template::QuestionTemplate;
use super::{Scoring, Task, python_text, score};
use crate::rollout::Question;
use crate::seed::Seed;
use config::WEEKDAYS;
use question_kinds::CalendarQuestion;
use serde_json::{Value, json};

const NAME: &str = "calendar_arithmetic";

/// Rewards of reasoning-gym for another weekday, and for a weekday in other letters, even the right one.
const OTHER_WEEKDAY: f64 = 0.1;
const OTHER_CASE: f64 = 0.05;

/// How fast the reward of reasoning-gym falls with the relative error of a number.
const FALL: f64 = 5.0;

/// The task.
pub struct CalendarArithmetic {
    config: CalendarArithmeticConfig,
    scoring: Scoring,
    template: QuestionTemplate,
}

impl CalendarArithmetic {
    /// The task with a valid configuration.
    pub fn new(config: CalendarArithmeticConfig, scoring: Scoring) -> Self {
        let difficulty =
            json!({"tasks": config.tasks, "offset_upper_bound": config.offset_upper_bound});
        Self {
            config,
            scoring,
            template: QuestionTemplate::new(NAME, difficulty),
        }
    }
}

impl Task for CalendarArithmetic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn question(&self, seed: Seed) -> Question {
        let c = &self.config;
        let mut rng = seed.rng();
        let kind = *rng.choose(&c.tasks);
        let CalendarQuestion {
            text,
            answer,
            metadata,
        } = question_kinds::generate(kind, c, &mut rng);
        self.template.question(text, Some(answer), || metadata)
    }

    fn score(&self, question: &Question, answer: &str) -> f64 {
        let Some(oracle) = question
            .answer
            .as_deref()
            .filter(|oracle| !oracle.is_empty())
        else {
            return 0.0;
        };
        let kind = question
            .metadata
            .get("task")
            .and_then(Value::as_str)
            .and_then(CalendarKind::of);
        let Some(kind) = kind else { return 0.0 };
        let exact = self.scoring == Scoring::Exact;
        let given = python_text::strip(answer);
        match kind {
            CalendarKind::IsLeapYear => f64::from(given.to_lowercase() == oracle.to_lowercase()),
            CalendarKind::RecurringEventDay
            | CalendarKind::CountDays
            | CalendarKind::CountBusinessDays => {
                if exact {
                    score::same_integer(oracle, answer)
                } else {
                    closeness(oracle, answer)
                }
            }
            _ if given == oracle => 1.0,
            _ if exact => f64::from(given.eq_ignore_ascii_case(oracle)),
            _ if WEEKDAYS.contains(&given) => OTHER_WEEKDAY,
            _ if WEEKDAYS.iter().any(|name| name.eq_ignore_ascii_case(given)) => OTHER_CASE,
            _ => 0.0,
        }
    }
}

/// What reasoning-gym gives for a number: 1 for the right one, and less the further it is off.
fn closeness(oracle: &str, answer: &str) -> f64 {
    let (Some(oracle), Some(answer)) = (python_text::int(oracle), python_text::int(answer)) else {
        return 0.0;
    };
    if answer == oracle {
        return 1.0;
    }
    match (i64::try_from(answer), i64::try_from(oracle)) {
        (Ok(answer), Ok(oracle)) if oracle > 0 => {
            (-FALL * answer.abs_diff(oracle) as f64 / oracle as f64).exp()
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;

    fn scores(kind: &str, oracle: &str, answer: &str) -> (f64, f64) {
        let question = entry(NAME, Some(oracle), json!({"task": kind}));
        let task = |scoring| CalendarArithmetic::new(CalendarArithmeticConfig::default(), scoring);
        (
            task(Scoring::ReasoningGym).score(&question, answer),
            task(Scoring::Exact).score(&question, answer),
        )
    }

    #[test]
    fn weekdays_yes_and_no() {
        for (answer, library, exact) in [
            ("Monday", 1.0, 1.0),
            (" Monday\n", 1.0, 1.0),
            ("monday", 0.05, 1.0),
            ("Tuesday", 0.1, 0.0),
            ("TUESDAY", 0.05, 0.0),
            ("Mon", 0.0, 0.0),
            ("Monday Tuesday", 0.0, 0.0),
            ("", 0.0, 0.0),
        ] {
            assert_eq!(
                scores("weekday_of_date", "Monday", answer),
                (library, exact),
                "{answer:?}"
            );
        }
        assert_eq!(scores("is_leap_year", "Yes", " yes "), (1.0, 1.0));
        assert_eq!(scores("is_leap_year", "Yes", "Yes or No"), (0.0, 0.0));
        assert_eq!(scores("teatime", "Yes", "Yes"), (0.0, 0.0));
    }

    #[test]
    fn numbers_lose_by_their_distance() {
        assert_eq!(scores("count_days", "10", " +10"), (1.0, 1.0));
        assert_eq!(scores("count_days", "10", "10 or 11"), (0.0, 0.0));
        let (library, exact) = scores("count_days", "10", "9");
        assert!((library - 0.606_530_659_712_633).abs() < 1e-12 && exact == 0.0);
        assert_eq!(scores("count_days", "0", "0"), (1.0, 1.0));
        assert_eq!(scores("count_days", "0", "1"), (0.0, 0.0));
        assert_eq!(scores("count_days", "-1", "5").0, 0.0);
        assert_eq!(scores("count_days", "5", &"9".repeat(400)), (0.0, 0.0));
    }

    #[test]
    fn extreme_settings_are_asked_without_end() {
        for (year, offset_upper_bound) in [(1, 100_000), (9999, 100_000), (2024, 1), (4, 365)] {
            let config = CalendarArithmeticConfig {
                year,
                offset_upper_bound,
                leap_year_range: 3000,
                ..Default::default()
            };
            assert_eq!(config.validate(), Ok(()));
            let task = CalendarArithmetic::new(config, Scoring::Exact);
            for seed in 0..500 {
                let question = task.question(Seed::new(seed));
                assert_eq!(
                    task.score(&question, question.answer.as_deref().unwrap()),
                    1.0,
                    "{question:?}"
                );
            }
        }
    }

    #[test]
    fn kinds_are_read_in_any_case() {
        let config: CalendarArithmeticConfig = toml::from_str("tasks = [\"Count_Days\"]").unwrap();
        assert_eq!(config.tasks, [CalendarKind::CountDays]);
        let error = toml::from_str::<CalendarArithmeticConfig>("tasks = [\"teatime\"]")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("teatime") && error.contains("weekday_offset, "),
            "{error}"
        );
    }
}
