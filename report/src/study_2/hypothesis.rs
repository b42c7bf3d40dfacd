//! A hypothesis of docs/protocol-2.md and what was found.

use drope_core::stats::holm;

use super::difference::{Difference, Verdict, judge};
use super::results::Side;

/// A hypothesis and what was found.
#[derive(Clone, Debug)]
pub struct Hypothesis {
    pub name: &'static str,
    pub claim: &'static str,
    /// What is said in place of it where the difference is too small to matter.
    pub as_good: Option<&'static str>,
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

impl Hypothesis {
    /// One whose models were not all measured.
    pub fn not_run(name: &'static str, claim: &'static str) -> Self {
        Self {
            name,
            claim,
            as_good: None,
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
