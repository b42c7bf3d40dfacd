//! What other documents say of the second study.

use super::difference::{Difference, Verdict};
use super::hypothesis::Hypothesis;
use super::models::TRUNKS;
use crate::markdown::{capitalised, joined};
use crate::study::{interval_text, p_text};

/// What was judged, as two lists.
pub struct Headline {
    /// The claims with their verdicts, for the README.
    pub brief: String,
    /// The same with their numbers.
    pub list: String,
}

/// `None` where nothing was judged.
pub fn headline(hypotheses: &[Hypothesis]) -> Option<Headline> {
    let mut judged: Vec<&Hypothesis> = hypotheses.iter().filter(|test| test.verdict != Verdict::NotRun).collect();
    // The protocol wants what H4 and H5 say to be said first.
    judged.sort_by_key(|test| !(test.name.starts_with("H4") || test.name.starts_with("H5")));
    let brief = judged.iter().map(|test| format!("- **{}**, {}.\n", claim(test), corrected_p(test))).collect();
    let list = judged.iter().map(|test| format!("- **{}**. {}.\n", claim(test), capitalised(&numbers(test)))).collect();
    (!judged.is_empty()).then_some(Headline { brief, list })
}

fn claim(test: &Hypothesis) -> String {
    format!("{}: {}", capitalised(test.claim), test.verdict.word())
}

fn numbers(test: &Hypothesis) -> String {
    let part = |part: &Difference| format!("{}: {}", part.what, interval_text(&part.interval));
    let note = (!test.note.is_empty()).then(|| test.note.clone());
    let p = (!test.parts.is_empty()).then(|| corrected_p(test));
    joined(note.into_iter().chain(test.parts.iter().map(part)).chain(p), "; ")
}

fn corrected_p(test: &Hypothesis) -> String {
    let p = p_text(test.p_holm);
    let sign = if p.starts_with('<') { "" } else { "= " };
    format!("corrected p {sign}{p}, {} trunks", TRUNKS.count())
}
