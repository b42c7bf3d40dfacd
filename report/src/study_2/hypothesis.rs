//! A hypothesis of docs/protocol-2.md and what was found.

use drope_core::stats::holm;

use crate::markdown::{joined, list};

use super::difference::{Difference, Verdict, judge};
use super::results::{Asked, Side};

/// A hypothesis and what was found.
#[derive(Clone, Debug)]
pub struct Hypothesis {
    pub name: &'static str,
    pub claim: &'static str,
    /// What is said in place of it where the difference is too small to matter.
    pub as_good: Option<&'static str>,
    /// Of H5, which has a test for each task and measure.
    pub measured: Option<Measured>,
    /// What was chosen on the way.
    pub note: String,
    /// All must be above 0.
    pub parts: Vec<Difference>,
    /// The runs that are compared.
    pub sides: Vec<Side>,
    /// Corrected over all.
    pub p_holm: f64,
    pub verdict: Verdict,
}

/// What is asked, and whether each model is compared with itself at 1×.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    pub asked: Asked,
    pub is_relative: bool,
}

impl Measured {
    pub fn measure(self) -> &'static str {
        if self.is_relative { "as a share of the accuracy at 1×" } else { "in plain accuracy" }
    }
}

impl Hypothesis {
    /// One whose models were not all measured.
    pub fn not_run(name: &'static str, claim: &'static str) -> Self {
        Self {
            name,
            claim,
            as_good: None,
            measured: None,
            note: String::new(),
            parts: Vec::new(),
            sides: Vec::new(),
            p_holm: 1.0,
            verdict: Verdict::NotRun,
        }
    }

    /// One with its differences, before the correction; without them it was not run.
    pub fn tested(name: &'static str, claim: &'static str, note: String, parts: Option<Vec<Difference>>) -> Self {
        Self { note, parts: parts.unwrap_or_default(), ..Self::not_run(name, claim) }
    }

    /// The largest of its differences' p-values; 1 where none is tested.
    fn p_value(&self) -> f64 {
        self.parts.iter().map(|part| part.interval.p_value).reduce(f64::max).unwrap_or(1.0)
    }
}

/// What tests are of which say the same: `primary task and decoys, in plain accuracy, after 1 M tokens`.
pub fn scope(tests: &[&Hypothesis]) -> String {
    let measured: Vec<Measured> = tests.iter().filter_map(|test| test.measured).collect();
    // Tasks, and the measures that they share.
    let mut groups: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for of_task in measured.chunk_by(|first, second| first.asked == second.asked) {
        let title = of_task[0].asked.title();
        let measures: Vec<&str> = of_task.iter().map(|measured| measured.measure()).collect();
        match groups.iter_mut().find(|(_, shared)| *shared == measures) {
            Some((titles, _)) => titles.push(title),
            None => groups.push((vec![title], measures)),
        }
    }
    let of_groups = groups.iter().map(|(titles, measures)| format!("{}, {}", list(titles), list(measures)));
    let note = tests.iter().map(|test| test.note.clone()).find(|note| !note.is_empty());
    joined(of_groups.chain(note), ", ")
}

/// The hypotheses with p-values corrected over all of them, those that were not run included, and their verdicts.
pub fn judged(mut hypotheses: Vec<Hypothesis>) -> Vec<Hypothesis> {
    let p_values: Vec<f64> = hypotheses.iter().map(Hypothesis::p_value).collect();
    for (hypothesis, corrected) in hypotheses.iter_mut().zip(holm(&p_values)) {
        hypothesis.p_holm = corrected;
        if hypothesis.verdict != Verdict::Refuted {
            hypothesis.verdict = judge(&hypothesis.parts, corrected);
        }
    }
    hypotheses
}
