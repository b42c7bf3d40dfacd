//! The programs around cargo: Trunk, wasm-bindgen and a browser.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::Workplace;
use crate::shell::{apt_install, capture, run, which};

/// A program installed with cargo at one version.
struct Tool {
    program: &'static str,
    package: &'static str,
    version: &'static str,
    /// wasm-bindgen-cli's lock file names a dependency that was withdrawn.
    locked: bool,
}

const TRUNK: Tool = Tool { program: "trunk", package: "trunk", version: "0.21.14", locked: true };
const WASM_BINDGEN: Tool =
    // Must equal the `wasm-bindgen` crate's version in Cargo.toml.
    Tool { program: "wasm-bindgen", package: "wasm-bindgen-cli", version: "0.2.130", locked: false };

/// Firefox's driver, which Debian has not.
const GECKODRIVER: Tool = Tool { program: "geckodriver", package: "geckodriver", version: "0.37.1", locked: true };

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
        for tool in [TRUNK, WASM_BINDGEN] {
            install(&tool, &folder)?;
        }
        Ok(Self { folder: folder.join("bin"), toolchain })
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
        install(&GECKODRIVER, &place.cache.join("tools"))?;
        Ok(self.folder.join(GECKODRIVER.program))
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

/// Chromium or Chrome, under the names that distributions give it.
pub fn browser() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].into_iter().find_map(which)
}

fn install(tool: &Tool, root: &std::path::Path) -> Result<()> {
    let program = root.join("bin").join(tool.program);
    let here = capture(Command::new(&program).arg("--version"));
    if here.is_some_and(|line| line.split_whitespace().any(|word| word == tool.version)) {
        return Ok(());
    }
    eprintln!("installing {} {} into {}", tool.package, tool.version, root.display());
    let mut command = Command::new("cargo");
    command.args(["install", tool.package, "--version", tool.version, "--force", "--root"]).arg(root);
    if tool.locked {
        command.arg("--locked");
    }
    run(&mut command)
}
