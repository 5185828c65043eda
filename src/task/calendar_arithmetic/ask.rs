//! The seven kinds of questions about dates, with their answers.

use super::super::form::written;
use super::date::{Date, WEEKDAYS, is_leap, month_length, month_name};
use super::{CalendarArithmeticConfig, CalendarKind};
use crate::seed::Rng;
use serde_json::Value;

const ORDINALS: [&str; 5] = ["first", "second", "third", "fourth", "last"];

/// Ends of the questions, by the answer that they ask for.
const WEEKDAY_WANTED: &str = "Answer with the full name of the weekday.";
const NUMBER_WANTED: &str = "Answer with a number.";
const YES_OR_NO_WANTED: &str = "Answer Yes or No.";

/// Question, answer and the values of the metadata, in the order of [`keys`] but for the first one.
pub(super) type Asked = (String, String, Vec<Value>);

/// The keys of the metadata of a kind.
pub(super) fn keys(kind: CalendarKind) -> &'static [&'static str] {
    match kind {
        CalendarKind::WeekdayOffset => &["task", "start_date", "offset_days", "target_date"],
        CalendarKind::WeekdayOfDate => &["task", "target_date"],
        CalendarKind::WeekdayOfDateFromFirstDate => {
            &["task", "year", "first_day", "target_date", "delta_days"]
        }
        CalendarKind::RecurringEventDay => &["task", "year", "month", "ordinal", "weekday"],
        CalendarKind::CountDays => &["task", "year", "start_date", "end_date"],
        CalendarKind::CountBusinessDays => &["task", "start_date", "end_date"],
        CalendarKind::IsLeapYear => &["task", "year", "is_leap"],
    }
}

/// About as long as the questions are.
const LENGTH: usize = 160;

/// A question of this kind.
pub(super) fn ask(kind: CalendarKind, c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    match kind {
        CalendarKind::WeekdayOffset => weekday_offset(c, rng),
        CalendarKind::WeekdayOfDate => weekday_of_date(c, rng),
        CalendarKind::WeekdayOfDateFromFirstDate => weekday_from_first_date(c, rng),
        CalendarKind::RecurringEventDay => recurring_event_day(c, rng),
        CalendarKind::CountDays => count_days(c, rng),
        CalendarKind::CountBusinessDays => count_business_days(c, rng),
        CalendarKind::IsLeapYear => leap_year(c, rng),
    }
}

impl CalendarArithmeticConfig {
    fn first(&self) -> Date {
        Date::new(self.year, 1, 1)
    }

    fn last(&self) -> Date {
        Date::new(self.year, 12, 31)
    }
}

