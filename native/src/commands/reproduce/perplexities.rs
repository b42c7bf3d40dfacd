//! Perplexities as rows of tables.

use drope_core::perplexity::{PerplexityCell, excess};
use drope_core::positions::Method;
use serde::Serialize;

use super::markdown::DASH;

/// A perplexity with its interval; the results file has every text.
#[derive(Clone, Debug, Serialize)]
pub struct PerplexityRow {
    pub system: String,
    pub model: String,
    pub method: Method,
    pub extension: usize,
    /// Nats a token.
    pub loss: f64,
    pub perplexity: f64,
    pub ci95: Option<[f64; 2]>,
    pub answer_perplexity: Option<f64>,
    /// How far it lies above RoPE's, where the two are compared.
    pub excess: Option<Excess>,
}

/// How far one perplexity lies above another on the same texts, as a share: 0.02 is 2 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Excess {
    pub share: f64,
    /// Over the texts' differences; `None` for fewer than two texts.
    pub ci95: Option<[f64; 2]>,
}

impl PerplexityRow {
    pub fn new(system: &str, cell: &PerplexityCell, rope: Option<&PerplexityCell>) -> Self {
        Self {
            system: system.to_owned(),
            model: cell.model.clone(),
            method: cell.method,
            extension: cell.extension,
            loss: cell.loss,
            perplexity: cell.perplexity,
            ci95: cell.ci95,
            answer_perplexity: cell.answer_perplexity,
            excess: rope.map(|rope| Excess::new(cell, rope)),
        }
    }

    /// `19.17 [18.73, 19.62]`
    pub fn text(&self) -> String {
        match self.ci95 {
            Some([low, high]) => format!("{:.2} [{low:.2}, {high:.2}]", self.perplexity),
            None => format!("{:.2}", self.perplexity),
        }
    }

    /// The distance from RoPE's, or a dash.
    pub fn excess_text(&self) -> String {
        self.excess.map_or_else(|| DASH.to_owned(), |excess| excess.text())
    }
}

impl Excess {
    pub fn new(ours: &PerplexityCell, other: &PerplexityCell) -> Self {
        match excess(ours, other) {
            Some((share, ci95)) => Self { share, ci95: Some(ci95) },
            None => Self { share: ours.perplexity / other.perplexity - 1.0, ci95: None },
        }
    }

    /// `+5.3 % [+4.6, +6.1]`
    pub fn text(&self) -> String {
        let interval = self.ci95.map(|ci95| ci95.map(|bound| 100.0 * bound));
        let interval = interval.map_or(String::new(), |[low, high]| format!(" [{low:+.1}, {high:+.1}]"));
        format!("{:+.1} %{interval}", 100.0 * self.share)
    }
}

/// The row of one length.
pub fn at(rows: &[PerplexityRow], extension: usize) -> Option<&PerplexityRow> {
    rows.iter().find(|row| row.extension == extension)
}

/// `19.17 [18.73, 19.62]`, or a dash.
pub fn text(row: Option<&PerplexityRow>) -> String {
    row.map_or_else(|| DASH.to_owned(), PerplexityRow::text)
}
