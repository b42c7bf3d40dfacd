//! McNemar's exact test: whether one of two methods answers more of the same questions.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Numbers of questions that only one of two methods answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct McNemar {
    /// Questions that only the first answered.
    pub only_first: usize,
    /// Questions that only the second answered.
    pub only_second: usize,
    /// Two-sided p-value of the hypothesis that both are as likely to be the one that answers.
    pub p_value: f64,
}

/// McNemar's test in its exact, conditional form (McNemar 1947, Psychometrika 12; Fagerland et al. 2013, BMC Medical Research
/// Methodology 13:91): of the n = b + c questions that only one answered, b would be binomial with probability 1/2, so that
/// p = min(1, 2·P(X ≤ min(b, c))). An outcome is whether the first answered, and whether the second did.
///
/// It treats the questions as independent: those of one trained model. Over several training seeds see
/// [`paired_bootstrap`](super::paired_bootstrap).
pub fn mcnemar(outcomes: impl IntoIterator<Item = (bool, bool)>) -> McNemar {
    let (mut only_first, mut only_second) = (0, 0);
    for outcome in outcomes {
        match outcome {
            (true, false) => only_first += 1,
            (false, true) => only_second += 1,
            _ => {}
        }
    }
    let differing = (only_first + only_second) as u64;
    let p_value = match Binomial::new(0.5, differing) {
        Ok(binomial) if differing > 0 => (2.0 * binomial.cdf(only_first.min(only_second) as u64)).min(1.0),
        _ => 1.0,
    };
    McNemar { only_first, only_second, p_value }
}

#[cfg(test)]
mod tests {
    use super::mcnemar;

    #[test]
    fn agrees_with_statsmodels() {
        // From tests/statistics_reference.py: questions that only the first and only the second answered, and p.
        for (b, c, expected) in [
            (0usize, 0usize, 1.0),
            (0, 5, 0.0625),
            (3, 3, 1.0),
            (7, 20, 0.019_157_290_458_679_2),
            (41, 95, 4.170_408_807_838_569e-6),
            (300, 420, 8.807_756_168_615_114e-6),
        ] {
            let only = |count, outcome| std::iter::repeat_n(outcome, count);
            let both = only(10, (true, true)).chain(only(4, (false, false)));
            let result = mcnemar(both.chain(only(b, (true, false))).chain(only(c, (false, true))));
            assert_eq!((result.only_first, result.only_second), (b, c));
            assert!((result.p_value / expected - 1.0).abs() < 1e-10, "{b} {c}: {} {expected}", result.p_value);
        }
    }
}
