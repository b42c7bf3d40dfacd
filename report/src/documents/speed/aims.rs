//! What was aimed at, and where it was reached.

use crate::markdown::{capitalised, section};

/// A number of one machine, or of one setting on it.
pub struct Measured {
    pub place: String,
    pub value: f64,
    /// The number with its range.
    pub text: String,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    /// By how much a number misses it; not positive where it does not.
    fn shortfall(&self, value: f64) -> f64 {
        match self {
            Self::AtLeast(bound) => bound - value,
            Self::AtMost(bound) => value - bound,
        }
    }
}

/// A bound, and what was measured of it.
pub struct Aim {
    what: &'static str,
    bound: Bound,
    measured: Vec<Measured>,
}

impl Aim {
    pub fn at_least(bound: f64, what: &'static str, measured: Vec<Measured>) -> Self {
        Self { what, bound: Bound::AtLeast(bound), measured }
    }

    pub fn at_most(bound: f64, what: &'static str, measured: Vec<Measured>) -> Self {
        Self { what, bound: Bound::AtMost(bound), measured }
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
    let shortfall = |measured: &&Measured| aim.bound.shortfall(measured.value);
    let all = aim.measured.len();
    let reached = aim.measured.iter().filter(|measured| shortfall(measured) <= 0.0).count();
    let farthest = aim.measured.iter().max_by(|a, b| shortfall(a).total_cmp(&shortfall(b)));
    let named = farthest.map(|measured| format!("{}: {}", measured.place, measured.text)).unwrap_or_default();
    let verdict = match (reached, all) {
        (1, 1) => format!("reached ({named})"),
        (0, 1) => format!("not reached ({named})"),
        (0, _) => format!("reached in none of {all} rows; farthest from it: {named}"),
        _ if reached == all => format!("reached in all {all} rows"),
        _ => format!("reached in {reached} of {all} rows; farthest from it: {named}"),
    };
    format!("- **{}**: {verdict}.\n", capitalised(aim.what))
}

#[cfg(test)]
mod tests {
    use super::{Aim, Measured, text};

    #[test]
    fn the_farthest_from_an_aim_is_named_with_its_number() {
        let measured =
            |place: &str, value: f64| Measured { place: place.to_owned(), value, text: format!("{value:.1}") };
        let both = || vec![measured("P, 1 thread", 1.3), measured("P, 2 threads", 1.1)];
        let aims = [
            Aim::at_least(1.2, "speed", both()),
            Aim::at_most(1.4, "cost", both()),
            Aim::at_most(1.0, "memory", both()),
            Aim::at_least(1.0, "nothing measured", Vec::new()),
        ];
        let expected = "- **Speed**: reached in 1 of 2 rows; farthest from it: P, 2 threads: 1.1.\n- **Cost**: reached in all 2 rows.\n\
                        - **Memory**: reached in none of 2 rows; farthest from it: P, 1 thread: 1.3.\n";
        let text = text(&aims);
        assert!(text.contains(expected) && !text.contains("Nothing"), "{text}");
    }
}
