//! Ctrl-C and SIGTERM: long work checks a flag between steps, and stops with all files whole.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use drope_core::generate::Flow;

/// What shells expect of a program that stopped at Ctrl-C.
pub const EXIT_CODE: i32 = 130;

static STOP: AtomicBool = AtomicBool::new(false);

/// The work was stopped by the user; the message says how to go on.
#[derive(Debug)]
pub struct Stopped(pub String);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stopped {}

/// From here on Ctrl-C, SIGTERM or SIGHUP sets the flag instead of ending the process; a second one ends it.
pub fn watch() -> Result<()> {
    static LISTENING: OnceLock<Result<(), ctrlc::Error>> = OnceLock::new();
    let listening = LISTENING.get_or_init(|| {
        ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE);
            }
        })
    });
    listening.as_ref().copied().context("cannot listen for Ctrl-C")
}

/// Whether the user, or who runs the program, asked for an end.
pub fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// A callback for work of drope-core that reports each step: it ends the work after Ctrl-C and ignores the report.
#[allow(clippy::unused_async, reason = "drope-core awaits the callback")]
pub async fn observe<T>(_: T) -> Flow {
    if requested() { Flow::Stop } else { Flow::Continue }
}

/// Ends the work with a message that says how to go on, if Ctrl-C was pressed.
pub fn check(message: &str) -> Result<()> {
    if requested() { Err(Stopped(message.to_owned()).into()) } else { Ok(()) }
}
