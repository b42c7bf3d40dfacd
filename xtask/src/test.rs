//! Every check of the project, in the order in which a mistake is cheapest to see.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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
const CROSSING: [&str; 8] =
    ["browser", "chat_templates", "llama_cpp", "real_model", "tokenizers", "torch_engine", "transformers", "wheel"];

/// After a longer run the machine is too slow to compile Burn for wgpu in what is left of CI's 90 minutes.
const BEFORE_GPU: Duration = Duration::from_secs(45 * 60);

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
    let began = Instant::now();
    let place = Workplace::find()?;
    let tools = Tools::for_tests(&place)?;
    natively(&place, tally)?;
    arm::in_the_emulator(&place, tally)?;
    if tools.has_wasm_clippy() {
        tally.check("clippy on the worker", &mut linted(worker_tests(&place, &tools)))?;
    } else {
        tally.not_run("clippy on the worker; the wasm toolchain here has none");
    }
    tally.tests("the worker's backends in the browser", &mut in_the_browser(&place, &tools))?;
    build(&place, &tools)?;
    let build_name = build_name(&place.root)?;
    for feature in ["train", "threads"] {
        // As the program was just built, so that no dependency is compiled once more.
        match programs::compile(&place, &tools, feature, &build_name).filter(|_| tools.has_wasm_clippy()) {
            Some(mut program) => tally.check(&format!("clippy on worker-{feature}"), as_clippy(&mut program))?,
            None => tally.not_run(&format!("clippy on worker-{feature}; the toolchain here lacks a part for it")),
        }
    }
    // One browser at a time: each of them runs a whole WebGPU in software.
    let mut crossing = test(&place, &NATIVE, &[]);
    crossing.args(CROSSING.iter().flat_map(|name| ["--test", name]));
    crossing.env("DROPE_AXE", fetch::axe(&place)?).env("DROPE_SMOLLM2", fetch::smollm2(&place)?);
    crossing.env("DROPE_VOCABULARIES", fetch::vocabularies(&place)?);
    crossing.env("DROPE_TEMPLATES", fetch::templates(&place)?).env("DROPE_LLAMA_CPP", fetch::llama_cpp(&place)?);
    crossing.env("DROPE_MATURIN", fetch::maturin(&place)?);
    match tools.geckodriver(&place) {
        Ok(driver) => drop(crossing.env("DROPE_GECKODRIVER", driver)),
        Err(error) => tally.not_run(&format!("the page in Firefox: {error:#}")),
    }
    tally.tests("across crates, browser included", crossing.args(["--", "--test-threads", "1", "--nocapture"]))?;
    // It compiles Burn once more.
    if began.elapsed() < BEFORE_GPU {
        gpu::on_software_vulkan(&place, tally)?;
    } else {
        tally.not_run("core on Vulkan in software, since all else took long here; `cargo xtask gpu` runs it");
    }
    Ok(())
}

/// Formatting, lints and tests that need nothing but the compiler.
fn natively(place: &Workplace, tally: &mut Tally) -> Result<()> {
    tally.check("formatting", &mut cargo(place, &["fmt", "--all", "--check"]))?;
    tally.check("clippy", &mut clippy(place))?;
    tally.check("clippy on the page", &mut linted(test(place, &PAGE, &[])))?;
    let mut programs = vec!["--lib".to_owned(), "--bins".to_owned()];
    for name in test_programs(place)? {
        programs.extend(["--test".to_owned(), name]);
    }
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    // What could not run says so in the output.
    tally.tests("native tests", test(place, &NATIVE, &programs).args(["--", "--show-output"]))?;
    tally.tests("the page's unit tests", &mut test(place, &PAGE, &["--lib", "--bins"]))
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

fn as_clippy(command: &mut Command) -> &mut Command {
    // As `cargo clippy -- -D warnings` passes them to the driver.
    let warnings = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", warnings)
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
    names.retain(|name| !CROSSING.contains(&name.as_str()));
    names.sort();
    if names.is_empty() {
        bail!("no test programs in {}", TESTS.join(", "));
    }
    Ok(names)
}

/// Names of the Rust files that lie in a folder: each is a program.
pub fn programs_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_program = path.extension().is_some_and(|extension| extension == "rs");
        names.extend(path.file_stem().filter(|_| is_program).map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}
