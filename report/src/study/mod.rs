//! The study of docs/protocol.md: from results files to docs/study.md, its figure, and a headline.
//!
//! Rows ([`rows`], [`selection`]) come first, then tests and their verdicts ([`hypotheses`], [`paired_tests`], [`verdict`],
//! [`against`]), then what is written of them ([`sentences`], [`tables`], [`document`], [`figure`]), and what may explain them
//! ([`why`]).

mod against;
mod document;
mod figure;
mod hypotheses;
mod missing;
mod models;
mod paired_tests;
mod plain_words;
mod post_hoc;
mod questions;
mod rows;
mod selection;
mod sentences;
mod tables;
#[cfg(test)]
mod test_cells;
mod verdict;
mod why;

use std::path::Path;

use anyhow::Result;
use drope_core::results::{Finding, RetrievalCell, StudyFigure};

pub(crate) use self::hypotheses::{RANDOM_SEED, RESAMPLES};
pub(crate) use self::models::{StudyReading, title};
pub(crate) use self::questions::{DECOYS, LATEST_VALUE, MULTI_KEY, PRIMARY, REPEATED_DECOYS, StudyTask};
pub(crate) use self::rows::OverTrunks;
use self::rows::StudyResults;
pub(crate) use self::sentences::{corrected_p_text, interval_text, p_text};
pub(crate) use self::verdict::{EQUAL, SIGNIFICANCE, is_equal};
use self::why::StudyAccount;
use crate::{files, plot};

/// Writes docs/study.md, docs/study.svg and docs/study.json, for the page, and docs/study-why.md with its figures, in `root`, from
/// the results files in `folder`. Returns what other documents say of the study; `None`, and nothing is written, where there are no
/// results. `rivals` is what the second study says, for the page.
pub fn write(folder: &Path, root: &Path, rivals: Vec<Finding>) -> Result<Option<StudySummary>> {
    let cells: [Vec<RetrievalCell>; 2] = [files::cells_in(folder)?, files::cells_in(&folder.join("longrope2"))?];
    let results = StudyResults::new(cells.concat());
    if results.is_empty() {
        return Ok(None);
    }
    let docs = root.join("docs");
    let tests = hypotheses::test_all(&results);
    let drawn = StudyFigure { rivals, ..figure::figure(&results, &tests) };
    files::write(&docs.join("study.md"), &document::document(&results, &tests, &drawn))?;
    files::write(&docs.join("study.svg"), &plot::plot(&figure::plot(&drawn))?)?;
    files::write(&docs.join("study.json"), &(serde_json::to_string(&drawn)? + "\n"))?;
    let why = StudyAccount {
        results: &results,
        cuts: files::cells_in(&folder.join("cuts"))?,
        heads: files::cells_in(&folder.join("heads"))?,
        pilots: StudyResults::new(files::cells_in(&folder.join("two-keys"))?),
    };
    why.write(&docs)?;
    let list: String = document::headline(&drawn).iter().map(|sentence| format!("- {sentence}\n")).collect();
    let seen_afterwards = post_hoc::findings(&results);
    let seen_afterwards = match &seen_afterwards[..] {
        [] => String::new(),
        items => format!("\nNot registered, seen in its results afterwards:\n\n{}\n", items.join("\n")),
    };
    Ok(Some(StudySummary {
        by_length: figure::by_length(&drawn),
        list,
        seen_afterwards,
        tables: plain_words::tables(&results),
    }))
}

/// What other documents say of the study.
pub struct StudySummary {
    /// Accuracies against length, each run as it is read in the tests.
    pub by_length: String,
    /// A sentence for each headline, as a list.
    pub list: String,
    /// What was not registered, as a list with its introduction; empty where nothing of it is measured.
    pub seen_afterwards: String,
    /// Accuracies in plain words.
    pub tables: String,
}

#[cfg(test)]
mod tests {
    use drope_core::results;

    use super::test_cells::{selected, study_cells};
    use super::write;
    use crate::files;

    #[test]
    fn documents_are_written_where_there_are_results_and_only_there() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let folder = root.join("results");
        assert!(write(&folder, root, Vec::new()).unwrap().is_none());
        std::fs::create_dir_all(&folder).unwrap();
        assert!(write(&folder, root, Vec::new()).unwrap().is_none(), "an empty folder");
        assert!(!root.join("docs").exists());
        let cells = study_cells(|_, _| [0.9; 4]);
        let (first, second) = cells.split_at(50);
        let chosen = selected("keep-1", [0.5; 3]);
        for (name, cells) in [("b.json", first), ("a.json", second), ("selection.json", &chosen)] {
            files::write(&folder.join(name), &results::to_json(cells).unwrap()).unwrap();
        }
        let headline = write(&folder, root, Vec::new()).unwrap().unwrap().list;
        assert!(
            headline.starts_with("- **RoPE of equal budget is as good as DroPE**"),
            "no trunk is missing: {headline}"
        );
        assert!(headline.contains("no reading of RoPE with copies was chosen"), "{headline}");
        let first = headline.lines().next().unwrap().trim_start_matches("- ");
        assert!(files::read_text(&root.join("docs/study.md")).unwrap().contains(first));
        let figure: serde_json::Value =
            serde_json::from_str(&files::read_text(&root.join("docs/study.json")).unwrap()).unwrap();
        assert_eq!((&figure["lengths"][3], &figure["methods"][0]["points"][0]["trunks"]), (&8.into(), &5.into()));
    }
}
