//! What is compared of a recalibrated model: losses of its run, and of longer texts by place.

use drope_core::perplexity::{PerplexityCell, TextLoss};
use drope_core::results::HeldOutLine;
use drope_core::stats::student_half_width;

/// Parts of 1,024 tokens up to the ends of the ranges that the protocol names, and their titles.
pub const RANGES: [(std::ops::Range<usize>, &str); 5] =
    [(0..1, "to 1,024"), (1..2, "to 2,048"), (2..4, "to 4,096"), (4..8, "to 8,192"), (8..16, "to 16,384")];

/// A model with the losses during its run.
pub struct Arm {
    pub folder: &'static str,
    pub title: &'static str,
    pub lines: Vec<HeldOutLine>,
}

/// A mean and its 95 % interval, by Student's t.
pub fn mean(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    (mean, student_half_width(numbers).unwrap_or(f64::NAN))
}

pub fn differences(ours: &[f64], others: &[f64]) -> Vec<f64> {
    ours.iter().zip(others).map(|(ours, other)| ours - other).collect()
}

pub fn signed((mean, half): (f64, f64)) -> String {
    format!("{mean:+.3} [{:+.3}, {:+.3}]", mean - half, mean + half)
}

/// Mean loss of a range of a text.
pub fn of_range(text: &TextLoss, range: &std::ops::Range<usize>) -> f64 {
    let parts = text.curve.get(range.clone()).unwrap_or_default();
    let (count, sum) = parts.iter().fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    sum / count as f64
}

/// Mean losses of the last range, text by text.
pub fn far(cell: &PerplexityCell) -> Vec<f64> {
    cell.texts.iter().map(|text| of_range(text, &RANGES[RANGES.len() - 1].0)).collect()
}
