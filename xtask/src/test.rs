//! Every check of the project, in the order in which a mistake is cheapest to see.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::build_name::build_name;
use crate::packages::{NATIVE, PAGE};
use crate::page::build;
use crate::programs;
use crate::shell::which;
use crate::tally::Tally;
use crate::toolchain::TARGET;
use crate::tools::Tools;
use crate::workplace::Workplace;
use crate::{arm, fetch, gpu};

/// Test programs that need more than the compiler: a browser, PyTorch, files of registries.
const CROSSING: [&str; 7] =
    ["browser", "chat_templates", "llama_cpp", "real_model", "tokenizers", "torch_engine", "transformers"];
/// The test program of the Python wheel, which maturin compiles.
const WHEEL: &str = "wheel";

// CI ends after 90 minutes. A machine that took longer before the page, or before the last checks, is too slow to compile Burn once more
// for threads, or for those checks.
const BEFORE_PAGE: Duration = Duration::from_secs(35 * 60);
const BEFORE_LAST: Duration = Duration::from_secs(45 * 60);

/// Where test programs are.
const TESTS: [&str; 4] = ["core/tests", "native/tests", "report/tests", "tests/tests"];

/// The checks that take less than five minutes once everything is compiled.
pub fn quick() -> Result<()> {
    let place = Workplace::find()?;
    Tally::of(|tally| natively(&place, tally))
}

/// Runs all; the last line counts what ran.
pub fn all() -> Result<()> {
    Tally::of(each)
}

fn each(tally: &mut Tally) -> Result<()> {
    let place = Workplace::find()?;
    let tools = Tools::for_tests(&place)?;
    natively(&place, tally)?;
    arm::in_the_emulator(&place, tally)?;
    if tools.has_wasm_clippy() {
        let mut tests = worker_tests(&place, &tools);
        unoptimised(&mut tests);
        tally.check("clippy on the worker", &mut linted(tests))?;
    } else {
        tally.not_run("clippy on the worker; the wasm toolchain here has none");
    }
    tally.tests("the worker's backends in the browser", &mut in_the_browser(&place, &tools))?;
    let has_threads = tally.elapsed() < BEFORE_PAGE;
    build(&place, &tools, has_threads)?;
    let build_name = build_name(&place.root)?;
    let features = if has_threads {
        ["train", "threads"].as_slice()
    } else {
        tally.not_run("the page's program for threads, since this machine is slow; `cargo xtask page` builds it");
        &["train"]
    };
    for feature in features {
        // As the program was just built, so that no dependency is compiled once more.
        match programs::compile(&place, &tools, feature, &build_name).filter(|_| tools.has_wasm_clippy()) {
            Some(mut program) => {
                tally.check(&format!("clippy on worker-{feature}"), as_clippy(unoptimised(&mut program)))?;
            }
            None => tally.not_run(&format!("clippy on worker-{feature}; the toolchain here lacks a part for it")),
        }
    }
    // One browser at a time: each of them runs a whole WebGPU in software.
    let mut crossing = test(&place, &NATIVE, &[]);
    crossing.args(CROSSING.iter().flat_map(|name| ["--test", name]));
    crossing.env("DROPE_AXE", fetch::axe(&place)?).env("DROPE_SMOLLM2", fetch::smollm2(&place)?);
    crossing.env("DROPE_VOCABULARIES", fetch::vocabularies(&place)?);
    crossing.env("DROPE_TEMPLATES", fetch::templates(&place)?).env("DROPE_LLAMA_CPP", fetch::llama_cpp(&place)?);
    match tools.geckodriver(&place) {
        Ok(driver) => drop(crossing.env("DROPE_GECKODRIVER", driver)),
        Err(error) => tally.not_run(&format!("the page in Firefox: {error:#}")),
    }
    tally.tests("across crates, browser included", crossing.args(["--", "--test-threads", "1", "--nocapture"]))?;
    // Each compiles Burn once more.
    if tally.elapsed() < BEFORE_LAST {
        let mut wheel = test(&place, &NATIVE, &["--test", WHEEL]);
        wheel.env("DROPE_MATURIN", fetch::maturin(&place)?).args(["--", "--nocapture"]);
        tally.tests("the Python wheel", &mut wheel)?;
        gpu::on_software_vulkan(&place, tally)?;
    } else {
        tally.not_run("the Python wheel, since all else took long here; `cargo test` with `--test wheel` runs it (CONTRIBUTING.md)");
        tally.not_run("core on Vulkan in software, since all else took long here; `cargo xtask gpu` runs it");
    }
    Ok(())
}

