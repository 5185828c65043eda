//! What is asked of calendars, and how hard.

use serde::{Deserialize, Serialize};

/// Names of the days of the week.
pub(super) const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// The last year that dates lie in.
pub(super) const LAST_YEAR: i16 = 9999;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", rename_all = "snake_case")]
pub enum CalendarKind {
    /// The weekday some days before or after a date.
    WeekdayOffset,
    /// The weekday of a date.
    WeekdayOfDate,
    /// The weekday of a day in a year that starts on a given one.
    WeekdayOfDateFromFirstDate,
    /// The day of the month of, say, its third Tuesday.
    RecurringEventDay,
    /// How often a weekday occurs between two dates.
    CountDays,
    /// How many days from Monday to Friday there are between two dates.
    CountBusinessDays,
    /// Whether a year is a leap year.
    IsLeapYear,
}

/// All kinds by their names.
const KINDS: [(&str, CalendarKind); 7] = [
    ("weekday_offset", CalendarKind::WeekdayOffset),
    ("weekday_of_date", CalendarKind::WeekdayOfDate),
    (
        "weekday_of_date_from_first_date",
        CalendarKind::WeekdayOfDateFromFirstDate,
    ),
    ("recurring_event_day", CalendarKind::RecurringEventDay),
    ("count_days", CalendarKind::CountDays),
    ("count_business_days", CalendarKind::CountBusinessDays),
    ("is_leap_year", CalendarKind::IsLeapYear),
];

impl CalendarKind {
    pub(super) fn of(name: &str) -> Option<Self> {
        KINDS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }
}

impl TryFrom<String> for CalendarKind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let names = || KINDS.map(|(name, _)| name).join(", ");
        Self::of(&name.to_lowercase())
            .ok_or_else(|| format!("unknown kind {name:?}: expected one of {}", names()))
    }
}

/// How hard the questions are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalendarArithmeticConfig {
    /// The year of the dates.
    pub year: i64,
    /// What is asked, in any case of letters; one listed twice is used twice as often.
    pub tasks: Vec<CalendarKind>,
    /// Most days between two dates.
    pub offset_upper_bound: i64,
    /// Years around `year` that are asked whether they are leap years, half of them before it.
    pub leap_year_range: i64,
}

impl Default for CalendarArithmeticConfig {
    fn default() -> Self {
        Self {
            year: 2022,
            tasks: KINDS.iter().map(|(_, kind)| *kind).collect(),
            offset_upper_bound: 100,
            leap_year_range: 200,
        }
    }
}

impl CalendarArithmeticConfig {
    /// What each field may hold, in words.
    pub const RANGES: &[(&str, &str)] = &[
        ("year", "1 to 9999"),
        ("tasks", "some of the seven kinds"),
        ("offset_upper_bound", "1 to 100000"),
        ("leap_year_range", "0 to 20000"),
    ];

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first bad field, its value and what is expected.
    pub fn validate(&self) -> Result<(), String> {
        let within = |name: &str, value: i64, low: i64, high: i64| {
            let good = (low..=high).contains(&value);
            if good {
                Ok(())
            } else {
                Err(format!("{name} = {value}: expected {low} to {high}"))
            }
        };
        within("year", self.year, 1, LAST_YEAR.into())?;
        if self.tasks.is_empty() {
            return Err(format!(
                "tasks = []: expected some of {}",
                KINDS.map(|(name, _)| name).join(", ")
            ));
        }
        within("offset_upper_bound", self.offset_upper_bound, 1, 100_000)?;
        within("leap_year_range", self.leap_year_range, 0, 20_000)
    }
}
