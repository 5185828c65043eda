//! What ends the program from outside: a reader that goes away, and signals to stop: the round is finished and saved, and after a second one the program ends at once.

use anyhow::{Context, Result};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a program returns that was interrupted.
pub(super) const INTERRUPTED: u8 = 130;

/// Whether a signal to stop has come.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// True once a signal has come.
pub(super) fn stopped() -> bool {
    SIGNALLED.load(Ordering::SeqCst)
}

/// Hears signals to stop, but for those to which whoever started the program has made it deaf.
///
/// # Errors
/// When they cannot be heard.
pub(super) fn listen() -> Result<()> {
    let heard = || {
        if SIGNALLED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        let what = "stopping after this round; once more to stop at once";
        let _ = writeln!(std::io::stderr(), "{what}");
    };
    #[cfg(unix)]
    let ignored = unix::ignored();
    ctrlc::set_handler(heard).context("signals to stop cannot be heard")?;
    #[cfg(unix)]
    for signal in ignored {
        unix::ignore(signal);
    }
    Ok(())
}

/// True when the output went to a pipe whose reader has closed it, as `head` does.
pub fn reader_is_gone(error: &anyhow::Error) -> bool {
    // what is written to others than the reader says in its context to whom
    let alone = error.chain().count() == 1;
    let io = error.downcast_ref::<std::io::Error>();
    alone && io.is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(unix)]
mod unix {
    //! What was ignored when the program began stays ignored, as `nohup` and the background jobs of a
    //! script want it.

    use nix::sys::signal::{SigHandler, Signal, signal};

    /// The signals to stop that are ignored now.
    pub(super) fn ignored() -> Vec<Signal> {
        let all = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
        let was_ignored = |signal: &Signal| matches!(ignore(*signal), Some(SigHandler::SigIgn));
        all.into_iter().filter(was_ignored).collect()
    }

    /// Ignores a signal, and returns what was done with it before.
    #[expect(unsafe_code, reason = "handlers may break much, but this sets none")]
    pub(super) fn ignore(which: Signal) -> Option<SigHandler> {
        // SAFETY: to ignore a signal runs no code
        unsafe { signal(which, SigHandler::SigIgn) }.ok()
    }
}