/// Formatting, lints and tests that need nothing but the compiler.
fn natively(place: &Workplace, tally: &mut Tally) -> Result<()> {
    tally.check("formatting", &mut cargo(place, &["fmt", "--all", "--check"]))?;
    tally.check("clippy", &mut clippy(place))?;
    tally.check("clippy on the page", &mut linted(page_tests(place, &[])))?;
    let mut programs = vec!["--lib".to_owned(), "--bins".to_owned()];
    for name in test_programs(place)? {
        programs.extend(["--test".to_owned(), name]);
    }
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    // What could not run says so in the output.
    tally.tests("native tests", test(place, &NATIVE, &programs).args(["--", "--show-output"]))?;
    tally.tests("the page's unit tests", &mut page_tests(place, &["--lib", "--bins"]))
}

fn cargo(place: &Workplace, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&place.root).env("CARGO_TARGET_DIR", place.target_dir()).args(arguments);
    command
}

/// Lints in the profile of the tests, so that build scripts and macros are compiled once.
fn clippy(place: &Workplace) -> Command {
    let mut command = cargo(place, &["clippy", "--release", "--all-targets"]);
    command.args(NATIVE).args(["--", "-D", "warnings"]);
    command
}

/// Builds tests with clippy in the compiler's place: `cargo clippy` would go through all dependencies once more.
fn linted(mut tests: Command) -> Command {
    as_clippy(tests.arg("--no-run"));
    tests
}

/// Leaves out the optimisation of our own crates in the worker's programs, on which lints do not depend. Dependencies stay as they are
/// compiled for the programs.
fn unoptimised(command: &mut Command) -> &mut Command {
    for name in ["drope-core", "drope-instructions", "drope-protocol", "drope-worker"] {
        command.args(["--config", &format!("profile.{}.package.{name}.opt-level=0", programs::PROFILE)]);
    }
    command
}

fn as_clippy(command: &mut Command) -> &mut Command {
    // As `cargo clippy -- -D warnings` passes them to the driver.
    let warnings = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", warnings)
}

/// Tests of the page, which compute nothing that takes time: all is compiled without optimisation.
fn page_tests(place: &Workplace, programs: &[&str]) -> Command {
    let mut command = test(place, &PAGE, programs);
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    command
}

/// In release: an unoptimised Burn would have to be compiled beside the optimised one.
fn test(place: &Workplace, packages: &[&str], programs: &[&str]) -> Command {
    let mut command = cargo(place, &["test", "--release", "--no-fail-fast"]);
    command.args(packages).args(programs);
    command
}

/// The worker's tests, with the features and in the profile of the page's worker: Burn is compiled once for both. A test goes on
/// where another fails.
fn worker_tests(place: &Workplace, tools: &Tools) -> Command {
    let mut cargo = tools.command("cargo");
    cargo.current_dir(&place.root).env("CARGO_TARGET_DIR", place.target_dir());
    cargo.args([
        "test",
        "--profile",
        programs::PROFILE,
        "-p",
        "drope-worker",
        "--features",
        "webgpu",
        "--target",
        TARGET,
        "--no-fail-fast",
    ]);
    cargo
}

fn in_the_browser(place: &Workplace, tools: &Tools) -> Command {
    let mut command = worker_tests(place, tools);
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner");
    if let Some(driver) = which("chromedriver") {
        command.env("CHROMEDRIVER", driver);
    }
    // WebGPU in software takes its time.
    command.env("WASM_BINDGEN_TEST_TIMEOUT", "600");
    command
}

/// Test programs that need nothing but the compiler, all that there are.
fn test_programs(place: &Workplace) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in TESTS {
        names.extend(programs_in(&place.root.join(folder))?);
    }
    names.retain(|name| !CROSSING.contains(&name.as_str()) && ![WHEEL, gpu::PROGRAM].contains(&name.as_str()));
    names.sort();
    if names.is_empty() {
        bail!("no test programs in {}", TESTS.join(", "));
    }
    Ok(names)
}

/// Names of the programs of a folder: its Rust files, and its folders that have a `main.rs`.
pub fn programs_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_program = path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").exists();
        names.extend(path.file_stem().filter(|_| is_program).map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{CROSSING, WHEEL, Workplace, gpu, programs_in, test_programs};

    /// Those that are folders were once left out.
    #[test]
    fn every_test_program_is_run_in_its_turn() {
        let place = Workplace::find().unwrap();
        let native = test_programs(&place).unwrap();
        for name in ["files", "gguf", "cli", "documents", "exports"] {
            assert!(native.iter().any(|program| program == name), "{name} is not in {native:?}");
        }
        let crossing = programs_in(&place.root.join("tests/tests")).unwrap();
        assert!(crossing.iter().any(|program| program == "browser"), "{crossing:?}");
        assert!(
            CROSSING.iter().chain([&gpu::PROGRAM, &WHEEL]).all(|name| !native.iter().any(|program| program == name))
        );
    }
}
