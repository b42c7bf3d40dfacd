//! What nano size has of table 3 of the DroPE paper: the mean over tasks.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::results::RetrievalCell;
use drope_core::stats::wilson_of_mean;

use super::Section;
use super::retrieval::JUDGED;
use super::systems::{DROPE, LLAMA_3, NTK, PARTIAL_DROPE, PI, ROPE, YARN};
use crate::comparison::{self, judge, ordering};
use crate::markdown::{by_length, table};
use crate::number::{Number, Row};
use crate::results::{Ask, EXTENSIONS, Results, System};

pub const SYSTEMS: [System; 7] = [ROPE, PI, NTK, YARN, LLAMA_3, DROPE, PARTIAL_DROPE];
const TASKS: [Task; 4] = [Task::Single, Task::MultiKey, Task::MultiQuery, Task::MultiValue];
const VALUES: [Values; 2] = [Values::Numbers, Values::Words];
const CELLS: usize = TASKS.len() * VALUES.len();

pub fn average_over_tasks(results: &Results) -> Result<Option<Section>> {
    let rows = means(results);
    let scores = rows.iter().flat_map(|row| row.numbers.values());
    let Some(fewest) = scores.map(|score| score.trials / CELLS).min() else { return Ok(None) };
    let judged = judge("mean over tasks", &JUDGED, &EXTENSIONS, &rows);
    Ok(Some(Section {
        paper: "LongBench after 20 B tokens of recalibration of SmolLM-1.7B and Llama2-7B, with DroPE ahead of the scalings of \
                RoPE on average. LongBench's questions are beyond models of this size."
            .into(),
        body: format!(
            "In its place the mean of RULER's score over {}, with numbers and words, each with the same weight. The interval \
             is Wilson's for {fewest} questions of each of the {CELLS}.\n\n{}{}",
            TASKS.map(Task::name).join(", "),
            table(by_length("share of values found", &EXTENSIONS), rows.iter().map(|row| row.line(&EXTENSIONS))),
            table(by_length("not above", &EXTENSIONS), comparison::lines(&judged))
        ),
        verdict: ordering("The paper has DroPE's average first (table 3).", &judged),
        charts: Vec::new(),
    }))
}

/// Means of every system at every length.
pub fn means(results: &Results) -> Vec<Row> {
    let row = |system: &System| {
        let kinds = TASKS.iter().flat_map(|&task| VALUES.map(|values| (task, values)));
        let ask = |(task, values)| Ask { values, ..Ask::new("niah", task, &EXTENSIONS) };
        let cells: Vec<&RetrievalCell> = kinds.flat_map(|kind| results.answers(system, &ask(kind))).collect();
        let numbers = EXTENSIONS.into_iter().filter_map(|s| Some((s, mean(&cells, s)?))).collect();
        Row { numbers, ..Row::of_cells(system.name, &cells, Number::found) }
    };
    SYSTEMS.iter().map(row).collect()
}

/// Mean of RULER's score over the tasks at one length; `None` unless all of them are measured.
fn mean(cells: &[&RetrievalCell], extension: usize) -> Option<Number> {
    let here: Vec<&&RetrievalCell> = cells.iter().filter(|cell| cell.extension == extension).collect();
    let fewest = here.iter().map(|cell| cell.trials).min().filter(|_| here.len() == CELLS)?;
    let trials = fewest * CELLS;
    let value = here.iter().map(|cell| cell.string_match).sum::<f64>() / CELLS as f64;
    Some(Number { value, ci95: Some(wilson_of_mean(value, trials as f64)), trials })
}
