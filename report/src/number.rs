//! Measured numbers with their 95 % intervals, and rows of them along the length: what most tables show.

use std::collections::{BTreeMap, BTreeSet};

use drope_core::perplexity::{PerplexityCell, excess};
use drope_core::results::RetrievalCell;
use drope_core::stats::{wilson, wilson_of_mean};

use crate::markdown::{line, or_dash};

/// A number and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// A share of answers, from 0 to 1; a perplexity; or how far a perplexity lies above another, as a share of it.
    pub value: f64,
    /// `None` where there is too little to tell.
    pub ci95: Option<[f64; 2]>,
    /// Questions or texts.
    pub trials: usize,
}

impl Number {
    /// The share of exact answers.
    pub fn exact(cell: &RetrievalCell) -> Self {
        Self { value: cell.accuracy, ci95: Some(cell.ci95), trials: cell.trials }
    }

    /// The share of the values that were found: RULER's score.
    pub fn found(cell: &RetrievalCell) -> Self {
        let ci95 = Some(wilson_of_mean(cell.string_match, cell.trials as f64));
        Self { value: cell.string_match, ci95, trials: cell.trials }
    }

    /// The share of exact answers to the questions of several cells; `None` of no cell.
    pub fn pooled(cells: &[&RetrievalCell]) -> Option<Self> {
        let (trials, correct) = cells.iter().fold((0, 0), |sum, cell| (sum.0 + cell.trials, sum.1 + cell.correct));
        let pooled = Self { value: correct as f64 / trials as f64, ci95: Some(wilson(correct, trials)), trials };
        (!cells.is_empty()).then_some(pooled)
    }

    /// A perplexity.
    pub fn perplexity(cell: &PerplexityCell) -> Self {
        Self { value: cell.perplexity, ci95: cell.ci95, trials: cell.texts.len() }
    }

    /// How far one perplexity lies above another on the same texts: 0.02 is 2 %.
    pub fn excess(ours: &PerplexityCell, other: &PerplexityCell) -> Self {
        let trials = ours.texts.len();
        match excess(ours, other) {
            Some((value, ci95)) => Self { value, ci95: Some(ci95), trials },
            None => Self { value: ours.perplexity / other.perplexity - 1.0, ci95: None, trials },
        }
    }

    /// Whether its interval lies above the other's, with a gap.
    pub fn is_above(&self, other: &Self) -> bool {
        self.ci95.zip(other.ci95).is_some_and(|(ours, other)| ours[0] > other[1])
    }

    /// Whether the intervals have a number in common.
    pub fn touches(&self, other: &Self) -> bool {
        !self.is_above(other) && !other.is_above(self)
    }

    /// A share in percent: `98.2 [96.6, 99.1]`
    pub fn percent(&self) -> String {
        self.text("", |share| format!("{:.1}", 100.0 * share))
    }

    /// `19.17 [18.73, 19.62]`
    pub fn decimals(&self) -> String {
        self.text("", |number| format!("{number:.2}"))
    }

    /// A difference in percent: `+5.3 % [+4.6, +6.1]`
    pub fn difference(&self) -> String {
        self.text(" %", |share| format!("{:+.1}", 100.0 * share))
    }

    fn text(&self, unit: &str, text: impl Fn(f64) -> String) -> String {
        let interval = self.ci95.map(|[low, high]| format!(" [{}, {}]", text(low), text(high)));
        format!("{}{unit}{}", text(self.value), interval.unwrap_or_default())
    }
}

/// What a system reaches at each length.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub system: String,
    /// Whether the results say of which weights they are. Those that do not are of a model that was not kept.
    pub is_of_known_weights: bool,
    /// By extension factor.
    pub numbers: BTreeMap<usize, Number>,
}

impl Row {
    /// A number a cell.
    pub fn of_cells(system: &str, cells: &[&RetrievalCell], number: fn(&RetrievalCell) -> Number) -> Self {
        Self {
            system: system.to_owned(),
            is_of_known_weights: cells.iter().all(|cell| !cell.fingerprint.is_empty()),
            numbers: cells.iter().map(|cell| (cell.extension, number(cell))).collect(),
        }
    }

    /// A perplexity a cell.
    pub fn of_perplexities(system: &str, cells: &[&PerplexityCell]) -> Self {
        let numbers = cells.iter().map(|cell| (cell.extension, Number::perplexity(cell))).collect();
        Self { system: system.to_owned(), is_of_known_weights: true, numbers }
    }

    /// The number of one length.
    pub fn at(&self, extension: usize) -> Option<&Number> {
        self.numbers.get(&extension)
    }

    /// The share of one length in percent with its interval, or a dash.
    pub fn percent_at(&self, extension: usize) -> String {
        or_dash(self.at(extension).map(Number::percent))
    }

    /// The system, marked where its model was not kept.
    pub fn label(&self) -> String {
        format!("{}{}", self.system, if self.is_of_known_weights { "" } else { " (model not kept)" })
    }

    /// A line of a table with a column a length: shares in percent.
    pub fn line(&self, extensions: &[usize]) -> Vec<String> {
        line(self.label(), extensions.iter().map(|&s| self.percent_at(s)))
    }
}

/// The row of a system.
pub fn find<'a>(rows: &'a [Row], system: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.system == system).filter(|row| !row.numbers.is_empty())
}

/// How many questions rows rest on: `100 or 500`.
pub fn questions<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let counts: BTreeSet<usize> =
        rows.into_iter().flat_map(|row| row.numbers.values()).map(|number| number.trials).collect();
    counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
}

/// Made-up numbers and rows, for tests: shares whose intervals reach so far to both sides.
#[cfg(test)]
pub mod made_up {
    use super::{Number, Row};

    pub fn number(value: f64, half: f64) -> Number {
        Number { value, ci95: Some([value - half, value + half]), trials: 100 }
    }

    pub fn row(system: &str, half: f64, shares: &[(usize, f64)]) -> Row {
        let numbers = shares.iter().map(|&(s, share)| (s, number(share, half))).collect();
        Row { system: system.to_owned(), is_of_known_weights: true, numbers }
    }
}
