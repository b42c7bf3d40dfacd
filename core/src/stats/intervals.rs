//! 95 % intervals: Wilson's of proportions, Student's of means.

/// Wilson's 95 % interval for `correct` of `trials` (Wilson 1927); `[0, 1]` for no trials.
pub fn wilson(correct: usize, trials: usize) -> [f64; 2] {
    wilson_of_mean(correct as f64 / trials.max(1) as f64, trials as f64)
}

/// The same for the mean of scores from 0 to 1; rather too wide, as no such scores spread more than zeros and ones of the
/// same mean.
pub fn wilson_of_mean(mean: f64, trials: f64) -> [f64; 2] {
    if trials <= 0.0 {
        return [0.0, 1.0];
    }
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (trials, mean);
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

/// How many independent scores those of groups are worth, whose scores need not be independent: the questions about one haystack.
/// Their number by Kish's design effect (Kish 1965), but no less than there are groups, and that where all scores are alike.
pub fn effective_trials(groups: &[Vec<f64>]) -> f64 {
    let scores = || groups.iter().flatten();
    let (n, count) = (scores().count() as f64, groups.len() as f64);
    let mean = scores().sum::<f64>() / n;
    let squares =
        |deviations: &mut dyn Iterator<Item = f64>| deviations.map(|deviation| deviation * deviation).sum::<f64>();
    let apart = squares(&mut scores().map(|score| score - mean));
    let of_groups = squares(&mut groups.iter().map(|group| group.iter().map(|score| score - mean).sum::<f64>()));
    if apart == 0.0 || count < 2.0 {
        return count;
    }
    // Variances of the sum: by groups, and as if every score stood alone.
    let effect = (of_groups * count / (count - 1.0)) / (apart * n / (n - 1.0));
    (n / effect).clamp(count, n)
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
    use super::{effective_trials, wilson};

    #[test]
    fn agrees_with_published_values() {
        // Newcombe 1998, table I: 81 of 263.
        let [low, high] = wilson(81, 263);
        assert!((low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4, "{low} {high}");
        // 0 of 20 has its lower end at exactly 0.
        let [low, high] = wilson(0, 20);
        assert!(low == 0.0 && (high - 0.1611).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn groups_that_agree_count_once_each() {
        let agree: Vec<Vec<f64>> = (0..10).map(|group| vec![f64::from(group % 2); 4]).collect();
        assert!((effective_trials(&agree) - 10.0).abs() < 1e-9, "{}", effective_trials(&agree));
        let alone: Vec<Vec<f64>> = agree.iter().map(|group| vec![group[0]]).collect();
        assert_eq!(effective_trials(&alone), 10.0);
        // As mixed as can be: the groups do not differ at all.
        assert_eq!(effective_trials(&vec![vec![0.0, 1.0]; 6]), 12.0);
        // Nothing is known of how alike they are.
        assert_eq!(effective_trials(&vec![vec![1.0; 4]; 5]), 5.0);
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
