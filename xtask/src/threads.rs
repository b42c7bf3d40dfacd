//! The worker's program with threads. Its memory can be shared, which the standard library has to be compiled for too.

use std::path::Path;

use anyhow::{Context, Result};

use crate::Workplace;
use crate::page::target_dir;
use crate::shell::{capture, run};
use crate::toolchain::TARGET;
use crate::tools::Tools;

const PROGRAM: &str = "worker-threads";

/// What the compiler is to make: SIMD as in the other programs, atomic operations, and a memory of at most 4 GB that comes from
/// outside, beside which every thread has numbers of its own.
const FLAGS: &str = "-C target-feature=+simd128,+atomics,+bulk-memory,+mutable-globals -C link-arg=--shared-memory \
    -C link-arg=--import-memory -C link-arg=--max-memory=4294967296 -C link-arg=--export=__wasm_init_tls \
    -C link-arg=--export=__tls_size -C link-arg=--export=__tls_align -C link-arg=--export=__tls_base";

/// Builds it into the folder that Trunk names. Where there are no sources of the standard library the page goes without.
pub fn build(place: &Workplace) -> Result<()> {
    let output = std::env::var_os("TRUNK_STAGING_DIR").context("this is called by Trunk: use `cargo xtask page`")?;
    let tools = Tools::for_page(place)?;
    if !has_sources(&tools) {
        eprintln!(
            "no sources of Rust's standard library (`rustup component add rust-src`): the page computes in one thread"
        );
        return Ok(());
    }
    // Of its own: with other flags everything would be compiled anew each time, here and there.
    let target_dir = target_dir(place).join("threads");
    let mut cargo = tools.command("cargo");
    cargo.current_dir(&place.root).env("CARGO_TARGET_DIR", &target_dir);
    // Building the standard library is still unstable.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
    cargo.args(["build", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET]);
    run(cargo.args(["-p", "drope-worker", "--bin", PROGRAM, "--features", "threads"]))?;
    let built = target_dir.join(TARGET).join("release").join(PROGRAM).with_extension("wasm");
    let mut bindgen = tools.command("wasm-bindgen");
    bindgen.args(["--target", "no-modules", "--no-typescript", "--out-dir"]).arg(output);
    run(bindgen.arg(built))
}

/// Whether the sources of the standard library are here, or can be fetched.
fn has_sources(tools: &Tools) -> bool {
    let are_here = || {
        let sysroot = capture(tools.command("rustc").args(["--print", "sysroot"]));
        sysroot.is_some_and(|sysroot| Path::new(&sysroot).join("lib/rustlib/src/rust/library").is_dir())
    };
    are_here() || (capture(tools.command("rustup").args(["component", "add", "rust-src"])).is_some() && are_here())
}
