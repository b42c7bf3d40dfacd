//! 95 % intervals: Wilson's of proportions, Student's of means.

/// Wilson's 95 % interval for `correct` of `trials` (Wilson 1927); `[0, 1]` for no trials.
pub fn wilson(correct: usize, trials: usize) -> [f64; 2] {
    wilson_of_mean(correct as f64 / trials.max(1) as f64, trials)
}

/// The same for the mean of scores from 0 to 1; rather too wide, as no such scores spread more than zeros and ones of the
/// same mean.
pub fn wilson_of_mean(mean: f64, trials: usize) -> [f64; 2] {
    if trials == 0 {
        return [0.0, 1.0];
    }
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (trials as f64, mean);
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

/// Half of the 95 % interval of a mean, by Student's t; `None` for fewer than two numbers.
#[cfg(feature = "statistics")]
pub fn student_half_width(numbers: &[f64]) -> Option<f64> {
    use statrs::distribution::ContinuousCDF;
    let freedom = numbers.len().checked_sub(2)? as f64 + 1.0;
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / freedom;
    let t = statrs::distribution::StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    Some(t * (variance / numbers.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn agrees_with_published_values() {
        // Newcombe 1998, table I: 81 of 263.
        let [low, high] = wilson(81, 263);
        assert!((low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4, "{low} {high}");
        // 0 of 20 has its lower end at exactly 0.
        let [low, high] = wilson(0, 20);
        assert!(low == 0.0 && (high - 0.1611).abs() < 1e-4, "{low} {high}");
    }

    #[cfg(feature = "statistics")]
    #[test]
    fn means_have_students_interval() {
        // Standard error 1; t for 97.5 % at 3 degrees of freedom is 3.182446.
        let half = super::student_half_width(&[-1.5, -1.5, 1.5, 1.5]).unwrap();
        assert!((half - 3.182_446 * 3f64.sqrt() / 2.0).abs() < 1e-5, "{half}");
        assert_eq!(super::student_half_width(&[1.0]), None);
    }
}
