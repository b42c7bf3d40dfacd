//! A paired bootstrap over training seeds and questions.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The scores of several methods on the same questions, with models of one training seed: for each condition, such as a
/// length, and each question the scores of all, from 0 to 1.
pub type PairedOutcomes<const METHODS: usize = 2> = Vec<Vec<[f64; METHODS]>>;

/// Mean scores of several methods: for each condition the mean over training seeds of the mean over questions.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedMeans<const METHODS: usize = 2>(pub Vec<[f64; METHODS]>);

impl<const METHODS: usize> PairedMeans<METHODS> {
    /// Means over the questions of one training seed.
    pub fn of(outcomes: &PairedOutcomes<METHODS>) -> Self {
        let everything: Vec<Vec<usize>> = outcomes.iter().map(|questions| (0..questions.len()).collect()).collect();
        means(&[outcomes], &everything)
    }
}

impl PairedMeans {
    /// First less second, as the mean over the conditions: positive where the first is better.
    pub fn difference(&self) -> f64 {
        self.0.iter().map(|[first, second]| first - second).sum::<f64>() / self.0.len() as f64
    }

    /// First less second, each as the mean over the conditions after the first, divided by its own mean in the first.
    /// If the first condition is the training length (1×), this compares the shares of their accuracy that the methods
    /// keep at other lengths. Not a finite number if a mean in the first condition is 0.
    pub fn relative_difference(&self) -> f64 {
        let relative = |method: usize| {
            let others = &self.0[1..];
            others.iter().map(|means| means[method]).sum::<f64>() / others.len() as f64 / self.0[0][method]
        };
        relative(0) - relative(1)
    }
}

/// A statistic with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapInterval {
    /// The statistic of the measured outcomes.
    pub estimate: f64,
    /// 2.5 % and 97.5 % percentiles of the resamples.
    pub ci95: [f64; 2],
    /// Two-sided p-value of the hypothesis that the statistic is 0: 1 less the level at which a percentile interval would
    /// just reach 0. That is twice the smaller share of resamples on one side of 0, the 0 included, where one resample more
    /// is counted so that it is never 0; at most 1.
    pub p_value: f64,
}

/// The interval of `statistic` by a paired bootstrap over training seeds and questions: each resample draws as many training seeds
/// as there are and, for each condition, as many questions as it has, both with replacement. A drawn question counts for every
/// drawn seed and for all methods: all of them answered the same one (the crossed bootstrap of Owen 2007, The pigeonhole
/// bootstrap, Annals of Applied Statistics 1, 386). The interval is the percentile interval (Efron and Tibshirani 1993, An
/// Introduction to the Bootstrap, chapter 13). `random_seed` decides on the resamples.
///
/// Resamples of k training seeds have (k − 1)/k of the variance between seeds, so that intervals of few seeds that differ
/// much are too narrow; the noise of single answers counts more than once, which makes them wider.
///
/// Returns `None` if there are no training seeds, seeds differ in their conditions or numbers of questions, a condition has no
/// questions, or the statistic is not a number in the data or in more than 1 of 1000 resamples, which are otherwise left out.
pub fn paired_bootstrap<const METHODS: usize>(
    seeds: &[PairedOutcomes<METHODS>],
    statistic: impl Fn(&PairedMeans<METHODS>) -> f64,
    resamples: usize,
    random_seed: u64,
) -> Option<BootstrapInterval> {
    let questions: Vec<usize> = seeds.first()?.iter().map(Vec::len).collect();
    let is_alike = |seed: &PairedOutcomes<METHODS>| seed.iter().map(Vec::len).eq(questions.iter().copied());
    if questions.is_empty() || questions.contains(&0) || !seeds.iter().all(is_alike) {
        return None;
    }
    let everything: Vec<Vec<usize>> = questions.iter().map(|&count| (0..count).collect()).collect();
    let estimate = statistic(&means(&seeds.iter().collect::<Vec<_>>(), &everything));
    let mut rng = ChaCha8Rng::seed_from_u64(random_seed);
    let mut draw = |count: usize| -> Vec<usize> { (0..count).map(|_| rng.random_range(0..count)).collect() };
    let mut drawn: Vec<f64> = (0..resamples)
        .map(|_| {
            let chosen: Vec<&PairedOutcomes<METHODS>> =
                draw(seeds.len()).into_iter().map(|seed| &seeds[seed]).collect();
            let asked: Vec<Vec<usize>> = questions.iter().map(|&count| draw(count)).collect();
            statistic(&means(&chosen, &asked))
        })
        .filter(|value| value.is_finite())
        .collect();
    if !estimate.is_finite() || drawn.is_empty() || (resamples - drawn.len()) * 1000 > resamples {
        return None;
    }
    drawn.sort_by(f64::total_cmp);
    let share = |side: fn(&&f64) -> bool| (1 + drawn.iter().filter(side).count()) as f64 / (1 + drawn.len()) as f64;
    let p_value = (2.0 * share(|value| **value <= 0.0).min(share(|value| **value >= 0.0))).min(1.0);
    Some(BootstrapInterval { estimate, ci95: [percentile(&drawn, 0.025), percentile(&drawn, 0.975)], p_value })
}

/// The percentile interval (95 %) of a statistic of trials that are drawn with replacement: `statistic` gets the numbers of the
/// drawn ones. Infinite values count as the largest; `None` where a value is not a number.
pub fn bootstrap_of_trials(
    trials: usize,
    statistic: impl Fn(&[usize]) -> f64,
    resamples: usize,
    random_seed: u64,
) -> Option<[f64; 2]> {
    let mut rng = ChaCha8Rng::seed_from_u64(random_seed);
    let mut resample = |_| statistic(&(0..trials).map(|_| rng.random_range(0..trials)).collect::<Vec<_>>());
    let mut drawn: Vec<f64> = (0..resamples).map(&mut resample).collect();
    drawn.sort_by(f64::total_cmp);
    let is_known = trials > 0 && !drawn.is_empty() && !drawn.iter().any(|value| value.is_nan());
    is_known.then(|| [percentile(&drawn, 0.025), percentile(&drawn, 0.975)])
}

/// For each condition, means of the questions `asked` over seeds.
fn means<const METHODS: usize>(seeds: &[&PairedOutcomes<METHODS>], asked: &[Vec<usize>]) -> PairedMeans<METHODS> {
    let of_condition = |(condition, asked): (usize, &Vec<usize>)| {
        let scores = seeds.iter().flat_map(|seed| asked.iter().map(|&question| seed[condition][question]));
        let sum = scores.fold([0.0; METHODS], |sum, score| std::array::from_fn(|at| sum[at] + score[at]));
        sum.map(|sum| sum / (seeds.len() * asked.len()) as f64)
    };
    PairedMeans(asked.iter().enumerate().map(of_condition).collect())
}

/// A percentile of sorted values, with linear interpolation between them, as numpy's default.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    if below == above { below } else { below + (above - below) * at.fract() }
}

#[cfg(test)]
mod tests;
