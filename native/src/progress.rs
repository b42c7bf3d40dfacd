//! How far long work is: a bar in a terminal, elsewhere a line every half minute.

use std::io::IsTerminal;
use std::ops::Deref;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressStyle};

/// Time between two lines where there is no terminal.
pub const REPORT_EVERY: Duration = Duration::from_secs(30);

/// A bar that also reports where bars are not shown. It is used as the bar that it holds.
pub struct Progress {
    bar: ProgressBar,
    /// The thread that reports ends when this is dropped.
    _reports: Option<Sender<()>>,
}

impl Progress {
    /// A bar of `length` steps; `steps` is the part of its style between the bar and the time left.
    pub fn new(length: usize, steps: &'static str) -> Result<Self> {
        let style = ProgressStyle::with_template(&format!("{{bar:30}} {steps}  {{eta}} left"))?;
        let bar = ProgressBar::new(length as u64).with_style(style);
        let is_shown = std::io::stderr().is_terminal();
        let reports = (!is_shown).then(|| report_every(REPORT_EVERY, bar.clone(), steps, |line| eprintln!("{line}")));
        Ok(Self { bar, _reports: reports })
    }

    /// A bar of questions, texts or the like.
    pub fn of_items(length: usize) -> Result<Self> {
        Self::new(length, "{pos}/{len} {msg}")
    }
}

impl Deref for Progress {
    type Target = ProgressBar;

    fn deref(&self) -> &ProgressBar {
        &self.bar
    }
}

/// Reports the state of a bar until the sender is dropped.
fn report_every(
    time: Duration,
    bar: ProgressBar,
    steps: &'static str,
    say: impl Fn(String) + Send + 'static,
) -> Sender<()> {
    let (sender, receiver) = mpsc::channel();
    let report = move || {
        while receiver.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            say(line(&bar, steps));
        }
    };
    // Without the thread the work goes on, silently.
    let _ = thread::Builder::new().name("progress".to_owned()).spawn(report);
    sender
}

/// What the bar would show, in its style.
fn line(bar: &ProgressBar, steps: &str) -> String {
    let (done, length) = (bar.position(), bar.length().unwrap_or_default());
    let steps = steps
        .replace("{pos}", &done.to_string())
        .replace("{len}", &length.to_string())
        .replace("{decimal_bytes}", &DecimalBytes(done).to_string())
        .replace("{decimal_total_bytes}", &DecimalBytes(length).to_string())
        .replace("{msg}", &bar.message());
    // Nothing is known of the rest before the first steps.
    let left = Some(bar.eta()).filter(|left| !left.is_zero());
    let left = left.map(|left| format!(", {} left", HumanDuration(left))).unwrap_or_default();
    format!("{}, after {}{left}", steps.trim_end(), HumanDuration(bar.elapsed()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use indicatif::ProgressBar;

    use super::report_every;

    #[test]
    fn work_without_a_terminal_reports_until_it_ends() {
        let bar = ProgressBar::hidden();
        bar.set_length(7);
        bar.set_position(3);
        std::thread::sleep(Duration::from_millis(2));
        bar.tick();
        bar.set_message("yarn 512 tokens");
        let (sender, lines) = mpsc::channel();
        let reports =
            report_every(Duration::from_millis(1), bar, "{pos}/{len} {msg}", move |line| drop(sender.send(line)));
        let line = lines.recv().unwrap();
        assert!(line.starts_with("3/7 yarn 512 tokens, after ") && line.ends_with(" left"), "{line}");
        drop(reports);
        // The thread drops its sender when it ends.
        while lines.recv().is_ok() {}
    }
}
