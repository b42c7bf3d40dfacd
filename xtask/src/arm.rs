//! The products by instructions of 64-bit ARM, tested in an emulator where the machine's processor is another.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell::{apt_install, capture, which};
use crate::tally::Tally;
use crate::toolchain::{has_sources, has_target};
use crate::workplace::Workplace;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const EMULATOR: &str = "qemu-aarch64";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
const DEBIAN_PACKAGES: [&str; 3] = ["qemu-user", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"];

/// Runs the tests of drope-instructions; a machine with such a processor has run them with all others.
pub fn in_the_emulator(place: &Workplace, tally: &mut Tally) -> Result<()> {
    if cfg!(target_arch = "aarch64") {
        return Ok(());
    }
    match tests(place) {
        Ok(mut tests) => tally.tests("instructions of 64-bit ARM", &mut tests),
        Err(error) => {
            tally.not_run(&format!("instructions of 64-bit ARM: {error:#}"));
            Ok(())
        }
    }
}

fn tests(place: &Workplace) -> Result<Command> {
    if which(EMULATOR).is_none() || which(LINKER).is_none() {
        apt_install(&DEBIAN_PACKAGES).context("the emulator or its linker is missing")?;
    }
    let mut command = Command::new("cargo");
    command.current_dir(&place.root);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    // With all the instructions that the emulator knows.
    let runner = format!("{EMULATOR} -cpu max -L {LIBRARIES}");
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", runner);
    command.args(["test", "--release", "-p", "drope-instructions", "--lib", "--target", TARGET]);
    // Build scripts look at the variable below: other checks would compile much once more in the same folder.
    command.env("CARGO_TARGET_DIR", place.target_dir().join("arm"));
    let has_std = has_target(&mut Command::new("rustc"), TARGET)
        || capture(Command::new("rustup").args(["target", "add", TARGET])).is_some();
    if !has_std {
        if !has_sources(|program| Command::new(program)) {
            bail!("rustup cannot fetch {TARGET}, nor rust-src to compile it from");
        }
        command.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std");
    }
    Ok(command)
}
