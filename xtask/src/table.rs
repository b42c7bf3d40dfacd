//! The documents that are made of results files: the papers' tables and figures, the README's results, the findings, the study, the
//! real models.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::workplace::Workplace;

/// Writes them again; measures nothing. `report/tests/documents.rs` checks that they are those of the results files.
pub fn write(place: &Workplace) -> Result<()> {
    let mut report = Command::new("cargo");
    report.current_dir(&place.root).env("CARGO_TARGET_DIR", place.target_dir());
    report.args(["run", "--release", "--quiet", "--package", "drope-report"]);
    ensure!(report.status()?.success(), "the documents could not be written");
    Ok(())
}
