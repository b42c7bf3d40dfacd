//! Counting checks that passed, failed and were left out.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::shell::tee;

/// What ran so far.
pub struct Tally {
    began: Instant,
    passed: usize,
    failed: usize,
    /// Names of the checks that failed: the last lines say them, since what a long run prints before is often cut.
    failures: Vec<String>,
    /// Checks that this machine cannot run.
    pub skipped: usize,
}

impl Tally {
    /// A step that passes or fails as a whole.
    pub fn check(&mut self, name: &str, command: &mut Command) -> Result<()> {
        self.begin(name);
        let is_ok = tee(command)?.0;
        self.passed += usize::from(is_ok);
        if !is_ok {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
        Ok(())
    }

    /// A step that this machine cannot run.
    pub fn not_run(&mut self, what: &str) {
        println!("NOT RUN: {what}");
        self.skipped += 1;
    }

    /// A step that prints cargo's closing lines, `test result: ok. 3 passed; 0 failed; …`.
    pub fn tests(&mut self, name: &str, command: &mut Command) -> Result<()> {
        self.begin(name);
        let (is_ok, output) = tee(command)?;
        let (passed, failed) = counts(&output);
        let not_run = output.lines().filter(|line| line.contains("NOT RUN:")).count();
        self.passed += passed.saturating_sub(not_run);
        self.skipped += not_run;
        // A step that breaks before it counts has failed, and so has one that ran nothing.
        if (!is_ok || passed == 0) && failed == 0 {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
        self.failed += failed;
        self.failures.extend(failures(&output).map(|test| format!("{name}: {test}")));
        Ok(())
    }

    /// Runs checks, and prints what failed and the counts, also where something ends them early, such as a download that fails.
    ///
    /// # Errors
    /// If a check failed, or they were ended early.
    pub fn of(checks: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let mut tally = Self { began: Instant::now(), passed: 0, failed: 0, failures: Vec::new(), skipped: 0 };
        if let Err(error) = checks(&mut tally) {
            tally.failed += 1;
            tally.failures.push(format!("{error:#}"));
        }
        tally.close()
    }

    /// With the minutes so far: where a slow machine is stopped, its output says what took them.
    fn begin(&self, name: &str) {
        println!("== {name} (after {} min)", self.minutes());
    }

    /// Since the first check began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The same in whole minutes.
    fn minutes(&self) -> u64 {
        self.elapsed().as_secs() / 60
    }

    fn close(self) -> Result<()> {
        for failure in &self.failures {
            println!("FAILED: {failure}");
        }
        println!("all checks took {} min", self.minutes());
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        if self.failed > 0 {
            bail!("{} checks failed", self.failed);
        }
        Ok(())
    }
}

/// Passed and failed tests, summed over all closing lines.
fn counts(output: &str) -> (usize, usize) {
    let number_before = |line: &str, word: &str| {
        let words: Vec<&str> = line.split([' ', ';']).filter(|part| !part.is_empty()).collect();
        words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse::<usize>().ok()).unwrap_or(0)
    };
    let lines = output.lines().filter(|line| line.contains("test result:"));
    lines.fold((0, 0), |(passed, failed), line| {
        (passed + number_before(line, "passed"), failed + number_before(line, "failed"))
    })
}

/// The tests that programs list below `failures:` at their end, each in a line of four spaces and its name.
fn failures(output: &str) -> impl Iterator<Item = &str> {
    let mut is_listed = false;
    output.lines().filter_map(move |line| {
        is_listed = line == "failures:" || (is_listed && (line.is_empty() || line.starts_with("    ")));
        line.strip_prefix("    ").filter(|name| is_listed && !name.contains(' '))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn tests_that_failed_are_named() {
        let output = "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\n\n    noise\n\
                      \nfailures:\n    module::a\n    b\n\ntest result: FAILED. 0 passed; 2 failed\n\n    c\n";
        assert_eq!(super::failures(output).collect::<Vec<_>>(), ["module::a", "b"]);
    }

    #[test]
    fn closing_lines_are_summed() {
        let output = "test result: ok. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      noise 9 passed\n\
                      test result: FAILED. 2 passed; 4 failed; 0 ignored\n";
        assert_eq!(super::counts(output), (5, 5));
    }
}
