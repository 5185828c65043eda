//! Dates of the Gregorian calendar, also before it was in use, as days from January 1 of the year 1.

use std::fmt;

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

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Name of a month, from 1 to 12.
pub(super) fn month_name(month: i64) -> &'static str {
    MONTHS[month as usize - 1]
}

/// True for a year with a February 29.
pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month.
pub(super) fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days before January 1 of a year.
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

/// A day. Shown as `2024-02-29`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
}

impl Date {
    pub(super) fn new(year: i64, month: i64, day: i64) -> Self {
        Self { year, month, day }
    }

    /// The last day that can be asked about.
    pub(super) fn last() -> Self {
        Self::new(9999, 12, 31)
    }

    /// Days since the day before January 1 of the year 1.
    pub(super) fn number(self) -> i64 {
        let months: i64 = (1..self.month)
            .map(|month| month_length(self.year, month))
            .sum();
        days_before(self.year) + months + self.day
    }

    /// The day with this number.
    pub(super) fn from_number(number: i64) -> Self {
        let mut year = number / 366 + 1;
        while days_before(year + 1) < number {
            year += 1;
        }
        let (mut month, mut day) = (1, number - days_before(year));
        while day > month_length(year, month) {
            day -= month_length(year, month);
            month += 1;
        }
        Self { year, month, day }
    }

    /// So many days later, or earlier.
    pub(super) fn plus(self, days: i64) -> Self {
        Self::from_number(self.number() + days)
    }

    /// Position in [`WEEKDAYS`].
    pub(super) fn weekday(self) -> usize {
        (self.number() - 1).rem_euclid(7) as usize
    }

    /// `February 29`
    pub(super) fn without_year(self) -> String {
        format!("{} {}", month_name(self.month), self.day)
    }

    /// `February 29, 2024`
    pub(super) fn written(self) -> String {
        format!("{} {}, {}", month_name(self.month), self.day, self.year)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        let check = |year, month, day, weekday: &str| {
            assert_eq!(
                WEEKDAYS[Date::new(year, month, day).weekday()],
                weekday,
                "{year}-{month}-{day}"
            );
        };
        check(1, 1, 1, "Monday");
        check(1969, 7, 20, "Sunday");
        check(2000, 2, 29, "Tuesday");
        check(2024, 12, 31, "Tuesday");
        check(9999, 12, 31, "Friday");
        assert_eq!(Date::new(1970, 1, 1).number(), 719_163);
    }

    #[test]
    fn every_number_has_its_day() {
        let mut date = Date::new(1, 1, 1);
        for number in (1..=Date::last().number()).filter(|n| n % 97 == 1 || n % 365 < 3) {
            let found = Date::from_number(number);
            assert_eq!(found.number(), number);
            assert!(
                found >= date
                    && found.day >= 1
                    && found.day <= month_length(found.year, found.month)
            );
            date = found;
        }
        assert_eq!(date.year, 9999);
        assert_eq!(Date::new(2024, 2, 28).plus(2).to_string(), "2024-03-01");
        assert_eq!(
            Date::new(2024, 1, 1).plus(-1).written(),
            "December 31, 2023"
        );
    }
}
