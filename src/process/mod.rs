//! Who answers from outside: the person at the [`Terminal`], and a program of the user's that is asked in JSON lines: one request a line to its standard input, one answer a line
//! from its standard output. What it says besides, on standard error, goes where ours goes.
//!
//! Nothing that it does stops who asks: a program that hangs is killed when its time is over, one that has died is
//! started again when it is asked the next time, and lines that are no answers are counted.

#[cfg(feature = "nats")]
mod broker;
mod running;
mod terminal;
#[cfg(test)]
mod tests;

#[cfg(feature = "nats")]
pub use broker::{Address, Broker, Incoming, Outgoing, Reader, Retention};
pub use running::Program;
use running::{Line, Running};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;
pub use terminal::{Terminal, Typed, Until};

/// Lines that are no answers, beyond which a program is killed.
const MOST_NONSENSE: usize = 1000;
/// How much of such a line is shown.
const SHOWN: usize = 60;

/// A program and what is known of it.
#[derive(Debug)]
pub struct LineProcess {
    program: Program,
    running: Option<Running>,
    /// The number of the next request.
    next: u64,
    notes: Vec<String>,
}

/// A request or an answer with the number that ties them together.
#[derive(serde::Serialize, serde::Deserialize)]
struct Numbered<T> {
    id: u64,
    #[serde(flatten)]
    content: T,
}

impl LineProcess {
    /// Starts a program.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(program: Program) -> io::Result<Self> {
        Ok(Self {
            running: Some(Running::start(&program)?),
            program,
            next: 0,
            notes: Vec::new(),
        })
    }

    /// Asks all requests and returns the answers that came in time, in the order of the requests; `fits` says what is
    /// wrong with an answer to one of them, if anything.
    pub fn ask<A: DeserializeOwned>(
        &mut self,
        requests: &[impl Serialize],
        fits: impl Fn(usize, &A) -> Result<(), String>,
    ) -> Vec<Option<A>> {
        let mut answers: Vec<Option<A>> = requests.iter().map(|_| None).collect();
        let first = self.next;
        self.next += requests.len() as u64;
        let mut nonsense = Nonsense::default();
        let ending = self.exchange(first, requests, &mut answers, &fits, &mut nonsense);
        let open = answers.iter().filter(|answer| answer.is_none()).count();
        if let Err(why) = ending {
            self.running = None;
            self.note(&format!(
                "{why}; {open} of {} questions have no answer",
                requests.len()
            ));
        }
        if let Some(told) = nonsense.told() {
            self.note(&told);
        }
        answers
    }

    /// False from a failure until it is asked again.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// What there was to be said since the last time.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn note(&mut self, what: &str) {
        self.notes
            .push(format!("{}: {what}", self.program.command.join(" ")));
    }

    /// # Errors
    /// Says why the program cannot be asked any more.
    fn exchange<A: DeserializeOwned>(
        &mut self,
        first: u64,
        requests: &[impl Serialize],
        answers: &mut [Option<A>],
        fits: &impl Fn(usize, &A) -> Result<(), String>,
        nonsense: &mut Nonsense,
    ) -> Result<(), String> {
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(
                Running::start(&self.program).map_err(|e| format!("cannot be started: {e}"))?,
            ),
        };
        // what is there already answers nothing that is asked now
        while let Ok(line) = running.lines.try_recv() {
            nonsense.add(line, "nothing was asked");
        }
        let mut text = Vec::new();
        for (id, content) in (first..).zip(requests) {
            let line = serde_json::to_writer(&mut text, &Numbered { id, content });
            line.map_err(|e| format!("a question cannot be written as JSON: {e}"))?;
            text.push(b'\n');
        }
        // who has died does not take it, and is found out below
        let _ = running.requests.send(text);
        let end = Instant::now() + self.program.time_limit;
        let mut open = vec![true; answers.len()];
        while open.contains(&true) {
            let left = end.saturating_duration_since(Instant::now());
            let line = match running.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let limit = self.program.time_limit.as_secs_f64();
                    return Err(format!("took longer than {limit} s and was killed"));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(running.died()),
            };
            match read(&line, first, &open, fits) {
                Ok((at, answer)) => {
                    open[at] = false;
                    match answer {
                        Ok(answer) => answers[at] = Some(answer),
                        Err(problem) => nonsense.add(line, &problem),
                    }
                }
                Err(problem) => nonsense.add(line, &problem),
            }
            if nonsense.count > MOST_NONSENSE {
                return Err("went on writing what is no answer and was killed".to_owned());
            }
        }
        Ok(())
    }
}

/// The place of the request that a line answers, and the answer or what is wrong with it.
///
/// # Errors
/// Says why it answers none that is open.
fn read<A: DeserializeOwned>(
    line: &Line,
    first: u64,
    open: &[bool],
    fits: &impl Fn(usize, &A) -> Result<(), String>,
) -> Result<(usize, Result<A, String>), String> {
    let Line::Text(bytes) = line else {
        return Err("too long".to_owned());
    };
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    let Numbered { id, content } =
        serde_json::from_str::<Numbered<Value>>(text).map_err(|e| e.to_string())?;
    let at = id.checked_sub(first).map(|at| at as usize);
    let at = at
        .filter(|at| *at < open.len())
        .ok_or_else(|| format!("id {id} was not asked"))?;
    if !open[at] {
        return Err(format!("id {id} is answered twice"));
    }
    let answer = serde_json::from_value::<A>(content).map_err(|e| e.to_string());
    Ok((
        at,
        answer.and_then(|answer| fits(at, &answer).map(|()| answer)),
    ))
}

/// Lines that are no answers, by what is wrong with them.
#[derive(Default)]
struct Nonsense {
    count: usize,
    first: BTreeMap<String, String>,
}

impl Nonsense {
    fn add(&mut self, line: Line, problem: &str) {
        self.count += 1;
        if self.first.is_empty() {
            let shown = match line {
                Line::Text(bytes) => String::from_utf8_lossy(&bytes)
                    .chars()
                    .take(SHOWN)
                    .collect(),
                Line::TooLong => String::new(),
            };
            self.first.insert(problem.to_owned(), shown);
        }
    }

    fn told(&self) -> Option<String> {
        let (problem, line) = self.first.first_key_value()?;
        Some(format!(
            "{} of its lines are no answers, the first: {line:?} ({problem})",
            self.count
        ))
    }
}
