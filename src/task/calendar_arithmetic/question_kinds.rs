//! The seven kinds of questions about dates, with their answers.

use super::config::{CalendarArithmeticConfig, CalendarKind, LAST_YEAR, WEEKDAYS};
use crate::seed::Rng;
use jiff::ToSpan;
use jiff::civil::{Date, Weekday, date};
use serde_json::{Value, json};

/// Each ordinal with the argument of [`Date::nth_weekday_of_month`].
const ORDINALS: [(&str, i8); 5] = [
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("fourth", 4),
    ("last", -1),
];

/// The last sentence of a question, by the kind of its answer.
const WEEKDAY_WANTED: &str = "Answer with the full name of the weekday.";
const NUMBER_WANTED: &str = "Answer with a number.";
const YES_OR_NO_WANTED: &str = "Answer Yes or No.";

/// A question about dates.
pub(super) struct CalendarQuestion {
    pub(super) text: String,
    pub(super) answer: String,
    /// The task's own metadata, a JSON object.
    pub(super) metadata: Value,
}

/// A random question of this kind.
pub(super) fn generate(
    kind: CalendarKind,
    c: &CalendarArithmeticConfig,
    rng: &mut Rng,
) -> CalendarQuestion {
    match kind {
        CalendarKind::WeekdayOffset => weekday_offset(c, rng),
        CalendarKind::WeekdayOfDate => weekday_of_date(c, rng),
        CalendarKind::WeekdayOfDateFromFirstDate => weekday_of_date_from_first_date(c, rng),
        CalendarKind::RecurringEventDay => recurring_event_day(c, rng),
        CalendarKind::CountDays => count_days(c, rng),
        CalendarKind::CountBusinessDays => count_business_days(c, rng),
        CalendarKind::IsLeapYear => is_leap_year(c, rng),
    }
}

/// The name of a day of the week.
fn name(weekday: Weekday) -> &'static str {
    WEEKDAYS[weekday.to_monday_zero_offset() as usize]
}

/// A day of the week, all equally likely.
fn random_weekday(rng: &mut Rng) -> Weekday {
    Weekday::Monday.wrapping_add(rng.below(7) as i64)
}

/// `February 29, 2024`
fn in_words(date: Date) -> String {
    date.strftime("%B %-d, %-Y").to_string()
}

impl CalendarArithmeticConfig {
    /// The first day of the year that is asked about.
    fn new_year(&self) -> Date {
        date(self.year as i16, 1, 1)
    }

    /// The first day of one of its months, all equally likely.
    fn random_month(&self, rng: &mut Rng) -> Date {
        date(self.year as i16, rng.int(1, 12) as i8, 1)
    }
}

