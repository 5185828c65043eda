//! Progress on standard error: a bar on a terminal, else a line every few seconds.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Seconds between plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows how far a long piece of work has come.
pub(super) struct Progress {
    bar: ProgressBar,
    total: u64,
    unit: &'static str,
    plain: bool,
    begun: Instant,
    last_line: Option<Instant>,
    /// Units that were done before.
    start: Option<u64>,
}

impl Progress {
    /// Before the first of `total` units.
    pub(super) fn new(total: u64, unit: &'static str) -> Self {
        let bar = ProgressBar::new(total);
        let style = ProgressStyle::with_template(&format!(
            "{{bar:30}} {{pos}}/{{len}} {unit}, {{eta}} left  {{msg}}"
        ));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let plain = !std::io::stderr().is_terminal();
        Self {
            bar,
            total,
            unit,
            plain,
            begun: Instant::now(),
            last_line: None,
            start: None,
        }
    }

    /// Says that `done` units are done. An `important` line is printed in any case.
    pub(super) fn show(&mut self, done: u64, important: bool, message: String) {
        let start = *self.start.get_or_insert_with(|| {
            self.bar.set_position(done - 1);
            self.bar.reset_eta();
            done - 1
        });
        if !self.plain {
            self.bar.set_position(done);
            self.bar.set_message(message);
            return;
        }
        if important
            || self
                .last_line
                .is_none_or(|last| last.elapsed() >= LINE_EVERY)
        {
            self.last_line = Some(Instant::now());
            let left = self.begun.elapsed().as_secs_f64() / (done - start) as f64
                * (self.total - done) as f64;
            // nobody may be reading it any more, which is no reason to stop
            let _ = writeln!(
                std::io::stderr(),
                "{done}/{} {}, {left:.0} s left  {message}",
                self.total,
                self.unit
            );
        }
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
