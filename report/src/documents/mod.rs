//! The README's results, the tables of docs/results, docs/findings.md, docs/real-models.md and docs/recalibration.md.

mod arms;
mod bits;
mod copies;
mod findings;
mod gpu_launches;
mod memory_use;
mod reading;
mod reading_speed;
mod real_models;
mod recalibration;
mod recovery;
mod roofline;
mod rounds;
mod ruler;
mod scores;
mod training;
mod training_speed;

use std::path::Path;

use anyhow::{Context, Result};

pub use self::real_models::write as write_real_models;
pub use self::recalibration::write as write_recalibration;
use crate::files;
use crate::results::Results;

const BEGIN: &str = "<!-- results: cargo xtask table -->\n";
const END: &str = "<!-- end -->";

/// Writes what stands between the marks of the README and of the results' README, and the findings; `study` is what the README says
/// of the study.
pub fn write(results: &Results, study: Option<&str>, root: &Path) -> Result<()> {
    fill(&root.join("README.md"), study.unwrap_or("Nothing is measured yet."))?;
    fill(&root.join("docs/results/README.md"), &scores::tables(results))?;
    let study = study.map(|text| without_pictures(text).replace("](docs/", "]("));
    files::write(&root.join("docs/findings.md"), &findings::findings(results, study.as_deref())?)
}

/// The sentences before the first picture. Places of documents are relative to the README.
fn without_pictures(text: &str) -> &str {
    text.split("![").next().unwrap_or(text).trim()
}

/// Replaces the part of a document that stands between `<!-- results: cargo xtask table -->` and the next end mark.
fn fill(path: &Path, results: &str) -> Result<()> {
    let mut text = files::read_text(path)?;
    let missing = || format!("{} has lost the marks around its results", path.display());
    let start = text.find(BEGIN).with_context(missing)? + BEGIN.len();
    let end = start + text[start..].find(END).with_context(missing)?;
    text.replace_range(start..end, &format!("\n{}\n\n", results.trim()));
    files::write(path, &text)
}

#[cfg(test)]
mod tests {
    use super::fill;
    use crate::files;

    #[test]
    fn parts_are_replaced_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("README.md");
        files::write(&path, "a\n<!-- results: cargo xtask table -->\nold\n<!-- end -->\nb <!-- end -->").unwrap();
        fill(&path, "new").unwrap();
        let expected = "a\n<!-- results: cargo xtask table -->\n\nnew\n\n<!-- end -->\nb <!-- end -->";
        assert_eq!(files::read_text(&path).unwrap(), expected);
        files::write(&path, "a\n<!-- results: cargo xtask table -->\nold").unwrap();
        assert!(fill(&path, "new").unwrap_err().to_string().contains("lost the marks"));
    }
}
