//! A program of the user's that is asked in JSON lines: one request a line to its standard input, one answer a line
//! from its standard output. What it says besides, on standard error, goes where ours goes.
//!
//! Nothing that it does stops who asks: a program that hangs is killed when its time is over, one that has died is
//! started again when it is asked the next time, and lines that are no answers are counted.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

/// Lines that wait to be read; a program that writes more has to wait itself.
const WAITING: usize = 64;
/// Lines that are no answers, beyond which a program is killed.
const MOST_NONSENSE: usize = 1000;
/// How much of such a line is shown.
const SHOWN: usize = 60;

/// What a program is and how much is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name and its arguments; at least the name.
    pub command: Vec<String>,
    /// How long all answers to what it is asked at a time may take.
    pub time_limit: Duration,
    /// Bytes of the longest line that is read.
    pub longest_line: usize,
}

/// A program and what is known of it.
#[derive(Debug)]
pub struct LineProcess {
    program: Program,
    running: Option<Running>,
    /// The number of the next request.
    next: u64,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    requests: Sender<Vec<u8>>,
    lines: Receiver<Line>,
}

#[derive(Debug)]
enum Line {
    Text(Vec<u8>),
    TooLong,
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
            self.note(format!(
                "{why}; {open} of {} questions have no answer",
                requests.len()
            ));
        }
        if let Some(told) = nonsense.told() {
            self.note(told);
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

    fn note(&mut self, what: String) {
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

impl Running {
    fn start(program: &Program) -> io::Result<Self> {
        let Some((name, arguments)) = program.command.split_first() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no command is given",
            ));
        };
        let mut command = Command::new(name);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // a group of its own, so that what it has started is killed with it, and Ctrl-C asks us alone
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (requests, asked) = mpsc::channel();
        let (told, lines) = mpsc::sync_channel(WAITING);
        let longest = program.longest_line;
        if let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) {
            thread::Builder::new().spawn(move || write_all(stdin, &asked))?;
            thread::Builder::new().spawn(move || read_all(stdout, longest, &told))?;
        }
        Ok(Self {
            child,
            requests,
            lines,
        })
    }

    /// How it has ended.
    fn died(&mut self) -> String {
        // the output ends a moment before the program does
        for _ in 0..20 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return format!("has ended ({status})");
            }
            thread::sleep(Duration::from_millis(5));
        }
        "has closed its output and was killed".to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Ok(id) = i32::try_from(self.child.id()) {
            let group = nix::unistd::Pid::from_raw(id);
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes until the program takes no more.
fn write_all(mut stdin: ChildStdin, asked: &Receiver<Vec<u8>>) {
    while let Ok(text) = asked.recv() {
        if stdin.write_all(&text).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Reads until the program ends, or nobody listens any more.
fn read_all(stdout: ChildStdout, longest: usize, told: &SyncSender<Line>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let most = longest as u64 + 1;
        match stdout.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let whole = line.last() == Some(&b'\n');
        let line = match whole {
            true => Line::Text(line),
            false if (line.len() as u64) < most => return, // cut off by its end
            false => {
                if skip_line(&mut stdout).is_err() {
                    return;
                }
                Line::TooLong
            }
        };
        if told.send(line).is_err() {
            return;
        }
    }
}

/// Passes over the rest of a line without keeping it.
fn skip_line(stdout: &mut BufReader<ChildStdout>) -> io::Result<()> {
    loop {
        let buffer = stdout.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = buffer.len();
        stdout.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A shell script as a program.
    fn program(script: &str) -> LineProcess {
        let command = ["sh", "-c", script].map(str::to_owned).into();
        LineProcess::start(Program {
            command,
            time_limit: Duration::from_millis(1500),
            longest_line: 100,
        })
        .unwrap()
    }

    fn ask(process: &mut LineProcess, count: usize) -> (Vec<bool>, String) {
        let requests: Vec<Value> = (0..count).map(|i| json!({"question": i})).collect();
        let fits = |_: usize, answer: &Value| match answer.get("bad") {
            None => Ok(()),
            Some(_) => Err("bad".to_owned()),
        };
        let answers = process.ask::<Value>(&requests, fits);
        let notes = process.take_notes().join("\n");
        (answers.iter().map(Option::is_some).collect(), notes)
    }

    /// Answers each line with its own number.
    const ECHO: &str = "while read -r line; do echo \"$line\"; done";

    #[test]
    fn answers_come_in_the_order_of_the_requests() {
        let mut process = program(ECHO);
        for _ in 0..3 {
            assert_eq!(ask(&mut process, 4), (vec![true; 4], String::new()));
        }
        let mut backwards =
            program("while true; do read -r a; read -r b; echo \"$b\"; echo \"$a\"; done");
        assert_eq!(ask(&mut backwards, 2), (vec![true; 2], String::new()));
    }

    #[test]
    fn what_is_no_answer_is_counted_and_stops_nothing() {
        let check = |script: &str, expected: &[bool], words: &str| {
            let (found, notes) = ask(&mut program(script), expected.len());
            assert_eq!(found, expected, "{script}: {notes}");
            assert!(notes.contains(words), "{script}: {notes}");
        };
        let then_echo = |before: &str| format!("{before}; {ECHO}");
        check(
            &then_echo("echo nonsense"),
            &[true],
            "1 of its lines are no answers",
        );
        check(&then_echo("printf '\\377\\n'"), &[true], "not UTF-8");
        check(
            &then_echo("head -c 5000 /dev/zero; echo"),
            &[true],
            "too long",
        );
        check(
            &then_echo("echo '{\"id\":7}'"),
            &[true],
            "id 7 was not asked",
        );
        check(
            "read -r a; echo \"$a\"; echo \"$a\"; read -r b; sleep 9",
            &[true, false],
            "answered twice",
        );
        check(
            "read -r a; echo '{\"id\":0,\"bad\":1}'; read -r b",
            &[false],
            "(bad)",
        );
        check(
            "sleep 9",
            &[false, false],
            "took longer than 1.5 s and was killed; 2 of 2",
        );
        check("exit 3", &[false], "has ended (exit status: 3)");
        check("exec >&-; sleep 9", &[false], "closed its output");
        check(
            "yes nonsense",
            &[false],
            "went on writing what is no answer",
        );
        check("read -r a; printf '{\"id\":0'", &[false], "has ended");
    }

    #[test]
    fn who_has_died_is_started_again() {
        let mut process = program("read -r a; echo \"$a\"; read -r b; exit 1");
        assert_eq!(ask(&mut process, 1).0, [true]);
        let (found, notes) = ask(&mut process, 1);
        assert!(!found[0] && notes.contains("has ended"), "{notes}");
        assert_eq!(ask(&mut process, 1).0, [true]);
        let gone = LineProcess::start(Program {
            command: vec!["/no/such/program".to_owned()],
            time_limit: Duration::ZERO,
            longest_line: 1,
        });
        assert!(gone.is_err());
    }
}