/// A day of the year, the month drawn first.
fn by_month(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Date {
    let month = rng.int(1, 12);
    Date::new(c.year, month, rng.int(1, month_length(c.year, month)))
}

fn weekday_offset(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let start = by_month(c, rng);
    let days = rng.int(1, c.offset_upper_bound);
    let sign = *rng.choose(&[-1, 1]);
    // Stays between the years 1 and 9999.
    let end = start.number() + sign * days;
    let offset = if (1..=Date::last().number()).contains(&end) {
        sign * days
    } else {
        -sign * days
    };
    let target = start.plus(offset);
    let (unit, side) = (
        if days == 1 { "day" } else { "days" },
        if offset < 0 { "before" } else { "after" },
    );
    let text = written(
        LENGTH,
        format_args!(
            "Which weekday is {days} {unit} {side} {}? {WEEKDAY_WANTED}",
            start.written()
        ),
    );
    let own = vec![
        start.to_string().into(),
        offset.into(),
        target.to_string().into(),
    ];
    (text, WEEKDAYS[target.weekday()].to_owned(), own)
}

fn weekday_of_date(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let date = by_month(c, rng);
    let text = match rng.below(3) {
        0 => written(
            LENGTH,
            format_args!("Which weekday is {}? {WEEKDAY_WANTED}", date.written()),
        ),
        1 => written(
            LENGTH,
            format_args!("Name the weekday of {}. {WEEKDAY_WANTED}", date.written()),
        ),
        _ => {
            let Date { year, month, day } = date;
            written(
                LENGTH,
                format_args!(
                    "Which weekday is {month:02}/{day:02}/{year:04} (month/day/year)? {WEEKDAY_WANTED}"
                ),
            )
        }
    };
    (
        text,
        WEEKDAYS[date.weekday()].to_owned(),
        vec![date.to_string().into()],
    )
}

fn weekday_from_first_date(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let first = rng.below(7) as usize;
    let latest = c
        .offset_upper_bound
        .min(c.last().number() - c.first().number());
    let days = rng.int(1, latest);
    let target = c.first().plus(days);
    let year = if is_leap(c.year) { "leap" } else { "common" };
    let text = written(
        LENGTH,
        format_args!(
            "A {year} year starts on a {}. Which weekday is {} of that year? {WEEKDAY_WANTED}",
            WEEKDAYS[first],
            target.without_year()
        ),
    );
    let own = vec![
        c.year.into(),
        WEEKDAYS[first].into(),
        target.to_string().into(),
        days.into(),
    ];
    (text, WEEKDAYS[(first + days as usize) % 7].to_owned(), own)
}

fn recurring_event_day(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let month = rng.int(1, 12);
    let ordinal = rng.below(5) as usize;
    let weekday = rng.below(7) as usize;
    let first = 1 + (weekday + 7 - Date::new(c.year, month, 1).weekday()) as i64 % 7;
    let day = match ORDINALS[ordinal] {
        "last" => first + (month_length(c.year, month) - first) / 7 * 7,
        _ => first + 7 * ordinal as i64,
    };
    let (ordinal, weekday) = (ORDINALS[ordinal], WEEKDAYS[weekday]);
    let text = written(
        LENGTH,
        format_args!(
            "On which day of the month is the {ordinal} {weekday} of {} {}? {NUMBER_WANTED}",
            month_name(month),
            c.year
        ),
    );
    let own = vec![c.year.into(), month.into(), ordinal.into(), weekday.into()];
    (text, day.to_string(), own)
}

/// Two dates, the first of them in the year; the second up to the bound later, but not after `latest`.
fn span(c: &CalendarArithmeticConfig, rng: &mut Rng, latest: Date) -> (Date, Date) {
    let start = rng.int(c.first().number(), c.last().number());
    let end = rng.int(start, latest.number().min(start + c.offset_upper_bound));
    (Date::from_number(start), Date::from_number(end))
}

/// Days of the span, both ends included, on weekdays that are wanted.
fn count(start: Date, end: Date, wanted: impl Fn(usize) -> bool) -> i64 {
    let (days, first) = (end.number() - start.number() + 1, start.weekday());
    let of_a_week = |weekday: usize| (days + 6 - (weekday + 7 - first) as i64 % 7) / 7;
    (0..7)
        .filter(|&weekday| wanted(weekday))
        .map(of_a_week)
        .sum()
}

fn count_days(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let (start, end) = span(c, rng, c.last());
    let weekday = rng.below(7) as usize;
    let text = written(
        LENGTH,
        format_args!(
            "How many {}s are there from {} to {}, both included? {NUMBER_WANTED}",
            WEEKDAYS[weekday],
            start.written(),
            end.written()
        ),
    );
    let own = vec![
        c.year.into(),
        start.to_string().into(),
        end.to_string().into(),
    ];
    (
        text,
        count(start, end, |day| day == weekday).to_string(),
        own,
    )
}

fn count_business_days(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let (start, end) = span(c, rng, Date::last());
    let text = written(
        LENGTH,
        format_args!(
            "How many days from Monday to Friday are there from {} to {}, both included? {NUMBER_WANTED}",
            start.written(),
            end.written()
        ),
    );
    let own = vec![start.to_string().into(), end.to_string().into()];
    (text, count(start, end, |day| day < 5).to_string(), own)
}

fn leap_year(c: &CalendarArithmeticConfig, rng: &mut Rng) -> Asked {
    let half = c.leap_year_range / 2;
    let year = rng.int(
        (c.year - half).max(1),
        (c.year + half).min(Date::last().year),
    );
    let answer = if is_leap(year) { "Yes" } else { "No" };
    let own = vec![year.into(), is_leap(year).into()];
    (
        written(
            LENGTH,
            format_args!("Is {year} a leap year? {YES_OR_NO_WANTED}"),
        ),
        answer.to_owned(),
        own,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_counting() {
        let start = Date::new(2023, 12, 20);
        for length in 0..40 {
            let end = start.plus(length);
            for weekday in 0..7 {
                let slow = (0..=length)
                    .filter(|&i| start.plus(i).weekday() == weekday)
                    .count() as i64;
                assert_eq!(count(start, end, |day| day == weekday), slow);
            }
        }
    }
}
