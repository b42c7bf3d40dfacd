//! Which frequencies copying and finding need.

use std::f64::consts::TAU;

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::RetrievalCell;

use super::super::super::markdown::{DASH, table};
use super::super::models::{TRUNK, run_and_trunk};
use super::super::plot::{Axis, EXACT_ANSWERS, Plot};
use super::super::questions::{QUESTION_SEED, STANDARD};
use super::super::rows::OverTrunks;
use super::{Explanation, line, mean_text};

/// Kinds of questions: numbers are found and copied digit by digit, a word is one token and only found.
const KINDS: [(&str, Task, Values); 8] = [
    ("single, words", Task::Single, Values::Words),
    ("multi-key, words", Task::MultiKey, Values::Words),
    ("multi-query, words", Task::MultiQuery, Values::Words),
    ("latest value, words", Task::LatestValue, Values::Words),
    ("single, numbers", Task::Single, Values::Numbers),
    ("multi-key, numbers", Task::MultiKey, Values::Numbers),
    ("multi-query, numbers", Task::MultiQuery, Values::Numbers),
    ("latest value, numbers", Task::LatestValue, Values::Numbers),
];

/// A model still works where it answers this share of what it answers at the lowest cut.
const WORKING: f64 = 0.9;

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
    let at = |task: Task, values: Values, cut: f64| {
        let here = |cell: &&&RetrievalCell| (cell.task, cell.values, cell.cut) == (task, values, Some(cut));
        OverTrunks::of_cells(&cells.iter().filter(here).copied().collect::<Vec<_>>())
    };
    let lines = KINDS.iter().enumerate().filter_map(|(style, &(name, task, values))| {
        line(name, style, 100.0, cuts.iter().map(|&cut| ((TAU / cut).log10(), at(task, values, cut))))
    });
    let shortest_working = |&(name, task, values): &(&str, Task, Values)| {
        let floor = WORKING * at(task, values, lowest)?.mean;
        let works = |cut: &&f64| at(task, values, **cut).is_some_and(|over| over.mean >= floor);
        // The run of working cuts that begins at the lowest.
        let last = cuts.iter().take_while(works).last()?;
        Some(format!("{name} {:.0}", TAU / last))
    };
    let needed: Vec<String> = KINDS.iter().filter_map(shortest_working).collect();
    let row = |&cut: &f64| {
        let shares = KINDS
            .iter()
            .map(|&(_, task, values)| mean_text(at(task, values, cut), 100.0, 1).unwrap_or_else(|| DASH.to_owned()));
        [cut.to_string(), format!("{:.0}", TAU / cut)].into_iter().chain(shares).collect::<Vec<_>>()
    };
    let header: Vec<String> =
        ["cut", "longest wavelength"].into_iter().chain(KINDS.map(|kind| kind.0)).map(str::to_owned).collect();
    Some(Explanation {
        title: "Which frequencies copying and finding need",
        trunks: cells.iter().filter_map(|cell| Some(run_and_trunk(&cell.model)?.1)).collect(),
        paragraph: format!(
            "A trunk, which keeps positions, read at 1× with every frequency below a cut dropped and nothing trained: a frequency \
             ω turns once in 2π/ω tokens, so that a cut leaves the wavelengths up to 2π/cut. A word is one token and needs only to be \
             found; a number is found and then copied digit by digit. The longest wavelength that must be left, in tokens, to \
             answer {:.0} % of what is answered at the lowest cut: {}.",
            100.0 * WORKING,
            needed.join("; ")
        ),
        figure: (
            "study-cuts.svg",
            Plot {
                x: Axis {
                    name: "longest wavelength that is left, tokens",
                    range: [(TAU / highest).log10() - 0.1, (TAU / lowest).log10() + 0.1],
                    labels: 8,
                    label: &|x| format!("{:.0}", 10f64.powf(x)),
                },
                y: EXACT_ANSWERS,
                lines: lines.collect(),
                level: None,
            },
        ),
        caption: "Exact answers at 1× against the longest wavelength that is left.",
        table: table(&header, &cuts.iter().map(row).collect::<Vec<_>>()),
    })
}
