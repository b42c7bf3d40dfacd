//! The worker's programs other than the first; the first answer does not wait for them. They are training, WebGPU, and
//! threads; threads share memory, for which the standard library has to be compiled too.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::build_name::BUILD;
use crate::shell::run;
use crate::toolchain::{TARGET, has_sources};
use crate::tools::Tools;
use crate::{Workplace, documents, half_weights, peer};

/// Features of the worker that have a program each, `worker-…`.
const FEATURES: [&str; 3] = ["train", "webgpu", THREADS];
const THREADS: &str = "threads";
/// Profile of all of the worker's programs (Cargo.toml), its tests included: each dependency is compiled once for them.
pub const PROFILE: &str = "worker";
/// Set if programs that were never built are to be built after the page is served.
const LATER: &str = "DROPE_PROGRAMS_LATER";
/// Set where a slow machine is to leave out the program for threads.
pub const NO_THREADS: &str = "DROPE_NO_THREADS";

/// Compiler flags for threads: SIMD as in the other programs, atomic operations, and an imported memory of at most 4
/// GB, with thread-local storage for every thread.
const FLAGS: &str = "-C target-feature=+simd128,+atomics,+bulk-memory,+mutable-globals -C link-arg=--shared-memory \
    -C link-arg=--import-memory -C link-arg=--max-memory=4294967296 -C link-arg=--export=__wasm_init_tls \
    -C link-arg=--export=__tls_size -C link-arg=--export=__tls_align -C link-arg=--export=__tls_base";

/// Builds the programs into the folder that Trunk names.
pub fn build_for_trunk(place: &Workplace) -> Result<()> {
    let set_by_trunk = "this is called by Trunk: use `cargo xtask page`";
    let output = std::env::var_os("TRUNK_STAGING_DIR").context(set_by_trunk)?;
    let build_name = std::env::var(BUILD).context(set_by_trunk)?;
    let output = Path::new(&output);
    half_weights::round_all(&output.join("models"))?;
    documents::write(&place.root, output)?;
    peer::write(place, output)?;
    let tools = Tools::for_page(place)?;
    let is_later = |feature: &str| std::env::var_os(LATER).is_some() && !built(place, feature).is_file();
    let is_left_out = |feature: &str| feature == THREADS && std::env::var_os(NO_THREADS).is_some();
    let mut now = FEATURES.into_iter().filter(|feature| !is_later(feature) && !is_left_out(feature));
    now.try_for_each(|feature| build(place, &tools, feature, &build_name, output))
}

/// The variable that makes [`build_for_trunk`] leave out programs that were never built, if there are any.
pub fn later(place: &Workplace) -> Option<(&'static str, &'static str)> {
    FEATURES.iter().any(|feature| !built(place, feature).is_file()).then_some((LATER, "1"))
}

/// Builds the programs that were left out, with the page's name, as soon as it is served on this port.
pub fn build_behind(port: u16, build_name: &str) -> Result<()> {
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::sleep(Duration::from_millis(200));
    }
    println!("The page is ready and computes on the CPU; programs for WebGPU, threads and recalibration follow.");
    let place = Workplace::find()?;
    let (tools, dist) = (Tools::for_page(&place)?, place.root.join("dist"));
    FEATURES.into_iter().rev().try_for_each(|feature| build(&place, &tools, feature, build_name, &dist))?;
    println!("WebGPU, threads and recalibration are ready: reload the page.");
    Ok(())
}

/// Builds one program into a folder. Without the sources of the standard library, the page has no threads.
fn build(place: &Workplace, tools: &Tools, feature: &str, build_name: &str, output: &Path) -> Result<()> {
    let Some(mut cargo) = compile(place, tools, feature, build_name) else {
        eprintln!(
            "no sources of Rust's standard library (`rustup component add rust-src`): the page computes in one thread"
        );
        return Ok(());
    };
    run(&mut cargo)?;
    let mut bindgen = tools.command("wasm-bindgen");
    bindgen.args(["--target", "no-modules", "--no-typescript", "--out-dir"]).arg(output);
    run(bindgen.arg(built(place, feature)))
}

/// The command that compiles one program of the build with this name; `None` for threads if the sources of the standard library are missing.
pub fn compile(place: &Workplace, tools: &Tools, feature: &str, build_name: &str) -> Option<Command> {
    let mut cargo = tools.command("cargo");
    cargo.current_dir(&place.root).env("CARGO_TARGET_DIR", folder(place, feature)).env(BUILD, build_name);
    cargo.args([
        "build",
        "--profile",
        PROFILE,
        "--target",
        TARGET,
        "-p",
        "drope-worker",
        "--features",
        feature,
        "--bin",
    ]);
    cargo.arg(format!("worker-{feature}"));
    if feature == THREADS {
        if !has_sources(|program| tools.command(program)) {
            return None;
        }
        // Building the standard library is still unstable.
        cargo.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
        cargo.arg("-Zbuild-std=std,panic_abort");
    }
    Some(cargo)
}

/// Where cargo builds: with other flags everything would be compiled anew each time, here and there.
fn folder(place: &Workplace, feature: &str) -> PathBuf {
    let folder = place.target_dir();
    if feature == THREADS { folder.join(THREADS) } else { folder }
}

fn built(place: &Workplace, feature: &str) -> PathBuf {
    folder(place, feature).join(TARGET).join(PROFILE).join(format!("worker-{feature}.wasm"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{FEATURES, THREADS, compile};
    use crate::build_name::BUILD;
    use crate::tools::Tools;
    use crate::workplace::Workplace;

    #[test]
    fn every_program_has_the_name_of_the_build() {
        let place = Workplace::find().unwrap();
        let tools = Tools::not_installed();
        for feature in FEATURES.into_iter().filter(|&feature| feature != THREADS) {
            let cargo = compile(&place, &tools, feature, "a0").unwrap();
            assert!(cargo.get_envs().any(|set| set == (OsStr::new(BUILD), Some(OsStr::new("a0")))), "{feature}");
        }
    }
}
