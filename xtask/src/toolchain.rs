//! The Rust toolchain that compiles for wasm32-unknown-unknown.
//!
//! On an ordinary machine that is `rustup target add`. Where rustup cannot fetch the target,
//! Debian's own compiler is used: its standard library for wasm is built once from Debian's
//! sources and linked into rustup under the name [`LINKED`].

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{apt_install, capture, run};
use crate::workplace::Workplace;

pub const TARGET: &str = "wasm32-unknown-unknown";
const LINKED: &str = "drope-wasm";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

/// Makes sure that wasm can be compiled; returns the value for RUSTUP_TOOLCHAIN, if one is needed.
pub fn wasm(place: &Workplace) -> Result<Option<String>> {
    if has_target(&mut Command::new("rustc"), TARGET) {
        return Ok(None);
    }
    if has_target(Command::new("rustc").env("RUSTUP_TOOLCHAIN", LINKED), TARGET) {
        return Ok(Some(LINKED.to_owned()));
    }
    if capture(Command::new("rustup").args(["target", "add", TARGET])).is_some() {
        return Ok(None);
    }
    eprintln!("rustup cannot fetch {TARGET}: building it from Debian's sources (about a minute)");
    from_debian(place).with_context(|| {
        format!("no compiler for {TARGET}; with internet access `rustup target add {TARGET}` is enough")
    })?;
    Ok(Some(LINKED.to_owned()))
}

/// Whether a compiler has a standard library for a target.
pub fn has_target(rustc: &mut Command, target: &str) -> bool {
    capture(rustc.args(["--print", "target-libdir", "--target", target]))
        .is_some_and(|folder| has_std(Path::new(&folder)))
}

/// Whether the sources of the standard library are here, or can be fetched; `command` is how programs of the toolchain are called.
pub fn has_sources(command: impl Fn(&str) -> Command) -> bool {
    let are_here = || {
        let sysroot = capture(command("rustc").args(["--print", "sysroot"]));
        sysroot.is_some_and(|sysroot| Path::new(&sysroot).join("lib/rustlib/src/rust/library").is_dir())
    };
    are_here() || (capture(command("rustup").args(["component", "add", "rust-src"])).is_some() && are_here())
}

fn has_std(libdir: &Path) -> bool {
    std::fs::read_dir(libdir)
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")))
}

fn from_debian(place: &Workplace) -> Result<()> {
    let host = capture(Command::new(DEBIAN_RUSTC).args(["--print", "host-tuple"]));
    let sources = Path::new("/usr/lib/rustlib/src").exists();
    let host = match host {
        Some(host) if sources && Path::new("/usr/bin/lld").exists() => host,
        _ => {
            apt_install(&DEBIAN_PACKAGES)?;
            capture(Command::new(DEBIAN_RUSTC).args(["--print", "host-tuple"]))
                .context("Debian's rustc does not run")?
        }
    };
    let sysroot = place.cache.join("wasm-toolchain");
    if sysroot.exists() {
        std::fs::remove_dir_all(&sysroot)?;
    }
    let rustlib = sysroot.join("lib/rustlib");
    let target_lib = rustlib.join(TARGET).join("lib");
    std::fs::create_dir_all(&target_lib)?;
    std::fs::create_dir_all(rustlib.join(&host).join("bin"))?;
    std::fs::create_dir_all(sysroot.join("bin"))?;
    symlink(format!("/usr/lib/rustlib/{host}/lib"), rustlib.join(&host).join("lib"))?;
    symlink("/usr/bin/lld", rustlib.join(&host).join("bin/rust-lld"))?;
    symlink("/usr/bin/cargo", sysroot.join("bin/cargo"))?;
    // Through a plain link rustc would find Debian's sysroot instead of this one.
    for program in ["rustc", "rustdoc"] {
        let wrapper = sysroot.join("bin").join(program);
        let script = format!("#!/bin/sh\nexec /usr/bin/{program} --sysroot '{}' \"$@\"\n", sysroot.display());
        std::fs::write(&wrapper, script)?;
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755))?;
    }
    build_std(place, &target_lib)?;
    run(Command::new("rustup").args(["toolchain", "link", LINKED]).arg(&sysroot))
}

/// Compiles the standard library by way of an empty crate and keeps its rlibs.
fn build_std(place: &Workplace, target_lib: &Path) -> Result<()> {
    let empty = place.cache.join("wasm-std");
    std::fs::create_dir_all(empty.join("src"))?;
    std::fs::write(empty.join("src/lib.rs"), "")?;
    std::fs::write(
        empty.join("Cargo.toml"),
        "[package]\nname = \"wasm-std\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    run(Command::new("/usr/bin/cargo")
        .current_dir(&empty)
        .args(["build", "--release", "--target", TARGET])
        .arg("-Zbuild-std=std,panic_abort,panic_unwind,test,proc_macro")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", DEBIAN_RUSTC)
        .env("CARGO_TARGET_DIR", empty.join("target"))
        .env_remove("RUSTUP_TOOLCHAIN"))?;
    let built = empty.join("target").join(TARGET).join("release/deps");
    for entry in std::fs::read_dir(&built)?.flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().ends_with(".rlib") && !name.to_string_lossy().starts_with("libwasm_std") {
            std::fs::copy(entry.path(), target_lib.join(name))?;
        }
    }
    Ok(())
}
