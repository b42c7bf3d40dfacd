//! What was aimed at, and where it was reached.

use std::ops::RangeInclusive;

use crate::markdown::{capitalised, joined, section};

/// A number of one machine, or of one setting on it.
pub struct Measured {
    pub place: String,
    pub value: f64,
    /// The number with its range.
    pub text: String,
}

/// A bound, and what was measured of it.
pub struct Aim {
    what: &'static str,
    /// The numbers that reach it.
    reached: RangeInclusive<f64>,
    measured: Vec<Measured>,
}

impl Aim {
    pub fn at_least(bound: f64, what: &'static str, measured: Vec<Measured>) -> Self {
        Self { what, reached: bound..=f64::INFINITY, measured }
    }

    pub fn at_most(bound: f64, what: &'static str, measured: Vec<Measured>) -> Self {
        Self { what, reached: f64::NEG_INFINITY..=bound, measured }
    }
}

/// The section; nothing where nothing is measured.
pub fn text(aims: &[Aim]) -> String {
    let aims: Vec<String> = aims.iter().filter(|aim| !aim.measured.is_empty()).map(item).collect();
    if aims.is_empty() {
        return String::new();
    }
    let preface = "Targets of the project, each compared with the medians of the tables below; [why some are missed](design.md#where-speed-ends). \
                   Family 25 of AMD is Zen 3 with avx2 alone and Zen 4 with avx512f, family 26 Zen 5; the machines are virtual, with two processors.\n\n";
    section("Aims", &format!("{preface}{}", aims.concat()))
}

fn item(aim: &Aim) -> String {
    let missed: Vec<&Measured> =
        aim.measured.iter().filter(|measured| !aim.reached.contains(&measured.value)).collect();
    let (all, reached) = (aim.measured.len(), aim.measured.len() - missed.len());
    let named = |measured: &Measured| format!("{}: {}", measured.place, measured.text);
    let missed = joined(missed.into_iter().map(named), "; ");
    let verdict = match &aim.measured[..] {
        [only] => format!("{} ({})", if reached == 1 { "reached" } else { "not reached" }, named(only)),
        _ if reached == 0 => format!("reached nowhere ({missed})"),
        _ if reached == all => format!("reached in all {all} rows"),
        _ => format!("reached in {reached} of {all} rows, and not in: {missed}"),
    };
    format!("- **{}**: {verdict}.\n", capitalised(aim.what))
}

#[cfg(test)]
mod tests {
    use super::{Aim, Measured, text};

    #[test]
    fn what_is_missed_is_named_with_its_number() {
        let measured =
            |place: &str, value: f64| Measured { place: place.to_owned(), value, text: format!("{value:.1}") };
        let both = || vec![measured("P, 1 thread", 1.3), measured("P, 2 threads", 1.1)];
        let aims = [
            Aim::at_least(1.2, "speed", both()),
            Aim::at_most(1.4, "cost", both()),
            Aim::at_most(1.0, "memory", both()),
            Aim::at_least(1.0, "nothing measured", Vec::new()),
        ];
        let expected = "- **Speed**: reached in 1 of 2 rows, and not in: P, 2 threads: 1.1.\n- **Cost**: reached in all 2 rows.\n\
                        - **Memory**: reached nowhere (P, 1 thread: 1.3; P, 2 threads: 1.1).\n";
        let text = text(&aims);
        assert!(text.contains(expected) && !text.contains("Nothing"), "{text}");
    }
}
