//! Answers of a cell that is not done: a hidden file beside the results file, one answer a line, so that a command that was
//! stopped goes on with the next question.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use drope_core::hash::short_hash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::files;

/// The answers of one cell.
pub struct PartialAnswers {
    file: PathBuf,
    /// The results file, whose lock guards both.
    json: PathBuf,
    /// Hash of what is measured: commands that measure other cells may keep their answers in the same file.
    cell: String,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line<T> {
    cell: String,
    /// Number of the question or text.
    index: usize,
    outcome: T,
}

impl PartialAnswers {
    /// The answers of a cell, which is given without its results, to these questions: another process may ask another part of them.
    pub fn open<T: Serialize>(json: &Path, blank: &T, questions: &[usize]) -> Result<Self> {
        let file = json.with_file_name(format!(".{}.answers", files::name(json)));
        Ok(Self { file, json: json.to_owned(), cell: short_hash(&[&serde_json::to_vec(&(blank, questions))?]) })
    }

    /// What is kept, by the number of the question.
    pub fn outcomes<T: DeserializeOwned>(&self) -> Result<HashMap<usize, T>> {
        if !self.file.exists() {
            return Ok(HashMap::new());
        }
        let text = files::read_text(&self.file)?;
        // A line that a crash cut off, or of another kind of cell, is not read.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line<T>>(line).ok());
        Ok(lines.filter(|line| line.cell == self.cell).map(|line| (line.index, line.outcome)).collect())
    }

    /// Keeps an answer.
    pub fn add<T: Serialize>(&self, index: usize, outcome: &T) -> Result<()> {
        let line = Line { cell: self.cell.clone(), index, outcome };
        files::append_line(&self.file, &self.json, &serde_json::to_string(&line)?)
    }

    /// Removes the answers of this cell, which are in the results file now.
    pub fn remove(&self) -> Result<()> {
        let is_of_another = |line: &&str| {
            let cell = serde_json::from_str::<Line<serde::de::IgnoredAny>>(line).map(|line| line.cell);
            cell.is_ok_and(|cell| cell != self.cell)
        };
        files::retain_lines(&self.file, &self.json, |line| is_of_another(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::PartialAnswers;

    #[test]
    fn answers_of_a_cell_are_kept_until_it_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("niah.json");
        let [ours, other] = [[3, 5], [3, 4]].map(|questions| PartialAnswers::open(&json, &"cell", &questions).unwrap());
        ours.add(3, &0.1).unwrap();
        other.add(3, &0.2).unwrap();
        ours.add(5, &0.3).unwrap();
        let mut found: Vec<(usize, f64)> = ours.outcomes().unwrap().into_iter().collect();
        found.sort_by_key(|(index, _)| *index);
        assert_eq!(found, [(3, 0.1), (5, 0.3)]);
        // A crash in the middle of a line.
        std::fs::write(&ours.file, std::fs::read_to_string(&ours.file).unwrap() + "{\"cell\":").unwrap();
        ours.remove().unwrap();
        assert!(ours.outcomes::<f64>().unwrap().is_empty());
        assert_eq!(other.outcomes::<f64>().unwrap()[&3], 0.2);
        other.remove().unwrap();
        assert!(!ours.file.exists(), "an empty file does not stay");
    }
}
