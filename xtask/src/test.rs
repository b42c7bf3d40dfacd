//! Every check of the project, in the order in which a mistake is cheapest to see.

use std::process::Command;

use anyhow::{Result, bail};

use crate::Workplace;
use crate::page::{build, target_dir};
use crate::shell::tee;
use crate::tools::Tools;

/// Always the same packages together: cargo joins their features, and another set would compile Burn again.
pub const NATIVE: [&str; 8] = ["-p", "drope-core", "-p", "drope-native", "-p", "drope-tests", "-p", "xtask"];

/// What ran so far.
#[derive(Default)]
pub struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Runs all; the last line counts what ran.
pub fn all() -> Result<()> {
    let place = Workplace::find()?;
    let tools = Tools::for_tests(&place)?;
    let mut tally = Tally::default();
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.current_dir(&place.root).env("CARGO_TARGET_DIR", target_dir(&place)).args(arguments);
        command
    };
    let clippy = |packages: &[&str], more: &[&str]| {
        let mut command = cargo(&["clippy", "--release", "--all-targets"]);
        command.args(packages).args(more).args(["--", "-D", "warnings"]);
        command
    };
    // One profile for everything, for the same reason.
    let test = |more: &[&str]| {
        let mut command = cargo(&["test", "--release", "--no-fail-fast"]);
        command.args(NATIVE).args(more);
        command
    };
    tally.check("formatting", &mut cargo(&["fmt", "--all", "--check"]))?;
    tally.check("clippy", &mut clippy(&NATIVE, &[]))?;
    if tools.has_wasm_clippy() {
        tally.check("clippy on wasm", &mut clippy(&["-p", "drope-web"], &["--target", "wasm32-unknown-unknown"]))?;
    } else {
        tally.not_run("clippy on the web crate; the wasm toolchain here has none");
    }
    match crate::table::check(&place) {
        Ok(()) => tally.passed += 1,
        Err(error) => {
            println!("FAILED: {error:#}");
            tally.failed += 1;
        }
    }
    let mut unit = vec!["--lib".to_owned(), "--bins".to_owned()];
    for name in test_programs(&place)? {
        unit.extend(["--test".to_owned(), name]);
    }
    let unit: Vec<&str> = unit.iter().map(String::as_str).collect();
    tally.tests("native tests", &mut test(&unit))?;
    for package in ["core", "web"] {
        let mut command = tools.command("wasm-pack");
        command.current_dir(&place.root).env("CARGO_TARGET_DIR", target_dir(&place));
        command.args(["test", "--headless", "--chrome", "--release", "--mode", "no-install"]);
        if let Some(driver) = crate::shell::which("chromedriver") {
            command.arg("--chromedriver").arg(driver);
        }
        // Last: what follows the package goes to cargo.
        command.arg(package);
        // WebGPU in software takes its time.
        command.env("WASM_BINDGEN_TEST_TIMEOUT", "600");
        tally.tests(&format!("{package} in the browser"), &mut command)?;
    }
    build(&place, &tools)?;
    // One browser at a time: each of them runs a whole WebGPU in software.
    let crossing = ["--test", "browser", "--test", "transformers", "--", "--test-threads", "1", "--nocapture"];
    tally.tests("across crates, browser included", &mut test(&crossing))?;
    tally.finish()
}

/// Test programs of the crates that need nothing but themselves, all that there are.
fn test_programs(place: &Workplace) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in ["core/tests", "native/tests"] {
        for entry in std::fs::read_dir(place.root.join(folder))? {
            let path = entry?.path();
            let is_program = path.extension().is_some_and(|extension| extension == "rs");
            names.extend(path.file_stem().filter(|_| is_program).map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

impl Tally {
    /// A step that passes or fails as a whole.
    fn check(&mut self, name: &str, command: &mut Command) -> Result<()> {
        println!("== {name}");
        let is_ok = tee(command)?.0;
        self.passed += usize::from(is_ok);
        self.failed += usize::from(!is_ok);
        Ok(())
    }

    /// A step that prints cargo's closing lines, `test result: ok. 3 passed; 0 failed; …`.
    pub fn tests(&mut self, name: &str, command: &mut Command) -> Result<()> {
        println!("== {name}");
        let (is_ok, output) = tee(command)?;
        let (passed, failed) = counts(&output);
        let not_run = output.lines().filter(|line| line.contains("NOT RUN:")).count();
        self.passed += passed.saturating_sub(not_run);
        self.skipped += not_run;
        // A step that breaks before it counts has failed, and so has one that ran nothing.
        self.failed += if (!is_ok || passed == 0) && failed == 0 { 1 } else { failed };
        Ok(())
    }

    /// A step that this machine has not the means for.
    pub fn not_run(&mut self, what: &str) {
        println!("NOT RUN: {what}");
        self.skipped += 1;
    }

    /// The closing line; an error if anything failed.
    pub fn finish(&self) -> Result<()> {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        if self.failed > 0 {
            bail!("{} checks failed", self.failed);
        }
        Ok(())
    }
}

/// Sums over all closing lines.
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

#[cfg(test)]
mod tests {
    #[test]
    fn closing_lines_are_summed() {
        let output = "test result: ok. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      noise 9 passed\n\
                      test result: FAILED. 2 passed; 4 failed; 0 ignored\n";
        assert_eq!(super::counts(output), (5, 5));
    }
}
