//! Progress on standard error: a bar on a terminal that can show it, else a line every few seconds.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::time::{Duration, Instant};

/// Seconds between lines.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// The same where a person answers at the terminal.
const LINE_EVERY_WHERE_TYPED: Duration = Duration::from_secs(60);

/// Shows how far a long piece of work has come.
pub(super) struct Bar {
    bar: ProgressBar,
    unit: &'static str,
    /// Whether lines are printed instead of a bar.
    lines: bool,
    line_every: Duration,
    total: u64,
    /// Units that were done by earlier starts: they say nothing of how long the others take.
    before: u64,
    begun: Instant,
    last_line: Option<Instant>,
}

impl Bar {
    /// Before it is known how much there is to do. `quiet`: lines alone and few of them, where somebody types.
    pub(super) fn new(unit: &'static str, quiet: bool) -> Self {
        let template = format!("{{bar:30}} {{pos}}/{{len}} {unit}, {{eta}} left  {{msg}}");
        let style = ProgressStyle::with_template(&template);
        let bar = match quiet {
            true => ProgressBar::hidden(),
            false => ProgressBar::no_length(),
        };
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            // a dumb terminal or one without a name shows no bar either
            lines: bar.is_hidden(),
            bar,
            unit,
            line_every: match quiet {
                true => LINE_EVERY_WHERE_TYPED,
                false => LINE_EVERY,
            },
            total: 0,
            before: 0,
            begun: Instant::now(),
            last_line: None,
        }
    }

    /// Work begins: of `total` units, so many were done before.
    pub(super) fn start(&mut self, before: u64, total: u64) {
        (self.before, self.total, self.begun) = (before, total, Instant::now());
        self.bar.set_length(total);
        self.bar.set_position(before);
        self.bar.reset_eta();
    }

    /// Says that `done` units are done. An `important` line is printed in any case.
    pub(super) fn show(&mut self, done: u64, important: bool, message: String) {
        if !self.lines {
            self.bar.set_position(done);
            self.bar.set_message(message);
            return;
        }
        let due = |last: Instant| last.elapsed() >= self.line_every;
        if important || self.last_line.is_none_or(due) {
            self.last_line = Some(Instant::now());
            let left = self.seconds_left(self.begun.elapsed().as_secs_f64(), done);
            let (total, unit) = (self.total, self.unit);
            let line = format!("{done}/{total} {unit}, {left:.0} s left  {message}");
            // nobody may be reading it any more, which is no reason to stop
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// The time that is left after `seconds` of work, by the units of this start alone.
    fn seconds_left(&self, seconds: f64, done: u64) -> f64 {
        let own = done.saturating_sub(self.before).max(1);
        seconds / own as f64 * self.total.saturating_sub(done) as f64
    }

    /// Prints a line beside the bar.
    pub(super) fn note(&self, note: &str) {
        self.bar
            .suspend(|| drop(writeln!(std::io::stderr(), "{note}")));
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_starts_did_says_nothing_of_the_time_left() {
        let mut bar = Bar::new("rounds", false);
        bar.start(900, 1000);
        // ten rounds took twenty seconds, ninety are left
        assert!((bar.seconds_left(20.0, 910) - 180.0).abs() < 1e-9);
        assert!(bar.seconds_left(20.0, 1000).abs() < 1e-9);
    }
}
