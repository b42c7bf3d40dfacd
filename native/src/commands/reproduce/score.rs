//! Scores with their intervals: the rows of most tables.

use std::collections::BTreeSet;

use drope_core::results::RetrievalCell;
use drope_core::stats::{wilson, wilson_of_mean};
use serde::Serialize;

use super::markdown;

/// A share of answers at one length, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// s: multiples of the training context.
    pub extension: usize,
    /// 0 to 1.
    pub share: f64,
    /// Wilson's interval.
    pub ci95: [f64; 2],
    /// Questions asked.
    pub trials: usize,
}

impl Score {
    /// Exact answers.
    pub fn exact(cell: &RetrievalCell) -> Self {
        Self { extension: cell.extension, share: cell.accuracy, ci95: cell.ci95, trials: cell.trials }
    }

    /// The share of the values that were found: RULER's score.
    pub fn found(cell: &RetrievalCell) -> Self {
        let ci95 = wilson_of_mean(cell.string_match, cell.trials as f64);
        Self { extension: cell.extension, share: cell.string_match, ci95, trials: cell.trials }
    }

    /// Exact answers of several cells of one length together; `None` of no cell.
    pub fn pooled(cells: &[&RetrievalCell]) -> Option<Self> {
        let extension = cells.first()?.extension;
        let (trials, correct) = cells.iter().fold((0, 0), |sum, cell| (sum.0 + cell.trials, sum.1 + cell.correct));
        Some(Self { extension, share: correct as f64 / trials as f64, ci95: wilson(correct, trials), trials })
    }

    /// Whether its interval lies above the other's, with a gap.
    pub fn is_above(&self, other: &Self) -> bool {
        self.ci95[0] > other.ci95[1]
    }

    /// Whether the intervals have a number in common.
    pub fn touches(&self, other: &Self) -> bool {
        !self.is_above(other) && !other.is_above(self)
    }

    /// `98.2 [96.6, 99.1]`
    pub fn text(&self) -> String {
        let [low, high] = self.ci95.map(|bound| 100.0 * bound);
        format!("{:.1} [{low:.1}, {high:.1}]", 100.0 * self.share)
    }
}

/// A system's scores, one a length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreRow {
    pub system: String,
    /// Whether the results say of which weights they are. Those that do not are of a model that was not kept.
    pub is_of_known_weights: bool,
    pub scores: Vec<Score>,
}

impl ScoreRow {
    /// Exact answers.
    pub fn exact(system: impl Into<String>, cells: &[RetrievalCell]) -> Self {
        Self::of(system, cells, Score::exact)
    }

    /// Shares of the values that were found.
    pub fn found(system: impl Into<String>, cells: &[RetrievalCell]) -> Self {
        Self::of(system, cells, Score::found)
    }

    fn of(system: impl Into<String>, cells: &[RetrievalCell], score: fn(&RetrievalCell) -> Score) -> Self {
        Self {
            system: system.into(),
            is_of_known_weights: cells.iter().all(|cell| !cell.fingerprint.is_empty()),
            scores: cells.iter().map(score).collect(),
        }
    }

    /// The score of one length.
    pub fn at(&self, extension: usize) -> Option<&Score> {
        self.scores.iter().find(|score| score.extension == extension)
    }

    /// The system, marked where its model was not kept.
    pub fn label(&self) -> String {
        markdown::label(&self.system, self.is_of_known_weights)
    }

    /// A line of a table with a column a length.
    pub fn line(&self, extensions: &[usize]) -> Vec<String> {
        std::iter::once(self.label()).chain(extensions.iter().map(|&s| text(self.at(s)))).collect()
    }
}

/// How many questions scores rest on: `100 or 500`.
pub fn questions<'a>(scores: impl IntoIterator<Item = &'a Score>) -> String {
    let counts: BTreeSet<usize> = scores.into_iter().map(|score| score.trials).collect();
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
}

/// `98.2 [96.6, 99.1]`, or a dash.
pub fn text(score: Option<&Score>) -> String {
    score.map_or_else(|| markdown::DASH.to_owned(), Score::text)
}
