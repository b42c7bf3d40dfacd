//! The README's tables and findings, written from the same rows as the report, so that the two never differ.

mod findings;
mod reading;
mod real_models;
mod scores;
mod training;

use std::path::Path;

use anyhow::{Context, Result};

use self::findings::Findings;
use super::context::ReportContext;
use super::study;
use crate::files;

const END: &str = "<!-- end -->";

/// Writes what stands between the marks of the README and of the results' README, the whole of the findings, and, where there
/// are results of them, what is written of the study and of real models.
pub fn write(context: &ReportContext, root: &Path) -> Result<()> {
    let findings = Findings::new(context)?;
    let scores = scores::read(context)?;
    let study = study::write(&context.data("study"), root)?;
    real_models::write(&context.data("real-models"), root)?;
    let in_short: Vec<String> = study.into_iter().chain([findings.in_short()]).collect();
    let readme = [("results", scores::table_of_numbers(&scores)), ("findings", in_short.join("\n\n"))];
    fill(&root.join("README.md"), &readme)?;
    fill(&root.join("docs/results/README.md"), &[("results", scores::tables(&scores))])?;
    files::write(&root.join("docs/findings.md"), findings.in_full().as_bytes())
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
    files::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn parts_are_replaced_and_the_rest_stays() {
        let folder = std::env::temp_dir().join(format!("drope-documents-{}", std::process::id()));
        let path = folder.join("README.md");
        crate::files::write(&path, b"a\n<!-- results: cargo xtask table -->\nold\n<!-- end -->\nb <!-- end -->")
            .unwrap();
        fill(&path, &[("results", "new".to_owned())]).unwrap();
        let expected = "a\n<!-- results: cargo xtask table -->\n\nnew\n\n<!-- end -->\nb <!-- end -->";
        assert_eq!(crate::files::read_text(&path).unwrap(), expected);
        assert!(fill(&path, &[("findings", String::new())]).unwrap_err().to_string().contains("lost the marks"));
        let _ = std::fs::remove_dir_all(folder);
    }
}
