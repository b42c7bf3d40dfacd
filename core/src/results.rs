//! The format of results files: what `core eval niah` writes, and the page and the README's table read.

use serde::{Deserialize, Serialize};

/// One cell of a table: a model read with a method, on a task, at a length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the model's folder.
    pub model: String,
    /// Name of the position method.
    pub method: String,
    /// Name of the task.
    pub task: String,
    /// Kind of values.
    pub values: String,
    /// s.
    pub extension: usize,
    /// s·C tokens: prompt and answer.
    pub context: usize,
    /// Questions asked.
    pub trials: usize,
    /// Exact matches.
    pub correct: usize,
    /// Share of exact matches.
    pub accuracy: f64,
    /// RULER's score, 0 to 1.
    pub string_match: f64,
    /// Wilson's interval of the accuracy.
    pub ci95: [f64; 2],
    /// Seed of the questions.
    pub seed: u64,
    /// Temperature of the logits.
    pub beta: f64,
}
