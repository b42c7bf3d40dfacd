//! The README's and the paper's results, the tables of docs/results, docs/findings.md, docs/real-models.md,
//! docs/speed.md and docs/recalibration.md.

mod findings;
mod reading;
mod real_models;
mod recalibration;
mod ruler;
mod scores;
mod speed;
mod training;

use std::path::Path;

use anyhow::{Context, Result};

pub use self::real_models::write as write_real_models;
pub use self::recalibration::write as write_recalibration;
pub use self::speed::write as write_speed;
use crate::files;
use crate::results::Results;
use crate::study::StudySummary;
use crate::study_2::Headline;

const END: &str = "<!-- end -->";
/// Places of documents are relative to the README.
const FIRST: &str = "The [first study](docs/study.md), registered too";
const TABLE: &str =
    "Exact answers in percent, means of five pretraining seeds, after 8.2 million tokens of recalibration";
const SECOND: &str = "The [second study](docs/study-2.md), registered before it ran (five other pretraining seeds): how long to recalibrate, and rivals that were trained as fairly";

/// The same, with how much of it has run.
fn second(headline: &Headline) -> String {
    let [run, planned] = headline.tests;
    if run == planned { SECOND.to_owned() } else { format!("{SECOND}; {run} of its {planned} tests were run") }
}

const NOTHING: &str = "Nothing is measured yet.";

/// What was found in the studies and with a real model; `None` where nothing is measured.
pub struct Found {
    pub first: Option<StudySummary>,
    pub second: Option<Headline>,
    pub recalibration: Option<String>,
}

impl Found {
    /// What the studies judged, in full; empty where nothing is measured.
    fn lists(&self) -> Option<String> {
        let second = self.second.as_ref().map(|headline| format!("{}:\n\n{}", second(headline), headline.list));
        let first = self.first.as_ref().map(|first| first.list.clone() + &first.seen_afterwards);
        second.into_iter().chain(first).reduce(|second, first| format!("{second}\n{FIRST}:\n\n{first}"))
    }

    /// For the README: what the second study judged of rivals, then accuracies of the first.
    fn brief(&self) -> Option<String> {
        let second = self.second.as_ref().map(|headline| format!("{}:\n\n{}", second(headline), headline.brief));
        let first = self.first.as_ref().map(|first| format!("{FIRST}. {TABLE}:\n\n{}", first.by_length.trim_end()));
        second.into_iter().chain(first).reduce(|second, first| format!("{second}\n{first}"))
    }
}

/// Writes what stands between the marks of the README and of the results' README, and the findings.
pub fn write(results: &Results, found: &Found, root: &Path) -> Result<()> {
    fill(&root.join("README.md"), "results", found.brief().as_deref().unwrap_or(NOTHING))?;
    fill(&root.join("docs/results/README.md"), "results", &scores::tables(results))?;
    let beside = found.lists().map(|list| beside_documents(&list));
    files::write(&root.join("docs/findings.md"), &findings::findings(results, beside.as_deref())?)
}

/// Writes the numbers of docs/paper.md.
pub fn write_paper(found: &Found, root: &Path) -> Result<()> {
    let path = root.join("docs/paper.md");
    let fill = |name: &str, text: Option<&str>| fill(&path, name, &beside_documents(text.unwrap_or(NOTHING)));
    fill("tests of the first study", found.first.as_ref().map(|first| &*first.list))?;
    fill("tables of the first study", found.first.as_ref().map(|first| &*first.tables))?;
    fill("tests of the second study", found.second.as_ref().map(|second| &*second.list))?;
    fill("tables of the second study", found.second.as_ref().map(|second| &*second.tables))?;
    fill("decoys", found.second.as_ref().map(|second| &*second.mechanism))?;
    fill("real model", found.recalibration.as_deref())
}

/// A text of the README in a document of docs/.
fn beside_documents(text: &str) -> String {
    text.trim().replace("](docs/", "](")
}

/// Replaces the part of a document that stands between `<!-- NAME: cargo xtask table -->` and the next end mark.
fn fill(path: &Path, name: &str, results: &str) -> Result<()> {
    let mut text = files::read_text(path)?;
    let begin = format!("<!-- {name}: cargo xtask table -->\n");
    let missing = || format!("{} has lost the marks around its {name}", path.display());
    let start = text.find(&begin).with_context(missing)? + begin.len();
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
        fill(&path, "results", "new").unwrap();
        let expected = "a\n<!-- results: cargo xtask table -->\n\nnew\n\n<!-- end -->\nb <!-- end -->";
        assert_eq!(files::read_text(&path).unwrap(), expected);
        files::write(&path, "a\n<!-- results: cargo xtask table -->\nold").unwrap();
        assert!(fill(&path, "results", "new").unwrap_err().to_string().contains("lost the marks"));
    }
}
