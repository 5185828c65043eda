//! A running program, with a thread that writes to it and one that reads from it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread;
use std::time::Duration;

/// Lines that wait to be read; a program that writes more has to wait itself.
const WAITING: usize = 64;

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

#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    pub(super) requests: Sender<Vec<u8>>,
    pub(super) lines: Receiver<Line>,
}

#[derive(Debug)]
pub(super) enum Line {
    Text(Vec<u8>),
    TooLong,
}

impl Running {
    pub(super) fn start(program: &Program) -> io::Result<Self> {
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
    pub(super) fn died(&mut self) -> String {
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
