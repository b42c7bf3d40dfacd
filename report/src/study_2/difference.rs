//! A difference between models over trunks, with its interval, and what it counts as.

use drope_core::stats::{BootstrapInterval, PairedMeans, PairedOutcomes, paired_bootstrap};

use super::models::TRUNKS;
use crate::study::{EQUAL, RANDOM_SEED, RESAMPLES, SIGNIFICANCE, is_equal};

/// First less second.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What is compared.
    pub what: String,
    /// Of each trunk that enters.
    pub trunks: Vec<(usize, f64)>,
    pub interval: BootstrapInterval,
}

impl Difference {
    /// Of all trunks; `None` where one has no outcomes, or they were asked different numbers of questions.
    pub fn new<const METHODS: usize>(
        what: String,
        outcomes: &[(usize, PairedOutcomes<METHODS>)],
        statistic: impl Fn(&PairedMeans<METHODS>) -> f64,
    ) -> Option<Self> {
        let paired: Vec<PairedOutcomes<METHODS>> = outcomes.iter().map(|(_, paired)| paired.clone()).collect();
        let trunks: Vec<(usize, f64)> =
            outcomes.iter().map(|(trunk, paired)| (*trunk, statistic(&PairedMeans::of(paired)))).collect();
        if trunks.len() < TRUNKS.count() {
            return None;
        }
        let interval = paired_bootstrap(&paired, statistic, RESAMPLES, RANDOM_SEED)?;
        Some(Self { what, trunks, interval })
    }
}

/// What a hypothesis counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The corrected p is below 0.05, and every difference of every trunk is above 0.
    Shown,
    /// The same below 0.
    Opposite,
    /// The interval of a difference lies within ±5 points, whatever its p, and no other reaches below: what is too small to matter is no finding.
    AsGood,
    /// None of these.
    NotShown,
    /// What the protocol says refutes it without a test.
    Refuted,
    /// Not measured.
    NotRun,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::Opposite => "the opposite is shown",
            Self::AsGood => "as good as",
            Self::NotShown => "not shown",
            Self::Refuted => "refuted",
            Self::NotRun => "not run",
        }
    }
}

/// The verdict on differences that must all be above 0, with their corrected p.
pub fn judge(parts: &[Difference], p_holm: f64) -> Verdict {
    let all = |is_so: fn(f64) -> bool| parts.iter().flat_map(|part| &part.trunks).all(|&(_, value)| is_so(value));
    let is_as_good =
        parts.iter().any(|part| is_equal(&part.interval)) && parts.iter().all(|part| part.interval.ci95[0] >= -EQUAL);
    match parts {
        [] => Verdict::NotRun,
        _ if is_as_good => Verdict::AsGood,
        _ if p_holm < SIGNIFICANCE && all(|value| value > 0.0) => Verdict::Shown,
        _ if p_holm < SIGNIFICANCE && all(|value| value < 0.0) => Verdict::Opposite,
        _ => Verdict::NotShown,
    }
}

#[cfg(test)]
mod tests {
    use drope_core::stats::{BootstrapInterval, PairedMeans};

    use super::{Difference, Verdict, judge};

    fn part(trunks: &[f64], low: f64, high: f64) -> Difference {
        let interval = BootstrapInterval { estimate: (low + high) / 2.0, ci95: [low, high], p_value: 0.01 };
        Difference { what: String::new(), trunks: (6..).zip(trunks.iter().copied()).collect(), interval }
    }

    #[test]
    fn shown_needs_every_difference_of_every_trunk_and_the_corrected_p() {
        let above = part(&[0.1, 0.2, 0.3], 0.06, 0.3);
        assert_eq!(judge(std::slice::from_ref(&above), 0.04), Verdict::Shown);
        assert_eq!(judge(std::slice::from_ref(&above), 0.05), Verdict::NotShown);
        assert_eq!(judge(&[above.clone(), part(&[0.1, -0.1, 0.2], 0.06, 0.3)], 0.01), Verdict::NotShown);
        assert_eq!(judge(&[part(&[-0.1, -0.2, -0.3], -0.3, -0.06)], 0.01), Verdict::Opposite);
        let equal = part(&[0.01, 0.02, 0.03], -0.01, 0.05);
        assert_eq!(judge(std::slice::from_ref(&equal), 0.01), Verdict::AsGood);
        assert_eq!(judge(&[above, equal.clone()], 0.01), Verdict::AsGood);
        assert_eq!(judge(&[part(&[-0.2, -0.2, -0.2], -0.25, -0.15), equal], 0.01), Verdict::NotShown);
        assert_eq!(judge(&[], 1.0), Verdict::NotRun);
    }

    #[test]
    fn no_trunk_may_be_missing() {
        let outcomes = |trunk| (trunk, vec![vec![[1.0, 0.0], [1.0, 1.0]]]);
        let difference = |trunks: &[usize]| {
            let outcomes: Vec<_> = trunks.iter().copied().map(outcomes).collect();
            Difference::new("x".to_owned(), &outcomes, PairedMeans::difference)
        };
        assert!(difference(&[6, 7, 8, 9]).is_none());
        let found = difference(&[6, 7, 8, 9, 10]).unwrap();
        assert_eq!((found.interval.estimate, found.trunks[0]), (0.5, (6, 0.5)));
    }
}
