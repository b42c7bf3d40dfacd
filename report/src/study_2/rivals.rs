//! H4 and H5: partial DroPE with copies against rivals that were trained as fairly, up to 8 and from 16 to 64 times the context.

use drope_core::stats::{PairedMeans, PairedOutcomes};

use super::difference::Difference;
use super::hypothesis::Hypothesis;
use super::models::{RIVALS, TRUNKS, title};
use super::results::{Asked, FAR, NEAR, Results, Side};
use crate::markdown::list;

/// What is defended.
pub const OURS: &str = "low-copies";

/// Answers of both at each length, trunk by trunk.
fn paired(results: &Results, sides: [&Side; 2], asked: Asked, lengths: &[usize]) -> Vec<(usize, PairedOutcomes)> {
    let of_trunk = |trunk: usize| {
        let of_length = |&extension: &usize| {
            let [ours, other] = sides.map(|side| results.outcomes(side, trunk, asked, extension));
            let (ours, other) = (ours?, other?);
            let is_same = ours.len() == other.len();
            is_same.then(|| ours.into_iter().zip(other).map(<[f64; 2]>::from).collect())
        };
        Some((trunk, lengths.iter().map(of_length).collect::<Option<_>>()?))
    };
    TRUNKS.filter_map(of_trunk).collect()
}

fn names([ours, other]: [&Side; 2]) -> String {
    let reading = |side: &Side| format!("{} (read with {})", title(&side.run), side.reading.in_words());
    format!("{} less {}", reading(ours), reading(other))
}

/// Rivals that are not measured yet, in a sentence's tail.
fn missing(ranked: &[(Side, f64)]) -> String {
    let is_missing = |rival: &&&str| ranked.iter().all(|(side, _)| side.run != ***rival);
    let missing: Vec<String> = RIVALS.iter().filter(is_missing).map(|rival| title(rival)).collect();
    if missing.is_empty() { String::new() } else { format!("; not measured: {}", list(&missing)) }
}

/// With one budget, plain accuracy over 2, 4 and 8×, against the rival that is best on the selection split.
pub fn near(results: &Results, name: &'static str, budget: &str) -> Hypothesis {
    let claim = "partial DroPE with copies answers more at 2 to 8× than the best fair rival";
    let ours = results.best_reading(OURS, budget, &NEAR);
    let ranked = results.ranked(&RIVALS, budget, &NEAR);
    let (Some((ours, _)), Some((rival, _))) = (ours, ranked.first()) else {
        return Hypothesis::not_run(name, claim);
    };
    let sides = [&ours, rival];
    let outcomes = paired(results, sides, Asked::Primary, &NEAR);
    let difference = Difference::new(names(sides), &outcomes, PairedMeans::difference);
    Hypothesis::tested(
        name,
        claim,
        format!("after {budget} tokens{}", missing(&ranked)),
        difference.map(|difference| vec![difference]),
    )
}

/// A test of section 3: its name, what is asked, and whether each model is compared with itself at 1×.
const FAR_TESTS: [(&str, Asked, bool); 4] = [
    ("H5a", Asked::Primary, false),
    ("H5b", Asked::Primary, true),
    ("H5c", Asked::Decoys, false),
    ("H5d", Asked::Decoys, true),
];

/// After 8 million tokens, at 16, 32 and 64×, against the better of the two rivals that are best on the selection split there.
pub fn far(results: &Results) -> Vec<Hypothesis> {
    let claim = "partial DroPE with copies answers more at 16 to 64× than the best fair rivals";
    let budget = "8m";
    let ours = results.best_reading(OURS, budget, &FAR).map(|(side, _)| side);
    let ranked = results.ranked(&RIVALS, budget, &FAR);
    let missing = missing(&ranked);
    let rivals: Vec<Side> = ranked.into_iter().take(2).map(|(side, _)| side).collect();
    let test = |(name, asked, is_relative): (&'static str, Asked, bool)| {
        let Some(ours) = &ours else { return Hypothesis::not_run(name, claim) };
        let (lengths, statistic): (&[usize], fn(&PairedMeans) -> f64) = if is_relative {
            (&[1, 16, 32, 64], PairedMeans::relative_difference)
        } else {
            (&FAR, PairedMeans::difference)
        };
        // The better of the two is the one that leaves the smaller difference.
        let differences = rivals.iter().filter_map(|rival| {
            let sides = [ours, rival];
            Difference::new(names(sides), &paired(results, sides, asked, lengths), statistic)
        });
        let smallest = differences.reduce(|a, b| if b.interval.estimate < a.interval.estimate { b } else { a });
        let measure = if is_relative { "of what each answers at 1×" } else { "plain accuracy" };
        let note = format!("{}, {measure}{missing}", asked.title());
        Hypothesis::tested(name, claim, note, smallest.map(|difference| vec![difference]))
    };
    FAR_TESTS.into_iter().map(test).collect()
}
