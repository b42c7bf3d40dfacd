//! LongBench (Bai et al. 2023, arXiv 2308.14508), version 1, English: prompts, truncation and scores as in its own
//! scripts. The user provides the rows.

mod datasets;
mod metrics;
mod rouge;

use serde::Deserialize;

pub use self::datasets::{DATASETS, Dataset};
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;

/// One line of a LongBench file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Row {
    /// The question, if the dataset's prompt has a place for one.
    pub input: String,
    /// The long text.
    pub context: String,
    /// The right answers; one of them is enough.
    pub answers: Vec<String>,
    /// Name of the dataset, `_e` behind it in LongBench-E.
    pub dataset: String,
    /// The possible answers of a classification task.
    #[serde(default)]
    pub all_classes: Option<Vec<String>>,
}

impl Row {
    /// Reads a line.
    ///
    /// # Errors
    /// If a field is missing, or the dataset is not one of the English ones.
    pub fn from_json(line: &str) -> Result<Self> {
        let row: Self = serde_json::from_str(line)
            .map_err(|error| Error::Benchmark(format!("this is not a row in LongBench's form ({error})")))?;
        row.dataset()?;
        Ok(row)
    }

    /// The description of the row's dataset.
    ///
    /// # Errors
    /// If it is not one of the English ones.
    pub fn dataset(&self) -> Result<&'static Dataset> {
        let name = self.dataset.strip_suffix("_e").unwrap_or(&self.dataset);
        DATASETS.iter().find(|dataset| dataset.name == name).ok_or_else(|| {
            let names: Vec<&str> = DATASETS.iter().map(|dataset| dataset.name).collect();
            Error::Benchmark(format!("the dataset {:?} is not one of {}", self.dataset, names.join(", ")))
        })
    }

    /// The prompt. If it has more than `room` tokens, its middle is left out, and the first and the last `room` / 2
    /// tokens stay.
    ///
    /// # Errors
    /// If the tokenizer cannot encode it.
    pub fn prompt(&self, tokenizer: &Tokenizer, room: usize) -> Result<String> {
        let prompt = self.filled()?;
        let ids = tokenizer.prompt(&prompt)?;
        if ids.len() <= room {
            return Ok(prompt);
        }
        let half = room / 2;
        Ok(tokenizer.decode(&ids[..half])? + &tokenizer.decode(&ids[ids.len() - half..])?)
    }

    /// The dataset's prompt with this row's fields.
    fn filled(&self) -> Result<String> {
        let mut text = String::new();
        let mut rest = self.dataset()?.prompt;
        while let Some((before, after)) = rest.split_once('{') {
            // Placeholders inside the value of a field are not replaced.
            let (field, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            text.push_str(if field == "context" { &self.context } else { &self.input });
            rest = after;
        }
        Ok(text + rest)
    }

    /// Score of an answer, from 0 to 1: the best over the right ones.
    ///
    /// # Errors
    /// If the dataset is not one of the English ones.
    pub fn score(&self, answer: &str) -> Result<f64> {
        let dataset = self.dataset()?;
        let answer = match answer.trim_start_matches('\n').split_once('\n') {
            Some((first, _)) if dataset.takes_first_line => first,
            _ => answer,
        };
        let classes = self.all_classes.as_deref().unwrap_or_default();
        let scores = self.answers.iter().map(|right| dataset.metric.score(answer, right, classes));
        Ok(scores.fold(0.0, f64::max))
    }
}

#[cfg(test)]
mod tests;
