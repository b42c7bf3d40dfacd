//! Tests that cross crates are in `tests/`; this library has what more than one of their programs needs.

use std::path::PathBuf;
use std::process::Command;

/// A file or folder that `cargo xtask test` downloads: its path in the environment variable, else in the cache.
///
/// # Panics
/// If it is not there.
pub fn fetched(variable: &str, name: &str) -> PathBuf {
    let kept = || std::env::home_dir().unwrap_or_default().join(".cache/drope").join(name);
    let path = std::env::var_os(variable).map_or_else(kept, PathBuf::from);
    assert!(path.exists(), "{} is missing; run `cargo xtask test`", path.display());
    path
}

/// A Python with these packages: `$DROPE_PYTHON`, or `python3`. Where there is none, it says so, and `cargo xtask test` counts the test
/// as not run.
pub fn python(packages: &str) -> Option<String> {
    let python = std::env::var("DROPE_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", &format!("import {packages}")]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("NOT RUN: no Python with {packages}; set DROPE_PYTHON to one");
    None
}

/// SmolLM2-135M-Instruct as a GGUF of type Q4_1.
pub fn smollm2() -> PathBuf {
    fetched("DROPE_SMOLLM2", "SmolLM2-135M-Instruct.Q4_1.gguf")
}

/// A folder of chat templates, those of each package in a folder of its own.
pub fn templates() -> PathBuf {
    fetched("DROPE_TEMPLATES", "templates-1")
}

/// The folder of llama.cpp's addon for Node.js, if this machine can run it. Where it cannot, this says so, and
/// `cargo xtask test` counts the test as not run.
pub fn llama_cpp() -> Option<PathBuf> {
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if has_node && cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some(fetched("DROPE_LLAMA_CPP", "llama-cpp-3.22.1"));
    }
    println!("NOT RUN: llama.cpp's ids need Node.js on x86-64 Linux");
    None
}

/// What builds Python wheels, if this machine can install one. Where it cannot, this says so, and `cargo xtask test` counts the test as not
/// run.
pub fn maturin() -> Option<PathBuf> {
    let has_python = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    if has_python.is_ok_and(|output| output.status.success()) && cfg!(all(target_os = "linux", target_arch = "x86_64"))
    {
        return Some(fetched("DROPE_MATURIN", "maturin-1.16.0/maturin"));
    }
    println!("NOT RUN: the wheel needs Python with venv on x86-64 Linux");
    None
}

/// A folder of vocabularies as GGUF, with texts and their ids beside each.
pub fn vocabularies() -> PathBuf {
    fetched("DROPE_VOCABULARIES", "vocabularies")
}
