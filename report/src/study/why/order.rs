//! What the latest value of a key says about order without positions.

use drope_core::results::RetrievalCell;

use super::super::models::{RUNS, ReadRun, run_and_trunk, title};
use super::super::questions::LATEST_VALUE;
use super::super::rows::StudyResults;
use super::{Along, Explanation};
use crate::markdown::{by_length, joined, percent, table};
use crate::plot::{self, EXACT_ANSWERS, Plot};

/// The latest value at 1× and beyond, of every run read plainly. `None` where it was not asked.
pub fn order(results: &StudyResults) -> Option<Explanation> {
    let floor = results.of_task(&LATEST_VALUE).map(RetrievalCell::chance_level).reduce(f64::max)?;
    let is_measured = |s: &usize| results.of_task(&LATEST_VALUE).any(|cell| cell.extension == *s);
    let lengths: Vec<usize> = LATEST_VALUE.lengths.iter().copied().filter(is_measured).collect();
    let at = |run: &&str, s: &usize| results.accuracy(&ReadRun::plain(run), &LATEST_VALUE, *s);
    let along = Along {
        things: &RUNS,
        name: &|run| title(run),
        xs: &lengths,
        place: &|s| (*s as f64).log2(),
        at: &at,
        unit: 100.0,
        decimals: 1,
    };
    let answered = RUNS.iter().filter_map(|run| Some(format!("{} {}", title(run), percent(at(run, &1)?.mean))));
    let drawn = plot::by_length(lengths.iter().copied().max().unwrap_or(1), EXACT_ANSWERS, along.lines());
    Some(Explanation {
        title: "Order without positions",
        trunks: results.of_task(&LATEST_VALUE).filter_map(|cell| Some(run_and_trunk(&cell.model)?.1)).collect(),
        paragraph: format!(
            "One key is told four values, and the latest is asked for: which it is, only the order of the sentences says. A causal \
             model without positions still sees how many tokens come before each; whether it learns to use that is the question. \
             A guess among the four is right in {}. At 1×: {}.",
            percent(floor),
            joined(answered, "; ")
        ),
        figure: ("study-order.svg", Plot { level: Some((100.0 * floor, "a random guess")), ..drawn }),
        caption: "The latest of four values of one key, against length.",
        table: table(by_length("run, read plainly", &lengths), along.rows()),
    })
}
