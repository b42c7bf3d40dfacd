//! A power law of losses against tokens, and where it comes down to a target.

/// How far a loss lies above its limit after t tokens: a·(1 + t/t₀)^−b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// What lies above the limit before any token.
    pub a: f64,
    /// Tokens after which the law begins to fall as t^−b.
    pub t0: f64,
    /// The exponent.
    pub b: f64,
}

/// Values of t₀ that are tried for each factor of ten.
const STEPS_PER_DECADE: usize = 20;

impl PowerLaw {
    /// The law with the least squares of the logarithms, from points (t, excess) with excesses above 0. For each t₀ on a grid from a
    /// thousandth of the last t to a hundred times it, a and b follow from linear regression.
    ///
    /// Returns `None` for fewer than four points, or if no law falls.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let last = points.iter().map(|point| point.0).fold(0.0, f64::max);
        if points.len() < 4 || last <= 0.0 || points.iter().any(|point| point.1.is_nan() || point.1 <= 0.0) {
            return None;
        }
        let grid =
            (0..=5 * STEPS_PER_DECADE).map(|step| last * 10f64.powf(step as f64 / STEPS_PER_DECADE as f64 - 3.0));
        let laws = grid.map(|t0| Self::with_t0(points, t0)).filter(|(law, _)| law.b > 0.0);
        laws.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(law, _)| law)
    }

    /// Tokens after which the loss lies `excess` above the limit.
    pub fn tokens_to(&self, excess: f64) -> f64 {
        self.t0 * ((self.a / excess).powf(1.0 / self.b) - 1.0).max(0.0)
    }

    /// The best law of this t₀, and its sum of squares.
    fn with_t0(points: &[(f64, f64)], t0: f64) -> (Self, f64) {
        let logs = points.iter().map(|&(t, excess)| ((t / t0).ln_1p(), excess.ln()));
        let count = points.len() as f64;
        let (sum_x, sum_y) = logs.clone().fold((0.0, 0.0), |(x, y), log| (x + log.0, y + log.1));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let products = logs.clone().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
        let slope = products / logs.clone().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
        let intercept = mean_y - slope * mean_x;
        let squares = logs.map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();
        (Self { a: intercept.exp(), t0, b: -slope }, squares)
    }
}

#[cfg(test)]
mod tests {
    use super::PowerLaw;

    fn points(law: PowerLaw) -> Vec<(f64, f64)> {
        (0..14).map(|step| f64::from(step) * 8e4).map(|t| (t, law.a * (1.0 + t / law.t0).powf(-law.b))).collect()
    }

    #[test]
    fn a_law_is_found_again_and_says_when_it_reaches_a_target() {
        let law = PowerLaw { a: 2.75, t0: 1.04e5, b: 0.6 };
        let found = PowerLaw::fit(&points(law)).unwrap();
        assert!((found.b / law.b - 1.0).abs() < 0.05 && (found.t0 / law.t0 - 1.0).abs() < 0.1, "{found:?}");
        let tokens = law.tokens_to(0.1);
        assert!((law.a * (1.0 + tokens / law.t0).powf(-law.b) - 0.1).abs() < 1e-9);
        assert!((found.tokens_to(0.1) / tokens - 1.0).abs() < 0.1, "{} and {tokens}", found.tokens_to(0.1));
        assert_eq!(law.tokens_to(3.0), 0.0, "it is there from the beginning");
    }

    #[test]
    fn what_does_not_fall_or_is_too_little_has_no_law() {
        let rising: Vec<(f64, f64)> = (0..6).map(|step| (f64::from(step), 1.0 + f64::from(step))).collect();
        assert_eq!(PowerLaw::fit(&rising), None);
        assert_eq!(PowerLaw::fit(&points(PowerLaw { a: 1.0, t0: 1e5, b: 1.0 })[..3]), None);
        assert_eq!(PowerLaw::fit(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.2), (3.0, -0.1)]), None);
    }
}
