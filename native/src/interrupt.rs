//! Ctrl-C and SIGTERM: long work checks a flag between steps, and stops with all files whole.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use drope_core::generate::Flow;

use crate::files;
#[cfg(unix)]
use crate::machine;

/// What shells expect of a program that stopped at Ctrl-C.
pub const EXIT_CODE: i32 = 130;

/// Whether the work that runs checks [`STOP`].
static WATCHED: AtomicBool = AtomicBool::new(false);
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

/// From here on Ctrl-C, SIGTERM or SIGHUP ends the process without leaving files that were being written. Must be called before other
/// threads begin.
pub fn listen() -> Result<()> {
    on_signal(|| {
        if !WATCHED.load(Ordering::Relaxed) || STOP.swap(true, Ordering::Relaxed) {
            files::remove_temporaries();
            std::process::exit(EXIT_CODE);
        }
    })
    .context("cannot listen for Ctrl-C")
}

/// From here on the first such signal sets a flag instead of ending the process.
pub fn watch() {
    WATCHED.store(true, Ordering::Relaxed);
}

/// One thread waits for the signals, which the others never get.
#[cfg(unix)]
fn on_signal(act: fn()) -> Result<()> {
    use nix::sys::signal::{SigSet, Signal};
    // What the process was started to ignore stays ignored: SIGHUP under nohup, SIGINT behind a script's `&`.
    let all = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
    let signals: SigSet = all.into_iter().filter(|&signal| !machine::ignores(signal)).collect();
    signals.thread_block()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        while signals.wait().is_ok() {
            act();
        }
    })?;
    Ok(())
}

#[cfg(not(unix))]
fn on_signal(act: fn()) -> Result<()> {
    Ok(ctrlc::set_handler(act)?)
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
