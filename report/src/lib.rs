//! Renders this repository's documents from results files, and does nothing else: rows → verdict → prose.

mod comparison;
mod documents;
mod files;
mod markdown;
mod number;
pub mod plot;
mod results;
mod sections;
mod study;
mod study_2;
mod verdict;

use std::path::Path;

use anyhow::Result;

use self::documents::Found;
use self::results::Results;

/// Writes the papers' tables and figures at nano size, a file each and README.md with their verdicts, into `out`, from the results
/// files in `data`.
///
/// # Errors
/// If a results file does not hold what it should, or a document cannot be written.
pub fn write_reproduction(data: &Path, out: &Path) -> Result<()> {
    sections::write(&Results::read(data)?, out)
}

/// Writes the documents of a repository: what stands between the marks of README.md, of docs/results/README.md and of docs/paper.md,
/// docs/findings.md, and, where there are results of them, what is written of the study, of real models, of speed and of a recalibrated model.
///
/// # Errors
/// As [`write_reproduction`], and if a document has lost its marks.
pub fn write_documents(data: &Path, root: &Path) -> Result<()> {
    let second = study_2::write(&data.join("study-2"), root)?;
    let rivals = second.as_ref().map(|headline| headline.rivals.clone()).unwrap_or_default();
    let first = study::write(&data.join("study"), root, rivals)?;
    documents::write_real_models(&data.join("real-models"), root)?;
    documents::write_speed(&data.join("real-models"), root)?;
    let recalibration = documents::write_recalibration(&data.join("recalibration"), root)?;
    let found = Found { first, second, recalibration };
    documents::write_paper(&found, root)?;
    documents::write(&Results::read(data)?, &found, root)
}
