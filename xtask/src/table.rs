//! The tables and findings of the documents, which `core reproduce` writes from the results files.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::Workplace;
use crate::page::target_dir;
use crate::test::NATIVE;

/// Writes the report, the tables and the findings again; measures nothing. `native/tests/reproduce.rs` checks that they are
/// those of the results files.
pub fn write(place: &Workplace) -> Result<()> {
    let target = target_dir(place);
    let mut build = Command::new("cargo");
    build.current_dir(&place.root).env("CARGO_TARGET_DIR", &target);
    // Built as a test builds it: alone, the program would have Burn compiled anew with other features.
    build.args(["test", "--release", "--no-run"]).args(NATIVE).args(["--test", "reproduce"]);
    ensure!(build.status()?.success(), "`core` does not build");
    let mut core = Command::new(target.join("release").join(format!("core{}", std::env::consts::EXE_SUFFIX)));
    core.current_dir(&place.root);
    core.args(["reproduce", "--render", "--out", "docs/reproduction", "--data", "docs/results", "--documents", "."]);
    ensure!(core.status()?.success(), "the documents could not be written");
    Ok(())
}