/// A day of the year: a month, all equally likely, then a day of that month.
fn random_date(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Date {
    let first = c.random_month(rng);
    first + rng.int(0, i64::from(first.days_in_month()) - 1).days()
}

fn weekday_offset(c: &CalendarArithmeticConfig, rng: &mut Rng) -> CalendarQuestion {
    let start = random_date(c, rng);
    let days = rng.int(1, c.offset_upper_bound);
    let signed = days * rng.choose(&[-1, 1]);
    let has_years = |offset: i64| {
        let target = start.checked_add(offset.days());
        target.is_ok_and(|target| (1..=LAST_YEAR).contains(&target.year()))
    };
    let offset = if has_years(signed) { signed } else { -signed };
    let target = start + offset.days();
    let unit = if days == 1 { "day" } else { "days" };
    let side = if offset < 0 { "before" } else { "after" };
    CalendarQuestion {
        text: format!(
            "Which weekday is {days} {unit} {side} {}? {WEEKDAY_WANTED}",
            in_words(start)
        ),
        answer: name(target.weekday()).to_owned(),
        metadata: json!({
            "task": "weekday_offset",
            "start_date": start.to_string(),
            "offset_days": offset,
            "target_date": target.to_string(),
        }),
    }
}

fn weekday_of_date(c: &CalendarArithmeticConfig, rng: &mut Rng) -> CalendarQuestion {
    let date = random_date(c, rng);
    let sentence = match rng.below(3) {
        0 => format!("Which weekday is {}?", in_words(date)),
        1 => format!("Name the weekday of {}.", in_words(date)),
        _ => {
            let date = date.strftime("%m/%d/%Y");
            format!("Which weekday is {date} (month/day/year)?")
        }
    };
    CalendarQuestion {
        text: format!("{sentence} {WEEKDAY_WANTED}"),
        answer: name(date.weekday()).to_owned(),
        metadata: json!({"task": "weekday_of_date", "target_date": date.to_string()}),
    }
}

fn weekday_of_date_from_first_date(
    c: &CalendarArithmeticConfig,
    rng: &mut Rng,
) -> CalendarQuestion {
    let first_weekday = random_weekday(rng);
    let new_year = c.new_year();
    let latest = i64::from(new_year.days_in_year()) - 1;
    let days = rng.int(1, c.offset_upper_bound.min(latest));
    let target = new_year + days.days();
    let year = if target.in_leap_year() {
        "leap"
    } else {
        "common"
    };
    let first_day = name(first_weekday);
    CalendarQuestion {
        text: format!(
            "A {year} year starts on a {first_day}. Which weekday is {} of that year? {WEEKDAY_WANTED}",
            target.strftime("%B %-d")
        ),
        answer: name(first_weekday.wrapping_add(days)).to_owned(),
        metadata: json!({
            "task": "weekday_of_date_from_first_date",
            "year": c.year,
            "first_day": first_day,
            "target_date": target.to_string(),
            "delta_days": days,
        }),
    }
}

fn recurring_event_day(c: &CalendarArithmeticConfig, rng: &mut Rng) -> CalendarQuestion {
    let month = c.random_month(rng);
    let (ordinal, nth) = *rng.choose(&ORDINALS);
    let weekday = random_weekday(rng);
    let event = month
        .nth_weekday_of_month(nth, weekday)
        .expect("every month has four of each weekday");
    let weekday = name(weekday);
    CalendarQuestion {
        text: format!(
            "On which day of the month is the {ordinal} {weekday} of {}? {NUMBER_WANTED}",
            month.strftime("%B %-Y")
        ),
        answer: event.day().to_string(),
        metadata: json!({
            "task": "recurring_event_day",
            "year": c.year,
            "month": month.month(),
            "ordinal": ordinal,
            "weekday": weekday,
        }),
    }
}

/// Two dates: the first one in the configured year, the second one at most the bound and `latest` later.
fn random_span(c: &CalendarArithmeticConfig, rng: &mut Rng, latest: Date) -> (Date, Date) {
    let new_year = c.new_year();
    let start = new_year + rng.int(0, i64::from(new_year.days_in_year()) - 1).days();
    let longest = i64::from((latest - start).get_days()).min(c.offset_upper_bound);
    (start, start + rng.int(0, longest).days())
}

/// How many days from `start` to `end`, both included, are on weekdays that are wanted.
fn count(start: Date, end: Date, wanted: impl Fn(&Weekday) -> bool) -> usize {
    let days = (end - start).get_days() as usize + 1;
    let weekdays = start.weekday().cycle_forward().take(days);
    weekdays.filter(wanted).count()
}

fn count_days(c: &CalendarArithmeticConfig, rng: &mut Rng) -> CalendarQuestion {
    let (start, end) = random_span(c, rng, c.new_year().last_of_year());
    let weekday = random_weekday(rng);
    CalendarQuestion {
        text: format!(
            "How many {}s are there from {} to {}, both included? {NUMBER_WANTED}",
            name(weekday),
            in_words(start),
            in_words(end)
        ),
        answer: count(start, end, |day| *day == weekday).to_string(),
        metadata: json!({
            "task": "count_days",
            "year": c.year,
            "start_date": start.to_string(),
            "end_date": end.to_string(),
        }),
    }
}

fn count_business_days(c: &CalendarArithmeticConfig, rng: &mut Rng) -> CalendarQuestion {
    let (start, end) = random_span(c, rng, date(LAST_YEAR, 12, 31));
    let is_business_day = |day: &Weekday| !matches!(day, Weekday::Saturday | Weekday::Sunday);
    CalendarQuestion {
        text: format!(
            "How many days from Monday to Friday are there from {} to {}, both included? {NUMBER_WANTED}",
            in_words(start),
            in_words(end)
        ),
        answer: count(start, end, is_business_day).to_string(),
        metadata: json!({
            "task": "count_business_days",
            "start_date": start.to_string(),
            "end_date": end.to_string(),
        }),
    }
}

fn is_leap_year(c: &CalendarArithmeticConfig, rng: &mut Rng) -> CalendarQuestion {
    let half = c.leap_year_range / 2;
    let year = rng.int(
        (c.year - half).max(1),
        (c.year + half).min(LAST_YEAR.into()),
    );
    let is_leap = date(year as i16, 1, 1).in_leap_year();
    CalendarQuestion {
        text: format!("Is {year} a leap year? {YES_OR_NO_WANTED}"),
        answer: if is_leap { "Yes" } else { "No" }.to_owned(),
        metadata: json!({"task": "is_leap_year", "year": year, "is_leap": is_leap}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_hand() {
        let (wednesday, days) = (date(2023, 12, 20), 12.days());
        let count = |end, wanted: &[Weekday]| count(wednesday, end, |day| wanted.contains(day));
        assert_eq!(count(wednesday, &[Weekday::Wednesday]), 1);
        assert_eq!(count(wednesday, &[Weekday::Tuesday]), 0);
        assert_eq!(count(wednesday + days, &[Weekday::Monday]), 2);
        assert_eq!(count(wednesday + days, &[Weekday::Tuesday]), 1);
        assert_eq!(
            count(wednesday + days, &[Weekday::Saturday, Weekday::Sunday]),
            4
        );
    }

    #[test]
    fn dates_are_written_as_the_questions_have_them() {
        assert_eq!(in_words(date(2024, 2, 9)), "February 9, 2024");
        assert_eq!(in_words(date(7, 12, 31)), "December 31, 7");
        assert_eq!(date(7, 2, 9).strftime("%m/%d/%Y").to_string(), "02/09/0007");
        assert_eq!(date(7, 2, 9).to_string(), "0007-02-09");
        assert_eq!(name(date(1969, 7, 20).weekday()), "Sunday");
    }
}
