//! The models of docs/protocol-real.md, and what is compared of them: losses of their runs, and of longer texts by place.

use drope_core::perplexity::{PerplexityCell, TextLoss};
use drope_core::positions::Method;
use drope_core::results::HeldOutLine;
use drope_core::stats::student_half_width;

/// Parts of 1,024 tokens up to the ends of the ranges that the protocol names, and their titles.
pub const RANGES: [(std::ops::Range<usize>, &str); 5] =
    [(0..1, "1–1,024"), (1..2, "1,025–2,048"), (2..4, "2,049–4,096"), (4..8, "4,097–8,192"), (8..16, "8,193–16,384")];

/// The model as training begins with it.
pub const UNTRAINED: &str = "smollm2";

/// Which positions a run drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dropped {
    None,
    Low,
    All,
}

/// A run of the study.
#[derive(Debug)]
pub struct Run {
    pub folder: &'static str,
    pub title: &'static str,
    pub dropped: Dropped,
    /// The run with as many updates that keeps its positions; its own folder where it is that one.
    pub control: &'static str,
}

/// The runs in the order of the protocol; those of 250 updates are what it asks for of every arm.
pub const RUNS: [Run; 7] = [
    Run::of_250("run-rope", "control (RoPE, trained as long)", Dropped::None),
    Run::of_250("run-p-drope", "partial DroPE", Dropped::Low),
    Run::of_250("run-p-drope-copies", "partial DroPE with copies", Dropped::Low),
    Run::of_250("run-drope", "DroPE", Dropped::All),
    Run::of_250("run-drope-copies", "DroPE with copies", Dropped::All),
    Run::of_500("run-rope-500", "control, 500 updates", Dropped::None),
    Run::of_500("run-drope-500", "DroPE, 500 updates", Dropped::All),
];

impl Run {
    const fn of_250(folder: &'static str, title: &'static str, dropped: Dropped) -> Self {
        Self { folder, title, dropped, control: "run-rope" }
    }

    const fn of_500(folder: &'static str, title: &'static str, dropped: Dropped) -> Self {
        Self { folder, title, dropped, control: "run-rope-500" }
    }

    pub fn of(folder: &str) -> Option<&'static Self> {
        RUNS.iter().find(|run| run.folder == folder)
    }

    /// Whether a run of 250 updates is asked for of every arm.
    pub fn is_long(&self) -> bool {
        self.control != RUNS[0].control
    }
}

/// A model with the losses during its run.
pub struct Arm {
    pub run: &'static Run,
    pub lines: Vec<HeldOutLine>,
}

impl Arm {
    pub fn of<'a>(arms: &'a [Self], folder: &str) -> Option<&'a Self> {
        arms.iter().find(|arm| arm.run.folder == folder)
    }

    /// The control of an arm that dropped positions.
    pub fn control<'a>(&self, arms: &'a [Self]) -> Option<&'a Self> {
        Self::of(arms, self.run.control).filter(|control| control.run.folder != self.run.folder)
    }

    /// Losses of the windows after the last update.
    pub fn at_the_end(&self) -> Vec<f64> {
        self.lines.last().map(|line| line.windows.clone()).unwrap_or_default()
    }
}

/// `control (RoPE, trained as long), YaRN`
pub fn title(model: &str, method: Method) -> String {
    let run = Run::of(model);
    let name = run.map_or("original", |run| run.title);
    let is_read_in_several_ways = run.is_none_or(|run| run.dropped == Dropped::None);
    if is_read_in_several_ways { format!("{name}, {}", method.title()) } else { name.to_owned() }
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
fn of_range(text: &TextLoss, range: &std::ops::Range<usize>) -> f64 {
    let parts = text.curve.get(range.clone()).unwrap_or_default();
    let (count, sum) = parts.iter().fold((0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    sum / count as f64
}

/// Mean losses of the last range, text by text.
pub fn far(cell: &PerplexityCell) -> Vec<f64> {
    losses(cell, RANGES.len() - 1)
}

/// Mean losses of one of the [`RANGES`], text by text.
pub fn losses(cell: &PerplexityCell, range: usize) -> Vec<f64> {
    cell.texts.iter().map(|text| of_range(text, &RANGES[range].0)).collect()
}
