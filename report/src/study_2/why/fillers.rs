//! Accuracy in prose, among decoys, and among few decoys that are repeated.

use std::ops::RangeInclusive;

use super::super::document::spread;
use super::super::models::{
    MECHANISM_MODELS, OTHER_COPIES, OTHER_COPIES_BUDGET, OTHER_COPIES_TRUNKS, TRUNKS, title_with_budget,
};
use super::super::results::{Asked, NEAR, Results, Side};
use crate::markdown::{line, table};

const LENGTHS: [usize; 3] = [1, 4, 8];

/// The part; `None` before repeated decoys are measured.
pub fn text(results: &Results) -> Option<String> {
    let of_curve = MECHANISM_MODELS.iter().filter_map(|(run, budget)| Some((best(results, run, budget)?, TRUNKS)));
    // What other copies do is seen beside the usual ones from the same trunks.
    let others = OTHER_COPIES.iter().filter_map(|run| results.only_reading(run, OTHER_COPIES_BUDGET));
    let beside_others = best(results, "all-copies", OTHER_COPIES_BUDGET)
        .into_iter()
        .chain(others)
        .map(|side| (side, OTHER_COPIES_TRUNKS));
    let sides: Vec<(Side, RangeInclusive<usize>)> = of_curve.chain(beside_others).collect();
    let fillers = [Asked::Primary, Asked::Decoys, Asked::RepeatedDecoys];
    let accuracy =
        |(side, trunks): &(Side, RangeInclusive<usize>), asked, s| results.accuracy_of(trunks.clone(), side, asked, s);
    let is_measured =
        |side: &&(Side, RangeInclusive<usize>)| accuracy(side, Asked::RepeatedDecoys, LENGTHS[1]).is_some();
    let row = |side: &(Side, RangeInclusive<usize>)| {
        let shares = fillers.into_iter().flat_map(|asked| LENGTHS.map(|s| spread(accuracy(side, asked, s))));
        let (Side { run, budget, .. }, trunks) = side;
        let of_trunks = if *trunks == TRUNKS { String::new() } else { of_other_copies_trunks() };
        line(title_with_budget(run, budget) + &of_trunks, shares)
    };
    let rows: Vec<Vec<String>> = sides.iter().filter(is_measured).map(row).collect();
    let names = ["prose", "decoys", "repeated decoys"];
    let header = line("model", names.into_iter().flat_map(|name| LENGTHS.map(|s| format!("{name}, {s}×"))));
    (!rows.is_empty()).then(|| {
        format!(
            "The primary task in three haystacks: prose; prose with words of keys and numbers; and some 128 tokens of the latter again and \
             again, so that longer texts have no more different decoys. Exact answers in percent, in each run's best reading.\n\n{}",
            table(header, rows)
        )
    })
}

fn best(results: &Results, run: &str, budget: &str) -> Option<Side> {
    Some(results.best_reading(run, budget, &NEAR)?.0)
}

/// A run in its best reading, with the trunks that have been asked among repeated decoys, so that fillers can be compared.
pub fn side(results: &Results, run: &str, budget: &str) -> Option<(Side, RangeInclusive<usize>)> {
    let side = best(results, run, budget)?;
    let asked = results.accuracy(&side, Asked::RepeatedDecoys, LENGTHS[1])?;
    let trunks = if asked.trunks == TRUNKS.count() { TRUNKS } else { OTHER_COPIES_TRUNKS };
    Some((side, trunks))
}

/// ` (trunks 6 and 7)`
fn of_other_copies_trunks() -> String {
    format!(" (trunks {} and {})", OTHER_COPIES_TRUNKS.start(), OTHER_COPIES_TRUNKS.end())
}
