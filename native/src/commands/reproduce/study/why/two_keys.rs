//! Why DroPE loses two keys at once, and what gives them back.

use std::collections::BTreeSet;

use super::super::super::markdown::{DASH, percent, table};
use super::super::models::ReadRun;
use super::super::plot::{self, EXACT_ANSWERS};
use super::super::questions::{MULTI_KEY, MULTI_QUERY, StudyTask};
use super::super::rows::{OverTrunks, StudyResults};
use super::{Explanation, line};

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
    let at = |run: &str, is_pilot: bool, task: &StudyTask, s: usize| {
        let asked = if is_pilot { pilots } else { results };
        OverTrunks::of_cells(&[asked.cell(&ReadRun::plain(run), 1, task, s)?])
    };
    let lines = TRIED.iter().enumerate().filter_map(|(style, &(name, run, is_pilot))| {
        line(name, style, 100.0, LENGTHS.map(|s| ((s as f64).log2(), at(run, is_pilot, &MULTI_QUERY, s))))
    });
    let text = |over: Option<OverTrunks>| match over {
        Some(OverTrunks { mean, ci95: Some([low, high]), .. }) => {
            format!("{:.1} [{:.1}, {:.1}]", 100.0 * mean, 100.0 * low, 100.0 * high)
        }
        _ => DASH.to_owned(),
    };
    let row = |&(name, run, is_pilot): &(&str, &str, bool)| {
        let shares = [&MULTI_KEY, &MULTI_QUERY].map(|task| LENGTHS.map(|s| text(at(run, is_pilot, task, s))));
        std::iter::once(name.to_owned()).chain(shares.into_iter().flatten()).collect::<Vec<_>>()
    };
    let sentence = |&(name, run, is_pilot): &(&str, &str, bool)| {
        Some(format!("{name} {}", percent(at(run, is_pilot, &MULTI_QUERY, 1)?.mean)))
    };
    let answered: Vec<String> = TRIED.iter().filter_map(sentence).collect();
    let header = ["", "one key, 1×", "one key, 4×", "two keys, 1×", "two keys, 4×"].map(str::to_owned);
    Some(Explanation {
        title: "Two keys at once",
        trunks: BTreeSet::from([1]),
        paragraph: format!(
            "Asked for two of four keys in one answer, models at 1×: {}. Each pilot changes one thing in the recipe of \
             DroPE without copies: twice as many heads of half the size (from a trunk of its own, which has them too), an \
             RMSNorm of the queries, or twice the tokens.",
            answered.join("; ")
        ),
        figure: ("study-two-keys.svg", plot::by_length(LENGTHS[1], EXACT_ANSWERS, lines.collect())),
        caption: "Two of four keys in one answer, trunk 1, with 95 % intervals.",
        table: table(&header, &TRIED.iter().map(row).collect::<Vec<_>>()),
    })
}
