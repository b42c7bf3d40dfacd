//! How far long work is: a bar in a terminal, elsewhere a line every half minute.

use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use crate::messages::say;

/// Time between two lines where there is no terminal.
pub const REPORT_EVERY: Duration = Duration::from_secs(30);

/// A bar that also reports where bars are not shown. It is used as the bar that it holds.
pub struct Progress {
    bar: ProgressBar,
    /// Where this process began; the time left is estimated by what it did since.
    begin: Arc<AtomicU64>,
    /// The thread that reports ends when this is dropped.
    _reports: Option<Sender<()>>,
}

impl Progress {
    /// A bar of `length` steps; `steps` is the part of its style between the bar and the time left.
    pub fn new(length: u64, steps: &'static str) -> Result<Self> {
        let begin = Arc::new(AtomicU64::new(0));
        let from = Arc::clone(&begin);
        let left = move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let rest = state.len().unwrap_or_default().saturating_sub(state.pos());
            // A part that cannot be written is not shown.
            let _ = text.write_str(&time_left(state.pos(), from.load(Ordering::Relaxed), rest, state.elapsed()));
        };
        let style = ProgressStyle::with_template(&format!("{{bar:30}} {steps}{{left}}"))?.with_key("left", left);
        let bar = ProgressBar::new(length).with_style(style);
        let is_shown = std::io::stderr().is_terminal();
        let (shown, from) = (bar.clone(), Arc::clone(&begin));
        let report = move || say(line(&shown, from.load(Ordering::Relaxed), steps));
        let reports = (!is_shown).then(|| report_every(REPORT_EVERY, report));
        Ok(Self { bar, begin, _reports: reports })
    }

    /// Goes on from what an earlier process did.
    pub fn go_on_from(&self, position: u64) {
        self.begin.store(position, Ordering::Relaxed);
        self.bar.set_position(position);
        self.bar.reset_elapsed();
    }

    /// A bar of bytes.
    pub fn of_bytes(length: u64) -> Result<Self> {
        Self::new(length, "{decimal_bytes}/{decimal_total_bytes} {msg}")
    }

    /// A bar of questions, texts or the like.
    pub fn of_items(length: usize) -> Result<Self> {
        Self::new(length as u64, "{pos}/{len} {msg}")
    }
}

impl Deref for Progress {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

/// Reports until the sender is dropped.
fn report_every(time: Duration, say: impl Fn() + Send + 'static) -> Sender<()> {
    let (sender, receiver) = mpsc::channel();
    let report = move || {
        while receiver.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            say();
        }
    };
    // Without the thread the work goes on, silently.
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(report);
    sender
}

/// What the bar would show, in its style, for a process that began at `begin`.
fn line(bar: &ProgressBar, begin: u64, steps: &str) -> String {
    let (done, length) = (bar.position(), bar.length().unwrap_or_default());
    let steps = steps
        .replace("{pos}", &done.to_string())
        .replace("{len}", &length.to_string())
        .replace("{decimal_bytes}", &DecimalBytes(done).to_string())
        .replace("{decimal_total_bytes}", &DecimalBytes(length).to_string())
        .replace("{msg}", &bar.message());
    let left = time_left(done, begin, length.saturating_sub(done), bar.elapsed());
    format!("{}, after {}{left}", steps.trim_end(), HumanDuration(bar.elapsed()))
}

/// `, 3 hours left`: what the `rest` takes at the mean speed since `begin`. Before the first step nothing is known of it. indicatif's own
/// estimate falls to nothing within a step of minutes.
fn time_left(done: u64, begin: u64, rest: u64, elapsed: Duration) -> String {
    let steps = done.saturating_sub(begin);
    if steps == 0 || rest == 0 {
        return String::new();
    }
    let left = elapsed.mul_f64(rest as f64 / steps as f64);
    format!(", {} left", HumanDuration(left))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use indicatif::ProgressBar;

    use super::{line, report_every, time_left};

    #[test]
    fn work_without_a_terminal_reports_until_it_ends() {
        let bar = ProgressBar::hidden();
        bar.set_length(7);
        bar.set_position(3);
        bar.set_message("yarn 512 tokens");
        let (sender, lines) = mpsc::channel();
        let say = move || drop(sender.send(line(&bar, 0, "{pos}/{len} {msg}")));
        let reports = report_every(Duration::from_millis(1), say);
        let line = lines.recv().unwrap();
        assert!(line.starts_with("3/7 yarn 512 tokens, after ") && line.ends_with(" left"), "{line}");
        drop(reports);
        // The thread drops its sender when it ends.
        while lines.recv().is_ok() {}
    }

    #[test]
    fn the_time_left_is_the_mean_of_this_process() {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        assert_eq!(time_left(102, 100, 90, minutes(4)), ", 3 hours left");
        assert_eq!(time_left(100, 100, 90, minutes(4)), "");
        assert_eq!(time_left(190, 100, 0, minutes(4)), "");
    }
}
