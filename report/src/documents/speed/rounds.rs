//! Numbers that were measured in several rounds.

use std::collections::BTreeSet;

use drope_core::stats::median_and_range;

use crate::markdown::DASH;

/// The ratios of two programs' speeds, round by round.
pub(super) fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect()
}

/// `2 threads`
pub(super) fn of_threads(threads: usize) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

/// The ratio of two programs' speeds round by round: median and range.
pub(super) fn beside(ours: &[f64], theirs: &[f64]) -> String {
    let ratios = ratios(ours, theirs);
    let [median, low, high] = range(&ratios);
    if ratios.len() == 1 { format!("{median:.2} (one round)") } else { format!("{median:.2} [{low:.2}, {high:.2}]") }
}

/// The ratios of two programs' speeds, of a prompt and of generation; dashes where there is nothing to compare with.
pub(super) fn both_beside(ours: Option<[&[f64]; 2]>, theirs: [&[f64]; 2]) -> [String; 2] {
    ours.map_or_else(|| [DASH, DASH].map(str::to_owned), |ours| [0, 1].map(|at| beside(ours[at], theirs[at])))
}

/// Median, least and largest; not numbers where there are none.
pub(super) fn range(numbers: &[f64]) -> [f64; 3] {
    median_and_range(numbers).unwrap_or([f64::NAN; 3])
}

/// The values of all rows, each once.
pub(super) fn distinct<T>(speeds: &[T], value: impl Fn(&T) -> String) -> Vec<String> {
    speeds.iter().map(value).collect::<BTreeSet<_>>().into_iter().collect()
}
