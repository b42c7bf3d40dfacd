//! Which frequencies copying and finding need.

use std::f64::consts::TAU;

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::RetrievalCell;

use super::super::models::{TRUNK, run_and_trunk};
use super::super::questions::{QUESTION_SEED, STANDARD};
use super::super::rows::OverTrunks;
use super::{Along, Explanation};
use crate::markdown::{joined, table};
use crate::plot::{Axis, EXACT_ANSWERS, Plot};

/// Kinds of questions: numbers are found and copied digit by digit, a word is one token and only found.
const KINDS: [(Task, Values); 8] = [
    (Task::Single, Values::Words),
    (Task::MultiKey, Values::Words),
    (Task::MultiQuery, Values::Words),
    (Task::LatestValue, Values::Words),
    (Task::Single, Values::Numbers),
    (Task::MultiKey, Values::Numbers),
    (Task::MultiQuery, Values::Numbers),
    (Task::LatestValue, Values::Numbers),
];

/// A model still works where it answers this share of what it answers at the lowest cut.
const WORKING: f64 = 0.9;

/// `latest value, words`
fn name((task, values): &(Task, Values)) -> String {
    format!("{}, {}", if *task == Task::LatestValue { "latest value" } else { task.name() }, values.name())
}

/// What trunks answer at 1× with every frequency below a cut dropped and nothing trained.
pub fn cuts(cells: &[RetrievalCell]) -> Option<Explanation> {
    let is_asked = |cell: &&RetrievalCell| {
        run_and_trunk(&cell.model).is_some_and(|(run, _)| run == TRUNK)
            && (cell.method, cell.extension, cell.seed) == (Method::PDrope, 1, QUESTION_SEED)
            && (cell.difficulty, cell.filler, cell.depth) == (STANDARD, None, None)
    };
    let cells: Vec<&RetrievalCell> = cells.iter().filter(is_asked).collect();
    let mut cuts: Vec<f64> = cells.iter().filter_map(|cell| cell.cut).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let (&lowest, &highest) = (cuts.first()?, cuts.last()?);
    let at = |&(task, values): &(Task, Values), cut: &f64| {
        let here = |cell: &&&RetrievalCell| (cell.task, cell.values, cell.cut) == (task, values, Some(*cut));
        OverTrunks::of_cells(&cells.iter().filter(here).copied().collect::<Vec<_>>())
    };
    let place = |cut: &f64| (TAU / cut).log10();
    let along = Along { things: &KINDS, name: &name, xs: &cuts, place: &place, at: &at, unit: 100.0, decimals: 1 };
    let needed = KINDS.iter().filter_map(|kind| {
        let floor = WORKING * at(kind, &lowest)?.mean;
        // The run of working cuts that begins at the lowest.
        let last = cuts.iter().take_while(|cut| at(kind, cut).is_some_and(|over| over.mean >= floor)).last()?;
        Some(format!("{} {:.0}", name(kind), TAU / last))
    });
    let rows = cuts.iter().map(|cut| {
        let shares = KINDS.iter().map(|kind| along.text(kind, cut));
        [cut.to_string(), format!("{:.0}", TAU / cut)].into_iter().chain(shares).collect()
    });
    let header = ["cut", "longest wavelength"].map(str::to_owned).into_iter().chain(KINDS.iter().map(name));
    Some(Explanation {
        title: "Which frequencies copying and finding need",
        trunks: cells.iter().filter_map(|cell| Some(run_and_trunk(&cell.model)?.1)).collect(),
        paragraph: format!(
            "A trunk, which keeps positions, read at 1× with every frequency below a cut dropped and nothing trained: a frequency \
             ω turns once in 2π/ω tokens, so that a cut leaves the wavelengths up to 2π/cut. A word is one token and needs only to be \
             found; a number is found and then copied digit by digit. The longest wavelength that must be left, in tokens, to \
             answer {:.0} % of what is answered at the lowest cut: {}.",
            100.0 * WORKING,
            joined(needed, "; ")
        ),
        table: table(header, rows),
        figure: (
            "study-cuts.svg",
            Plot {
                x: Axis {
                    name: "longest wavelength that is left, tokens",
                    range: [place(&highest) - 0.1, place(&lowest) + 0.1],
                    labels: 8,
                    label: &|x| format!("{:.0}", 10f64.powf(x)),
                },
                y: EXACT_ANSWERS,
                lines: along.lines(),
                level: None,
            },
        ),
        caption: "Exact answers at 1× against the longest wavelength that is left.",
    })
}
