//! Against tests/statistics_reference.py, which has the same outcomes; and where the intervals are known.

use super::{PairedMeans, PairedOutcomes, bootstrap_of_trials, paired_bootstrap};

const RESAMPLES: usize = 20_000;

/// 40 questions: the function of the same name in tests/statistics_reference.py.
fn outcomes(seed: usize, condition: usize) -> Vec<[f64; 2]> {
    let question = |question: usize| {
        let first = (question * 7 + seed * 3 + condition * 5) % 10 < 9 - condition - seed % 2;
        let second = (question * 3 + seed + condition * 2) % 10 < 8 - 2 * condition + seed % 3;
        [first, second].map(|is_right| f64::from(u8::from(is_right)))
    };
    (0..40).map(question).collect()
}

fn agrees(seeds: &[PairedOutcomes], statistic: fn(&PairedMeans) -> f64, expected: [f64; 3], tolerance: f64) {
    let found = paired_bootstrap(seeds, statistic, RESAMPLES, 3).unwrap();
    assert!((found.estimate - expected[0]).abs() < 1e-12, "{found:?}");
    for (ours, theirs) in found.ci95.iter().zip(&expected[1..]) {
        assert!((ours - theirs).abs() < tolerance, "{found:?}, expected {expected:?}");
    }
}

#[test]
fn one_seed_agrees_with_scipys_paired_bootstrap() {
    // Means of 40 questions are multiples of 1/40.
    agrees(&[vec![outcomes(0, 1)]], PairedMeans::difference, [0.2, 0.075, 0.325], 0.026);
}

#[test]
fn several_seeds_agree_with_numpy() {
    let seeds: Vec<PairedOutcomes> = (0..4).map(|seed| (0..3).map(|at| outcomes(seed, at)).collect()).collect();
    // Percentiles of 20,000 and of 50,000 resamples differ by a standard error of about 0.001.
    agrees(&seeds, PairedMeans::difference, [0.075, -0.039_583, 0.185_417], 0.006);
    agrees(&seeds, PairedMeans::relative_difference, [0.166_386_554_621_848_7, 0.013_145, 0.323_611], 0.008);
}

#[test]
fn training_seeds_count_and_not_questions_alone() {
    // All questions of a seed alike: only seeds vary, and 2 of 3 draws of three have not all of one kind.
    let seed = |first: f64| vec![vec![[first, 0.0]; 1000]];
    let seeds = [seed(0.0), seed(0.5), seed(1.0)];
    let found = paired_bootstrap(&seeds, PairedMeans::difference, RESAMPLES, 1).unwrap();
    // Each end is drawn in 1 of 27 resamples, more than 2.5 %.
    assert_eq!((found.estimate, found.ci95), (0.5, [0.0, 1.0]));
    assert!((found.p_value - 2.0 / 27.0).abs() < 0.01, "{found:?}");
}

#[test]
fn a_question_that_is_hard_for_all_seeds_counts_as_one() {
    // Four seeds that answer alike say no more than one.
    let answers = vec![outcomes(0, 1)];
    let interval = |seeds: usize| {
        let seeds: Vec<PairedOutcomes> = vec![answers.clone(); seeds];
        paired_bootstrap(&seeds, PairedMeans::difference, RESAMPLES, 1).unwrap().ci95
    };
    for (one, four) in interval(1).iter().zip(interval(4)) {
        assert!((one - four).abs() < 0.026);
    }
}

#[test]
fn methods_are_compared_on_the_same_questions() {
    // Both answer the same half of the questions: their difference is 0 in every resample.
    let questions: Vec<[f64; 2]> = (0..100).map(|question| [f64::from(question % 2); 2]).collect();
    let found = paired_bootstrap(&[vec![questions; 2]], PairedMeans::difference, 1000, 1).unwrap();
    assert_eq!((found.ci95, found.p_value), ([0.0, 0.0], 1.0));
}

#[test]
fn one_random_seed_gives_one_interval_and_unusable_outcomes_give_none() {
    let seeds = [vec![outcomes(0, 0), outcomes(0, 1)], vec![outcomes(1, 0), outcomes(1, 1)]];
    let interval = |random| paired_bootstrap(&seeds, PairedMeans::difference, 500, random).unwrap();
    assert_eq!(interval(1), interval(1));
    assert_ne!(interval(1), interval(2));
    let none = |seeds: &[PairedOutcomes]| paired_bootstrap(seeds, PairedMeans::relative_difference, 100, 1).is_none();
    assert!(none(&[]) && none(&[vec![]]) && none(&[vec![vec![], outcomes(0, 1)]]));
    assert!(none(&[vec![outcomes(0, 0)], vec![outcomes(0, 0), outcomes(0, 1)]]), "other conditions");
    assert!(none(&[vec![vec![[0.0, 1.0]; 9], outcomes(0, 1)]]), "nothing to be relative to");
}

/// The interval of a mean is nearly that of the normal approximation.
#[test]
fn trials_drawn_with_replacement_give_the_interval_of_a_mean() {
    let numbers: Vec<f64> = (0..100).map(f64::from).collect();
    let mean = |drawn: &[usize]| drawn.iter().map(|&trial| numbers[trial]).sum::<f64>() / drawn.len() as f64;
    let [low, high] = bootstrap_of_trials(100, mean, RESAMPLES, 3).unwrap();
    let half = 1.96 * ((100.0 * 100.0 - 1.0) / 12.0_f64).sqrt() / 10.0;
    assert!((low - (49.5 - half)).abs() < 0.1 && (high - (49.5 + half)).abs() < 0.1, "{low} {high}");
    assert_eq!(bootstrap_of_trials(4, |_| f64::INFINITY, 100, 1), Some([f64::INFINITY; 2]));
    assert_eq!(bootstrap_of_trials(4, |_| f64::NAN, 100, 1), None);
    assert_eq!(bootstrap_of_trials(0, |_| 1.0, 100, 1), None);
}
