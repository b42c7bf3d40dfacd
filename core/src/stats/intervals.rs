//! 95 % intervals: Wilson's of proportions, Student's of means.

/// Wilson's 95 % interval for `correct` of `trials` (Wilson 1927); `[0, 1]` for no trials.
pub fn wilson(correct: usize, trials: usize) -> [f64; 2] {
    wilson_of_mean(correct as f64 / trials.max(1) as f64, trials as f64)
}

/// The same for the mean of scores from 0 to 1. The interval is somewhat too wide, since such scores vary at most as
/// much as zeros and ones with the same mean.
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

/// Effective number of independent scores, for scores in groups whose members may depend on each other, such as the
/// questions about one haystack.
///
/// The number of scores is divided by Kish's design effect (Kish 1965), with t in place of z for few groups (Korn and
/// Graubard 1998). For the effect, two groups are added, one all right and one all wrong, so that scores that are all
/// equal do not count as independent.
#[cfg(feature = "statistics")]
pub fn effective_trials(groups: &[Vec<f64>]) -> f64 {
    let (n, count) = (groups.iter().map(Vec::len).sum::<usize>() as f64, groups.len() as f64);
    let largest = groups.iter().map(Vec::len).max().unwrap_or(0);
    if largest < 2 {
        return n;
    }
    if groups.len() < 2 {
        return 1.0;
    }
    let further = [vec![1.0; largest], vec![0.0; largest]];
    let all: Vec<&[f64]> = groups.iter().chain(&further).map(Vec::as_slice).collect();
    let (scores, groups) = (n + 2.0 * largest as f64, count + 2.0);
    let mean = all.concat().iter().sum::<f64>() / scores;
    let squares = |deviations: Vec<f64>| deviations.iter().map(|deviation| deviation * deviation).sum::<f64>();
    let apart = squares(all.concat().iter().map(|score| score - mean).collect());
    let of_groups = squares(all.iter().map(|group| group.iter().map(|score| score - mean).sum()).collect());
    // Variances of the sum: with the groups, and as if every score were independent.
    let effect = (of_groups * groups / (groups - 1.0)) / (apart * scores / (scores - 1.0));
    let t = |freedom: f64| student_quantile(freedom).unwrap_or(f64::INFINITY);
    n / effect.clamp(1.0, n / count) * (t(n - 1.0) / t(count - 1.0)).powi(2)
}

/// Quantile of Student's t, for two-sided intervals of 95 %.
#[cfg(feature = "statistics")]
fn student_quantile(freedom: f64) -> Option<f64> {
    use statrs::distribution::ContinuousCDF;
    Some(statrs::distribution::StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975))
}

/// Half of the 95 % interval of a mean, by Student's t; `None` for fewer than two numbers.
#[cfg(feature = "statistics")]
pub fn student_half_width(numbers: &[f64]) -> Option<f64> {
    let freedom = numbers.len().checked_sub(2)? as f64 + 1.0;
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / freedom;
    Some(student_quantile(freedom)? * (variance / numbers.len() as f64).sqrt())
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
    fn scores_of_groups_are_worth_what_their_likeness_leaves() {
        use super::{effective_trials, wilson_of_mean};
        let alike: Vec<Vec<f64>> = (0..40).map(|group| vec![f64::from(group % 2); 4]).collect();
        // 40 groups of 160 scores: t for 39 degrees of freedom is 2.0227, for 159 it is 1.9750.
        assert!((effective_trials(&alike) - 40.0 * (1.9750f64 / 2.0227).powi(2)).abs() < 0.01);
        let alone: Vec<Vec<f64>> = alike.iter().map(|group| vec![group[0]]).collect();
        assert_eq!(effective_trials(&alone), 40.0);
        let mixed = vec![vec![0.0, 1.0, 0.0, 1.0]; 40];
        assert!(effective_trials(&mixed) > 140.0, "{}", effective_trials(&mixed));
        // The lower bound rises with every right answer, to the last.
        let lower = |right: usize| {
            let is_right = |at: usize| f64::from(u8::from(at < right));
            let groups: Vec<Vec<f64>> =
                (0..25).map(|group| (0..4).map(|at| is_right(group * 4 + at)).collect()).collect();
            wilson_of_mean(right as f64 / 100.0, effective_trials(&groups))[0]
        };
        let bounds: Vec<f64> = (90..=100).map(lower).collect();
        assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        assert_eq!(effective_trials(&[vec![1.0, 0.0]]), 1.0);
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
