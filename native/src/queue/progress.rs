//! How far a study is: bars in a terminal, lines elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crate::messages::say;
use crate::progress::REPORT_EVERY;
use anyhow::Result;
use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};

/// Shows the progress of the study and of every running job.
pub struct StudyProgress {
    bars: MultiProgress,
    whole: ProgressBar,
    job_style: ProgressStyle,
    running: BTreeMap<String, RunningBar>,
    is_terminal: bool,
    threads: usize,
    /// Costs of all jobs.
    cost: f64,
    /// Costs of the jobs that are done.
    cost_done: f64,
    seconds_done: f64,
    last_tick: Instant,
    /// When a line was last printed, where bars are not shown.
    last_report: Instant,
}

struct RunningBar {
    bar: ProgressBar,
    started: Instant,
    /// The last line that the job wrote: its step, loss and speed, or how many questions are answered.
    said: String,
}

impl RunningBar {
    /// `NAME for 3 minutes: step 20/60 loss 2.3`.
    fn state(&self, name: &str) -> String {
        let time = HumanDuration(self.started.elapsed());
        let separator = if self.said.is_empty() { "" } else { ": " };
        format!("{name} for {time}{separator}{}", self.said)
    }
}

impl StudyProgress {
    /// The progress of this many jobs, of which `threads` run at once.
    pub fn new(jobs: usize, cost: f64, threads: usize) -> Result<Self> {
        let bars = MultiProgress::new();
        let style = ProgressStyle::with_template("{bar:30} {pos} of {len} jobs done, {msg}")?;
        let whole = bars.add(ProgressBar::new(jobs as u64).with_style(style));
        Ok(Self {
            bars,
            whole,
            job_style: ProgressStyle::with_template("  {msg}")?,
            running: BTreeMap::new(),
            is_terminal: std::io::stderr().is_terminal(),
            threads,
            cost,
            cost_done: 0.0,
            seconds_done: 0.0,
            last_tick: Instant::now(),
            last_report: Instant::now(),
        })
    }

    /// A job was done before this run of the study.
    pub fn was_done(&mut self, cost: f64, seconds: f64) {
        self.whole.inc(1);
        self.cost_done += cost;
        self.seconds_done += seconds;
    }

    /// A job that was done is run again.
    pub fn is_again(&mut self, cost: f64) {
        self.whole.set_position(self.whole.position().saturating_sub(1));
        self.cost_done -= cost;
    }

    pub fn started(&mut self, name: &str) {
        let bar = self.bars.add(ProgressBar::new_spinner().with_style(self.job_style.clone()));
        self.running.insert(name.to_owned(), RunningBar { bar, started: Instant::now(), said: String::new() });
        self.line(&format!("{name} begins"));
        self.draw();
    }

    pub fn done(&mut self, name: &str, cost: f64, seconds: f64) {
        self.remove(name);
        self.was_done(cost, seconds);
        let took = HumanDuration(Duration::from_secs_f64(seconds));
        self.line(&format!(
            "{name} is done after {took}; {} of {} jobs done, {}",
            self.whole.position(),
            self.whole.length().unwrap_or_default(),
            self.summary()
        ));
        self.draw();
    }

    pub fn stopped(&mut self, name: &str) {
        self.remove(name);
        self.line(&format!("{name} is stopped"));
    }

    /// The sentence is shown in a terminal, too.
    pub fn failed(&mut self, name: &str, sentence: &str) {
        self.remove(name);
        self.say(sentence);
    }

    /// Shows a sentence above the bars.
    pub fn say(&self, sentence: &str) {
        self.bars.suspend(|| say(sentence));
    }

    /// Whether the next [`Self::tick`] draws, so that what jobs say is worth reading.
    pub fn is_due(&self) -> bool {
        self.last_tick.elapsed() >= Duration::from_secs(1)
    }

    /// The last line that a running job wrote.
    pub fn set_last_line(&mut self, name: &str, line: String) {
        if let Some(job) = self.running.get_mut(name) {
            job.said = line;
        }
    }

    /// To be called often; draws once a second.
    pub fn tick(&mut self) {
        if self.is_due() {
            self.last_tick = Instant::now();
            self.draw();
        }
        if !self.is_terminal && self.last_report.elapsed() >= REPORT_EVERY {
            self.last_report = Instant::now();
            for (name, job) in &self.running {
                say(job.state(name));
            }
            say(format_args!(
                "{} of {} jobs done, {}",
                self.whole.position(),
                self.whole.length().unwrap_or_default(),
                self.summary()
            ));
        }
    }

    pub fn finish(&self) {
        self.whole.abandon();
    }

    fn remove(&mut self, name: &str) {
        if let Some(job) = self.running.remove(name) {
            self.bars.remove(&job.bar);
        }
    }

    /// Prints a line, if no bars are shown.
    fn line(&self, line: &str) {
        if !self.is_terminal {
            say(line);
        }
    }

    fn draw(&self) {
        for (name, job) in &self.running {
            job.bar.set_message(job.state(name));
        }
        self.whole.set_message(self.summary());
    }

    fn summary(&self) -> String {
        let share = if self.cost > 0.0 { 100.0 * self.cost_done / self.cost } else { 100.0 };
        let seconds_of_running: f64 = self.running.values().map(|job| job.started.elapsed().as_secs_f64()).sum();
        match seconds_left(self.cost, self.cost_done, self.seconds_done, seconds_of_running) {
            Some(seconds) => {
                let left = HumanDuration(Duration::from_secs_f64(seconds / self.threads as f64));
                format!("{share:.0} % of the cost, about {left} left")
            }
            None => format!("{share:.0} % of the cost"),
        }
    }
}

/// Seconds that one thread would need for the rest, at the speed of the jobs that are done; `None` while none is.
fn seconds_left(cost: f64, cost_done: f64, seconds_done: f64, seconds_of_running: f64) -> Option<f64> {
    let rest = (cost - cost_done).max(0.0);
    let speed = (cost_done > 0.0).then(|| seconds_done / cost_done)?;
    Some((rest * speed - seconds_of_running).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::seconds_left;

    #[test]
    fn the_time_left_follows_the_cost_and_the_measured_speed() {
        assert_eq!(seconds_left(100.0, 0.0, 0.0, 30.0), None, "nothing is measured yet");
        // A unit of cost takes 10 s. 75 units are left, and the running jobs have already taken 100 s.
        assert_eq!(seconds_left(100.0, 25.0, 250.0, 100.0), Some(650.0));
        assert_eq!(seconds_left(100.0, 100.0, 250.0, 0.0), Some(0.0));
        assert_eq!(seconds_left(100.0, 90.0, 900.0, 500.0), Some(0.0), "jobs that take longer than expected");
    }
}
