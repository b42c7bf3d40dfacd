//! Tests that cross crates are in `tests/`; this library has what more than one of their programs needs.

use std::path::PathBuf;

/// A file of a registry that `cargo xtask test` loads and names in a variable of the environment; else where it keeps it.
///
/// # Panics
/// If it is not there.
pub fn fetched(variable: &str, name: &str) -> PathBuf {
    let kept = || std::env::home_dir().unwrap_or_default().join(".cache/drope").join(name);
    let path = std::env::var_os(variable).map_or_else(kept, PathBuf::from);
    assert!(path.is_file(), "{} is missing; run `cargo xtask test`", path.display());
    path
}

/// SmolLM2-135M-Instruct as a GGUF of type Q4_1.
pub fn smollm2() -> PathBuf {
    fetched("DROPE_SMOLLM2", "SmolLM2-135M-Instruct.Q4_1.gguf")
}
