//! A power law of losses against tokens, and where it reaches a target.

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

/// Values of ln t₀ that are tried at first, and how often the best two of their gaps are narrowed down.
const GRID: usize = 100;
const NARROWINGS: usize = 60;

impl PowerLaw {
    /// The law with the least squares of the logarithms, from points (t, excess) with excesses above 0. For each t₀ a and b follow from
    /// linear regression; t₀ lies between a thousandth of the last t and a hundred times it, first on a grid and then by golden
    /// section around its best value.
    ///
    /// Returns `None` for fewer than four points, for an excess that is not above 0, or if the best law does not fall.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let last = points.iter().map(|point| point.0).fold(0.0, f64::max);
        if points.len() < 4 || last <= 0.0 || points.iter().any(|point| point.1.is_nan() || point.1 <= 0.0) {
            return None;
        }
        let squares = |ln_t0: f64| Self::with_t0(points, ln_t0.exp()).1;
        let (lowest, highest) = ((last * 1e-3).ln(), (last * 1e2).ln());
        let gap = (highest - lowest) / GRID as f64;
        let grid = (0..=GRID).map(|step| lowest + step as f64 * gap);
        let best = grid.min_by(|&one, &other| squares(one).total_cmp(&squares(other)))?;
        let (mut low, mut high) = ((best - gap).max(lowest), (best + gap).min(highest));
        let golden = (5f64.sqrt() - 1.0) / 2.0;
        for _ in 0..NARROWINGS {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            if squares(left) < squares(right) { high = right } else { low = left }
        }
        let (law, _) = Self::with_t0(points, f64::midpoint(low, high).exp());
        (law.b > 0.0).then_some(law)
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
        let law = PowerLaw { a: 2.75, t0: 1.1e5, b: 0.6 };
        let found = PowerLaw::fit(&points(law)).unwrap();
        assert!((found.b / law.b - 1.0).abs() < 1e-3 && (found.t0 / law.t0 - 1.0).abs() < 1e-3, "{found:?}");
        let tokens = law.tokens_to(0.1);
        assert!((law.a * (1.0 + tokens / law.t0).powf(-law.b) - 0.1).abs() < 1e-9);
        assert!((found.tokens_to(0.1) / tokens - 1.0).abs() < 1e-3, "{} and {tokens}", found.tokens_to(0.1));
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
