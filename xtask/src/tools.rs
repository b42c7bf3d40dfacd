//! The programs around cargo: Trunk, wasm-bindgen and a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{apt_install, capture, run, which};
use crate::toolchain::TARGET;
use crate::workplace::Workplace;

/// A program installed with cargo at one version.
struct Tool {
    program: &'static str,
    package: &'static str,
    version: &'static str,
    /// What cargo is told beyond that.
    options: &'static [&'static str],
    /// Minutes that compiling it takes on two cores.
    minutes: u32,
}

/// Without its own downloads and the encryption they need: it finds the other programs where they are.
const BUNDLER: Tool = Tool {
    program: "trunk",
    package: "trunk",
    version: "0.21.14",
    options: &["--locked", "--no-default-features"],
    minutes: 5,
};

/// Must equal the `wasm-bindgen` crate's version in Cargo.toml. Its lock file names a dependency that was withdrawn.
const WASM_BINDGEN: Tool =
    Tool { program: "wasm-bindgen", package: "wasm-bindgen-cli", version: "0.2.130", options: &[], minutes: 2 };

/// Minutes that compiling the page with its first program takes on two cores, and what follows.
const PAGE_MINUTES: u32 = 6;
const PROGRAMS_MINUTES: u32 = 13;

/// Firefox's driver, which Debian does not package.
const GECKODRIVER: Tool =
    Tool { program: "geckodriver", package: "geckodriver", version: "0.37.1", options: &["--locked"], minutes: 2 };

/// The fuzzer's driver.
const CARGO_FUZZ: Tool =
    Tool { program: "cargo-fuzz", package: "cargo-fuzz", version: "0.13.2", options: &["--locked"], minutes: 1 };

/// Makes the book of the documents.
const MDBOOK: Tool = Tool {
    program: "mdbook",
    package: "mdbook",
    version: "0.5.4",
    options: &["--locked", "--no-default-features", "--features", "search"],
    minutes: 3,
};

/// These programs mostly wait for cargo and files: the optimised build of their authors takes longer than it saves.
const FAST_BUILD: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

/// Programs with which cargo is called for the page and its tests.
pub struct Tools {
    folder: PathBuf,
    toolchain: Option<String>,
}

impl Tools {
    /// What building the page needs.
    pub fn for_page(place: &Workplace) -> Result<Self> {
        let toolchain = crate::toolchain::wasm(place)?;
        let folder = place.cache.join("tools");
        print_plan(place, &folder);
        for tool in [BUNDLER, WASM_BINDGEN] {
            install(&tool, &folder)?;
        }
        Ok(Self { folder: folder.join("bin"), toolchain })
    }

    /// Nothing is installed; the commands are only looked at.
    #[cfg(test)]
    pub fn not_installed() -> Self {
        Self { folder: PathBuf::new(), toolchain: None }
    }

    /// What the browser tests need on top: Chromium and its driver.
    pub fn for_tests(place: &Workplace) -> Result<Self> {
        let tools = Self::for_page(place)?;
        if browser().is_none() || which("chromedriver").is_none() {
            apt_install(&["chromium", "chromium-driver"])
                .context("the browser tests need Chromium and ChromeDriver")?;
        }
        Ok(tools)
    }

    /// Firefox's driver, if Firefox is here or can be installed.
    pub fn geckodriver(&self, place: &Workplace) -> Result<PathBuf> {
        if which("firefox-esr").is_none() {
            apt_install(&["firefox-esr"])?;
        }
        install(&GECKODRIVER, &place.cache.join("tools"))
    }

    /// Whether the wasm toolchain has clippy: Debian's comes without it.
    pub fn has_wasm_clippy(&self) -> bool {
        capture(self.command("clippy-driver").arg("--version")).is_some()
    }

    /// A program of ours, or of the machine, that finds the others and the wasm toolchain.
    pub fn command(&self, program: &str) -> Command {
        let own = self.folder.join(program);
        let mut command = if own.is_file() { Command::new(own) } else { Command::new(program) };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.folder.clone()).chain(std::env::split_paths(&path));
        if let Ok(joined) = std::env::join_paths(folders) {
            command.env("PATH", joined);
        }
        if let Some(toolchain) = &self.toolchain {
            // `cargo xtask` runs under one toolchain's cargo: its variables must not leak into another's.
            command.env("RUSTUP_TOOLCHAIN", toolchain).env_remove("CARGO").env_remove("RUSTC");
        }
        command
    }
}

/// The fuzzer's driver, installed.
pub fn cargo_fuzz(place: &Workplace) -> Result<PathBuf> {
    install(&CARGO_FUZZ, &place.cache.join("tools"))
}

/// What makes the book, installed.
pub fn mdbook(place: &Workplace) -> Result<PathBuf> {
    install(&MDBOOK, &place.cache.join("tools"))
}

/// Chromium or Chrome, under the names that distributions give it.
pub fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].into_iter().find_map(which)
}

/// Says what is compiled before the page is there, and how long that takes, where it is more than a rebuild.
fn print_plan(place: &Workplace, folder: &Path) {
    // What cargo-binstall can fetch is there at once.
    let is_compiled = |tool: &&Tool| found(tool, folder).is_none() && which("cargo-binstall").is_none();
    let tools = [BUNDLER, WASM_BINDGEN];
    let mut plan: Vec<(&str, u32)> =
        tools.iter().filter(is_compiled).map(|tool| (tool.program, tool.minutes)).collect();
    if !place.target_dir().join(TARGET).is_dir() {
        plan.push(("the page", PAGE_MINUTES));
        plan.push(("its programs for WebGPU, threads and recalibration", PROGRAMS_MINUTES));
    }
    if !plan.is_empty() {
        let steps: Vec<String> = plan.iter().map(|(what, minutes)| format!("{what} ({minutes} min)")).collect();
        let minutes: u32 = plan.iter().map(|(_, minutes)| minutes).sum();
        eprintln!("to be compiled, once: {}; about {minutes} minutes on two cores", steps.join(", "));
    }
}

/// Whether a program says that it is of this version.
fn is_version(program: &Path, version: &str) -> bool {
    let line = capture(Command::new(program).arg("--version"));
    line.is_some_and(|line| line.split_whitespace().any(|word| word == version))
}

/// The program, among our own or, where we have none, on PATH; at its version.
fn found(tool: &Tool, root: &Path) -> Option<PathBuf> {
    let own = root.join("bin").join(tool.program);
    // An old one among ours would be found first.
    let program = if own.is_file() { own } else { which(tool.program)? };
    is_version(&program, tool.version).then_some(program)
}

/// The program, installed among our own unless it is here: what others compiled where cargo-binstall can fetch it, else by cargo.
fn install(tool: &Tool, root: &Path) -> Result<PathBuf> {
    if let Some(program) = found(tool, root) {
        return Ok(program);
    }
    let own = root.join("bin").join(tool.program);
    let versioned = format!("{}@{}", tool.package, tool.version);
    if which("cargo-binstall").is_some() {
        let mut binstall = Command::new("cargo");
        binstall.args(["binstall", "--no-confirm", "--force", "--disable-strategies", "compile", "--root"]);
        if run(binstall.arg(root).arg(&versioned)).is_ok() {
            return Ok(own);
        }
    }
    eprintln!("compiling {versioned} into {}: about {} minutes on two cores", root.display(), tool.minutes);
    let mut cargo = Command::new("cargo");
    cargo.args(["install", &versioned, "--force"]).args(tool.options).arg("--root").arg(root);
    run(cargo.envs(FAST_BUILD))?;
    Ok(own)
}
