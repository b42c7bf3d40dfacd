//! The study of docs/protocol.md: from results files to docs/study.md, its figure, and a headline.
//!
//! Rows ([`rows`], [`selection`]) come first, then tests and their verdicts ([`hypotheses`], [`paired_tests`], [`verdict`],
//! [`against`]), then what is written of them ([`sentences`], [`tables`], [`document`], [`figure`], [`plot`]), and what may explain
//! them ([`why`]).

mod against;
mod document;
mod figure;
mod hypotheses;
mod missing;
mod models;
mod paired_tests;
mod plot;
mod questions;
mod rows;
mod selection;
mod sentences;
mod tables;
#[cfg(test)]
mod test_cells;
mod verdict;
mod why;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use drope_core::results::RetrievalCell;
use serde::de::DeserializeOwned;

use self::rows::StudyResults;
use self::why::StudyAccount;
use crate::files;
use crate::reading::results_file;

/// Writes docs/study.md, docs/study.svg and docs/study.json, for the page, and docs/study-why.md with its figures, in `root`, from
/// the results files in `folder`. Returns what the README says of the study; `None`, and nothing is written, where there are no
/// results.
pub fn write(folder: &Path, root: &Path) -> Result<Option<String>> {
    let searched = read::<RetrievalCell>(&folder.join("longrope2"))?;
    let results = StudyResults::new([read(folder)?, searched].concat());
    if results.is_empty() {
        return Ok(None);
    }
    let docs = root.join("docs");
    let tests = hypotheses::test_all(&results);
    let drawn = figure::figure(&results, &tests);
    files::write(&docs.join("study.md"), document::document(&results, &tests, &drawn).as_bytes())?;
    files::write(&docs.join("study.svg"), plot::plot(&figure::plot(&drawn))?.as_bytes())?;
    files::write(&docs.join("study.json"), (serde_json::to_string(&drawn)? + "\n").as_bytes())?;
    let why = StudyAccount {
        results: &results,
        cuts: read(&folder.join("cuts"))?,
        heads: read(&folder.join("heads"))?,
        pilots: StudyResults::new(read(&folder.join("two-keys"))?),
    };
    let has_why = why.write(&docs)?;
    let headline = document::headline(&drawn);
    let why = if has_why { ", [what may explain it](docs/study-why.md)" } else { "" };
    Ok(Some(format!(
        "{headline} [How it was compared](docs/study.md){why}.\n\n![Accuracy against length](docs/study.svg)"
    )))
}

/// The cells of all files of a folder, in the order of the files' names; none where there is no folder.
fn read<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    if folder.is_dir() {
        for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
            paths.push(entry?.path());
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut cells: Vec<T> = Vec::new();
    for path in paths {
        cells.extend(results_file::read::<T>(Some(&path))?);
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use drope_core::results;

    use super::test_cells::{selected, study_cells};
    use super::write;
    use crate::files;

    #[test]
    fn documents_are_written_where_there_are_results_and_only_there() {
        let root = std::env::temp_dir().join(format!("drope-study-{}", std::process::id()));
        let folder = root.join("results");
        assert_eq!(write(&folder, &root).unwrap(), None);
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(write(&folder, &root).unwrap(), None, "an empty folder");
        assert!(!root.join("docs").exists());
        let cells = study_cells(|_, _| [0.9; 4]);
        let (first, second) = cells.split_at(50);
        let chosen = selected("keep-1", [0.5; 3]);
        for (name, cells) in [("b.json", first), ("a.json", second), ("selection.json", &chosen)] {
            files::write(&folder.join(name), results::to_json(cells).unwrap().as_bytes()).unwrap();
        }
        let headline = write(&folder, &root).unwrap().unwrap();
        assert!(
            headline.starts_with("**RoPE of equal budget is as good as DroPE**"),
            "no trunk is missing: {headline}"
        );
        assert!(headline.contains("no reading of RoPE with copies was chosen"), "{headline}");
        assert!(
            files::read_text(&root.join("docs/study.md")).unwrap().contains(headline.split(" [How").next().unwrap())
        );
        let figure: serde_json::Value =
            serde_json::from_slice(&files::read(&root.join("docs/study.json")).unwrap()).unwrap();
        assert_eq!((&figure["lengths"][3], &figure["methods"][0]["points"][0]["trunks"]), (&8.into(), &5.into()));
        let _ = std::fs::remove_dir_all(root);
    }
}
