//! Accuracy in prose, among decoys, and among few decoys that are repeated.

use super::super::document::spread;
use super::super::models::{CURVE_RUNS, OTHER_COPIES, title};
use super::super::results::{Asked, NEAR, Results, Side};
use super::BUDGET;
use crate::markdown::{line, table};

const LENGTHS: [usize; 3] = [1, 4, 8];

/// The part; `None` before repeated decoys are measured.
pub fn text(results: &Results) -> Option<String> {
    let of_curve = CURVE_RUNS.iter().filter_map(|run| Some(results.best_reading(run, BUDGET, &NEAR)?.0));
    let others = OTHER_COPIES.iter().filter_map(|run| results.only_reading(run, BUDGET));
    let sides: Vec<Side> = of_curve.chain(others).collect();
    let fillers = [Asked::Primary, Asked::Decoys, Asked::RepeatedDecoys];
    let is_measured = |side: &&Side| results.accuracy(side, Asked::RepeatedDecoys, LENGTHS[1]).is_some();
    let row = |side: &Side| {
        let shares = fillers.into_iter().flat_map(|asked| LENGTHS.map(|s| spread(results.accuracy(side, asked, s))));
        line(title(&side.run), shares)
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
