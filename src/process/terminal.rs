//! The person at the terminal: what is shown to them, and the lines that they type.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The lines of standard input, read by one thread for as long as the program runs: who waits for a line must be able
/// to stop waiting.
static LINES: OnceLock<Mutex<Receiver<String>>> = OnceLock::new();

/// What there is of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line, without its end.
    Line(String),
    /// None yet.
    Nothing,
    /// The person has closed the input (Ctrl-D) or is gone.
    Gone,
}

/// A moment until which is waited.
#[derive(Clone, Copy, Debug)]
pub struct Until(Instant);

/// A terminal with a person in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    patience: Duration,
}

impl Terminal {
    /// The terminal that the program was started in, with a person who is waited for so long; none where its standard
    /// input is something else.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(patience: Duration) -> io::Result<Option<Self>> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        if LINES.get().is_none() {
            let (told, lines) = mpsc::channel();
            std::thread::Builder::new().spawn(move || read_all(&told))?;
            LINES.get_or_init(|| Mutex::new(lines));
        }
        Ok(Some(Self { patience }))
    }

    /// Shows text as a line of its own.
    pub fn show(self, text: &str) {
        // who is not there to read it will not answer either
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// As long from now as the person is waited for.
    pub fn until(self) -> Until {
        Until(Instant::now() + self.patience)
    }

    /// The next line, if there is one until then.
    pub fn line(self, until: Until) -> Typed {
        let Some(lines) = LINES.get() else {
            return Typed::Gone;
        };
        let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.0.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => Typed::Line(line),
            Err(RecvTimeoutError::Timeout) => Typed::Nothing,
            Err(RecvTimeoutError::Disconnected) => Typed::Gone,
        }
    }

    /// Forgets what was typed before.
    pub fn forget(self) {
        while matches!(self.line(Until(Instant::now())), Typed::Line(_)) {}
    }
}

/// Reads lines until there are no more, or nobody listens.
fn read_all(told: &mpsc::Sender<String>) {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&line);
        if told.send(line.trim_end().to_owned()).is_err() {
            return;
        }
    }
}
