//! The README's tables and findings, docs/findings.md, docs/real-models.md and docs/recalibration.md.

mod findings;
mod reading;
mod real_models;
mod recalibration;
mod recovery;
mod scores;
mod training;
mod training_speed;

use std::path::Path;

use anyhow::{Context, Result};

pub use self::real_models::write as write_real_models;
pub use self::recalibration::write as write_recalibration;
use crate::files;
use crate::results::Results;

const END: &str = "<!-- end -->";

/// Writes what stands between the marks of the README and of the results' README, and the whole of the findings; `study` is what
/// is written of the study in short.
pub fn write(results: &Results, study: Option<String>, root: &Path) -> Result<()> {
    let findings = findings::findings(results)?;
    let in_short: Vec<String> = study.into_iter().chain([findings.in_short]).collect();
    let readme = [("results", scores::table_of_numbers(results)), ("findings", in_short.join("\n\n"))];
    fill(&root.join("README.md"), &readme)?;
    fill(&root.join("docs/results/README.md"), &[("results", scores::tables(results))])?;
    files::write(&root.join("docs/findings.md"), &findings.in_full)
}

/// Replaces each part of a document that stands between `<!-- NAME: cargo xtask table -->` and the next end mark.
fn fill(path: &Path, parts: &[(&str, String)]) -> Result<()> {
    let mut text = files::read_text(path)?;
    for (name, part) in parts {
        let begin = format!("<!-- {name}: cargo xtask table -->\n");
        let missing = || format!("{} has lost the marks around its {name}", path.display());
        let start = text.find(&begin).with_context(missing)? + begin.len();
        let end = start + text[start..].find(END).with_context(missing)?;
        text.replace_range(start..end, &format!("\n{}\n\n", part.trim()));
    }
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
        fill(&path, &[("results", "new".to_owned())]).unwrap();
        let expected = "a\n<!-- results: cargo xtask table -->\n\nnew\n\n<!-- end -->\nb <!-- end -->";
        assert_eq!(files::read_text(&path).unwrap(), expected);
        assert!(fill(&path, &[("findings", String::new())]).unwrap_err().to_string().contains("lost the marks"));
    }
}
