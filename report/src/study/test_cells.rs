//! Made-up cells, for tests.

use drope_core::niah::QuestionSplit;
use drope_core::positions::{Method, Parameters};
use drope_core::results::{CellHeader, RetrievalCell};
use serde_json::json;

use super::models::{RUNS, StudyReading, TRUNK, TRUNKS, run_and_trunk};
use super::questions::{LENGTHS, PRIMARY, SELECTION_SEED, StudyTask};
use super::rows::StudyResults;

pub const QUESTIONS: usize = 200;

/// The model read plainly, right on the first of its questions up to a share.
pub fn cell(model: &str, task: &StudyTask, extension: usize, share: f64) -> RetrievalCell {
    let right = (share * QUESTIONS as f64).round() as usize;
    cell_of(model, task, extension, &(0..QUESTIONS).map(|question| question < right).collect::<Vec<_>>())
}

/// The model read plainly, with these outcomes.
pub fn cell_of(model: &str, task: &StudyTask, extension: usize, outcomes: &[bool]) -> RetrievalCell {
    let method = StudyReading::plain(run_and_trunk(model).unwrap().0).method;
    let right = outcomes.iter().filter(|&&is_right| is_right).count();
    let cell = json!({
        "model": model, "method": method, "task": "multi-key", "values": "numbers", "extension": extension,
        "context": 256 * extension, "trials": outcomes.len(), "correct": right, "accuracy": 0.0, "string_match": 0.0,
        "ci95": [0.0, 0.0], "seed": 0, "beta": 1.0, "fingerprint": model,
    });
    let cell: RetrievalCell = serde_json::from_value(cell).unwrap();
    let outcomes = Some(outcomes.iter().copied().collect());
    task.asked_in(RetrievalCell { outcomes, ..cell }).recomputed(right as f64)
}

/// The primary task at 1×, 2×, 4× and 8×.
pub fn measured(model: &str, shares: [f64; 4]) -> Vec<RetrievalCell> {
    LENGTHS.iter().zip(shares).map(|(&extension, share)| cell(model, &PRIMARY, extension, share)).collect()
}

/// The same cells read otherwise.
pub fn read_with(method: Method, parameters: &Parameters, cells: Vec<RetrievalCell>) -> Vec<RetrievalCell> {
    cells
        .into_iter()
        .map(|cell| RetrievalCell {
            header: CellHeader { method, parameters: parameters.clone(), ..cell.header },
            ..cell
        })
        .collect()
}

/// The primary task at 2×, 4× and 8× on the selection split.
pub fn selected(model: &str, shares: [f64; 3]) -> Vec<RetrievalCell> {
    let task = PRIMARY.with_split(QuestionSplit::Selection, SELECTION_SEED);
    LENGTHS[1..].iter().zip(shares).map(|(&extension, share)| cell(model, &task, extension, share)).collect()
}

/// A choice of plain RoPE for both rivals.
pub fn plain_selection() -> Vec<RetrievalCell> {
    ["keep-1", "keep-copies-1"].iter().flat_map(|model| selected(model, [0.5; 3])).collect()
}

/// A whole study, of trunks and their eight runs, in which `share` says what a run of a trunk answers at each length.
pub fn study(share: impl Fn(&str, usize) -> [f64; 4]) -> StudyResults {
    StudyResults::new([study_cells(share), plain_selection()].concat())
}

/// Its cells.
pub fn study_cells(share: impl Fn(&str, usize) -> [f64; 4]) -> Vec<RetrievalCell> {
    let of_trunk = |trunk: usize| {
        let runs = std::iter::once(TRUNK).chain(RUNS);
        runs.flat_map(|run| measured(&format!("{run}-{trunk}"), share(run, trunk))).collect::<Vec<_>>()
    };
    TRUNKS.flat_map(of_trunk).collect()
}
