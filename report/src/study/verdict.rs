//! What a hypothesis counts as, by the rules of docs/protocol.md.

use drope_core::stats::BootstrapInterval;

/// Difference in retention within which two are equally good.
pub const EQUAL: f64 = 0.05;

pub const SIGNIFICANCE: f64 = 0.05;

/// Why a hypothesis is not tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untested {
    /// No reading of the rival was chosen on the selection split.
    NothingChosen,
    /// Fewer than three trunks are complete, with both models at or above the gate's threshold.
    TooFewTrunks,
    /// Trunks were asked different numbers of questions.
    QuestionsDiffer,
}

/// What was found of first less second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HypothesisVerdict {
    /// The interval lies within ±5 points.
    AsGood,
    /// The corrected p is below 0.05, and all trunks say so.
    FirstBetter,
    /// The same for the second.
    SecondBetter,
    /// None of these.
    NotShown,
    NotTested(Untested),
}

/// The verdict on differences of trunks, with the interval of their mean and the corrected p. A difference that is both shown
/// and within ±5 points counts as none: what is too small to matter is no finding.
pub fn judge(interval: &BootstrapInterval, p_holm: f64, differences: &[f64]) -> HypothesisVerdict {
    if is_equal(interval) {
        HypothesisVerdict::AsGood
    } else if p_holm < SIGNIFICANCE && differences.iter().all(|&difference| difference > 0.0) {
        HypothesisVerdict::FirstBetter
    } else if p_holm < SIGNIFICANCE && differences.iter().all(|&difference| difference < 0.0) {
        HypothesisVerdict::SecondBetter
    } else {
        HypothesisVerdict::NotShown
    }
}

/// Whether an interval lies within ±5 points.
pub fn is_equal(interval: &BootstrapInterval) -> bool {
    interval.ci95.iter().all(|end| end.abs() <= EQUAL)
}

/// Whether the interval of a difference, DroPE less RoPE, says that RoPE of equal budget does as well or better.
pub fn counts_against_first(interval: &BootstrapInterval) -> bool {
    is_equal(interval) || interval.ci95[1] < 0.0
}

impl HypothesisVerdict {
    /// For the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::AsGood => "as good as",
            Self::FirstBetter => "shown: the first keeps more",
            Self::SecondBetter => "shown: the second keeps more",
            Self::NotShown => "not shown",
            Self::NotTested(_) => "not tested",
        }
    }
}

#[cfg(test)]
mod tests {
    use drope_core::stats::BootstrapInterval;

    use super::{HypothesisVerdict, counts_against_first, judge};

    fn interval(low: f64, high: f64) -> BootstrapInterval {
        BootstrapInterval { estimate: (low + high) / 2.0, ci95: [low, high], p_value: 0.01 }
    }

    #[test]
    fn shown_needs_the_corrected_p_and_one_sign_in_all_trunks() {
        let above = |p, differences: &[f64]| judge(&interval(0.06, 0.3), p, differences);
        assert_eq!(above(0.049, &[0.1, 0.2, 0.3]), HypothesisVerdict::FirstBetter);
        assert_eq!(above(0.05, &[0.1, 0.2, 0.3]), HypothesisVerdict::NotShown);
        assert_eq!(above(0.001, &[0.1, 0.4, -0.01]), HypothesisVerdict::NotShown);
        assert_eq!(above(0.001, &[0.1, 0.4, 0.0]), HypothesisVerdict::NotShown);
        let below = |p, differences: &[f64]| judge(&interval(-0.3, -0.06), p, differences);
        assert_eq!(below(0.049, &[-0.1, -0.2, -0.3]), HypothesisVerdict::SecondBetter);
        assert_eq!(below(0.049, &[-0.1, 0.2, -0.3]), HypothesisVerdict::NotShown);
    }

    #[test]
    fn within_five_points_they_are_as_good_however_small_p_is() {
        assert_eq!(judge(&interval(0.01, 0.05), 0.001, &[0.02, 0.03, 0.04]), HypothesisVerdict::AsGood);
        assert_eq!(judge(&interval(-0.05, 0.05), 1.0, &[0.02, -0.03, 0.04]), HypothesisVerdict::AsGood);
        assert_eq!(judge(&interval(-0.051, 0.02), 1.0, &[0.02, -0.03, 0.04]), HypothesisVerdict::NotShown);
    }

    #[test]
    fn against_drope_is_a_rival_that_does_as_well() {
        let against = |low, high| counts_against_first(&interval(low, high));
        assert!(against(-0.3, -0.06) && against(-0.04, 0.05));
        assert!(!against(-0.3, 0.01) && !against(0.01, 0.06) && !against(0.06, 0.3));
    }
}
