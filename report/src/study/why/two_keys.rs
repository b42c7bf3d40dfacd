//! Why DroPE loses two keys at once, and what gives them back.

use std::collections::BTreeSet;

use super::super::models::ReadRun;
use super::super::questions::{MULTI_KEY, MULTI_QUERY, StudyTask};
use super::super::rows::{OverTrunks, StudyResults};
use super::{Along, Explanation};
use crate::markdown::{joined, line, or_dash, percent, table};
use crate::number::Number;
use crate::plot::{self, EXACT_ANSWERS};

/// What was tried, all from trunk 1: name, run, and whether it is a pilot.
const TRIED: [(&str, &str, bool); 6] = [
    ("RoPE", "keep", false),
    ("DroPE", "all", false),
    ("DroPE with copies", "all-copies", false),
    ("DroPE, heads of half the size", "all-heads", true),
    ("DroPE, norm of queries", "all-q-norm", true),
    ("DroPE, twice the budget", "all-longer", true),
];

const LENGTHS: [usize; 2] = [1, 4];

/// One of four keys, and two of them in one answer. `None` before a pilot is measured.
pub fn two_keys(results: &StudyResults, pilots: &StudyResults) -> Option<Explanation> {
    if pilots.is_empty() {
        return None;
    }
    let cell = |&(_, run, is_pilot): &(&str, &str, bool), task: &StudyTask, s: usize| {
        let asked = if is_pilot { pilots } else { results };
        asked.cell(&ReadRun::plain(run), 1, task, s)
    };
    let along = Along {
        things: &TRIED,
        name: &|tried| tried.0.to_owned(),
        xs: &LENGTHS,
        place: &|s| (*s as f64).log2(),
        at: &|tried, s| OverTrunks::of_cells(&[cell(tried, &MULTI_QUERY, *s)?]),
        unit: 100.0,
        decimals: 1,
    };
    let rows = TRIED.iter().map(|tried| {
        let places = [&MULTI_KEY, &MULTI_QUERY].into_iter().flat_map(|task| LENGTHS.map(|s| (task, s)));
        let text = |(task, s)| {
            let cell = cell(tried, task, s)?;
            let ci95 = OverTrunks::of_cells(&[cell])?.ci95;
            Some(Number { value: cell.accuracy, ci95, trials: cell.trials }.percent())
        };
        line(tried.0, places.map(|place| or_dash(text(place))))
    });
    let answered = TRIED
        .iter()
        .filter_map(|tried| Some(format!("{} {}", tried.0, percent(cell(tried, &MULTI_QUERY, 1)?.accuracy))));
    Some(Explanation {
        title: "Two keys at once",
        trunks: BTreeSet::from([1]),
        paragraph: format!(
            "Asked for two of four keys in one answer, models at 1×: {}. Each pilot changes one thing in the recipe of \
             DroPE without copies: twice as many heads of half the size (from a trunk of its own, which has them too), an \
             RMSNorm of the queries, or twice the tokens.",
            joined(answered, "; ")
        ),
        figure: ("study-two-keys.svg", plot::by_length(LENGTHS[1], EXACT_ANSWERS, along.lines())),
        caption: "Two of four keys in one answer, trunk 1, with 95 % intervals.",
        table: table(["", "one key, 1×", "one key, 4×", "two keys, 1×", "two keys, 4×"], rows),
    })
}
