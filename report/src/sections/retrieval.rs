//! Tables 1 and 10 of the DroPE paper.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;

use super::Section;
use super::systems::{
    ALIBI, CROPPED, DROPE, DYNAMIC_NTK, LLAMA_3, LONGROPE2, NOPE, NTK, PARTIAL_DROPE, PI, RNOPE_SWA, ROPE, YARN,
};
use crate::comparison::{self, JudgedRow, judge, ordering};
use crate::markdown::{by_length, table};
use crate::number::{Number, Row, questions};
use crate::results::{Ask, EXTENSIONS, Results, System, system};

const SYSTEMS: [System; 14] = [
    ROPE,
    CROPPED,
    PI,
    NTK,
    DYNAMIC_NTK,
    YARN,
    LLAMA_3,
    LONGROPE2,
    ALIBI,
    NOPE,
    RNOPE_SWA,
    system(PAPERS, PLAIN_MODEL, Method::Drope),
    DROPE,
    PARTIAL_DROPE,
];

/// Systems that read nano-rope without training.
pub const UNTRAINED: [&str; 6] = ["cropped RoPE", "PI", "NTK", "dynamic NTK", "YaRN", "Llama 3"];
/// Systems trained from random weights with other positions than RoPE.
pub const FROM_SCRATCH: [&str; 3] = ["ALiBi", "NoPE", "RNoPE-SWA"];

/// The model of DroPE as in the paper, which is not shipped.
pub const PLAIN_MODEL: &str = "drope-plain";
const PAPERS: &str = "DroPE as in the paper";
/// What is compared with all others: the paper's method, and ours.
pub const JUDGED: [&str; 3] = [PAPERS, DROPE.name, PARTIAL_DROPE.name];

/// Scores of every system on a task.
pub struct TaskScores {
    pub task: String,
    pub rows: Vec<Row>,
}

pub fn compare_systems(results: &Results) -> Result<Option<Section>> {
    let scores = task_scores(results);
    if scores.iter().all(|task| task.rows.iter().all(|row| row.numbers.is_empty())) {
        return Ok(None);
    }
    let longer = &EXTENSIONS[1..];
    let judged: Vec<JudgedRow> =
        scores.iter().flat_map(|task| judge(&task.task, &JUDGED, longer, &task.rows)).collect();
    let scores_table = |scores: &TaskScores| {
        let lines = scores.rows.iter().map(|row| row.line(&EXTENSIONS));
        let table = table(by_length(&format!("{}; numbers", scores.task), &EXTENSIONS), lines);
        format!("{table}Questions a cell: {}.\n\n", questions(&scores.rows))
    };
    Ok(Some(Section {
        paper: "Table 1, multi-query / multi-key / multi-value at 2x (500 trials): RoPE 0.0 / 0.0 / 0.0, PI 0.0 / 0.0 / 0.0, \
                NTK 21.1 / 19.4 / 16.5, YaRN 17.8 / 0.5 / 14.6, ALiBi 5.2 / 0.0 / 1.1, NoPE 9.2 / 36.2 / 21.4, \
                RNoPE-SWA 5.2 / 25.6 / 20.6, DroPE 28.0 / 41.6 / 23.3. Table 10, at 2x / 4x / 8x: NTK 29.8 / 14.4 / 7.2, \
                YaRN 48.3 / 25.6 / 12.2, LongRoPE2 44.2 / 26.2 / 16.5, DroPE 74.9 / 55.0 / 52.2."
            .into(),
        body: format!(
            "*Share of values found* is RULER's score. Several rivals are compared, each by its own interval, without a \
             correction for their number.\n\n{}Where DroPE stands among the others: first, or those that it is not above.\n\n{}",
            scores.iter().map(scores_table).collect::<String>(),
            table(by_length("by their intervals", longer), comparison::lines(&judged))
        ),
        verdict: ordering(
            "The paper has DroPE first on all three tasks at 2x (table 1), and with one needle at 2x, 4x and 8x (table 10).",
            &judged,
        ),
        charts: Vec::new(),
    }))
}

/// Scores of every system on every task of the table, exact answers of the first task first.
pub fn task_scores(results: &Results) -> Vec<TaskScores> {
    let mut scores = Vec::new();
    for task in [Task::MultiKey, Task::MultiQuery, Task::MultiValue] {
        // The ablation has one task.
        let systems = || SYSTEMS.iter().filter(|system| system.name != PAPERS || task == Task::MultiKey);
        let rows = |number: fn(&_) -> Number| {
            let row = |system: &System| {
                // Its folder is not kept: what is measured stands in the ablation's file.
                let file = if system.name == PAPERS { "ablation" } else { "niah" };
                Row::of_cells(system.name, &results.answers(system, &Ask::new(file, task, &EXTENSIONS)), number)
            };
            systems().map(row).collect()
        };
        scores.push(TaskScores { task: task.name().to_owned(), rows: rows(Number::exact) });
        if task != Task::MultiKey {
            // Several values are asked for: RULER counts those that are found.
            let task = format!("{}, share of values found", task.name());
            scores.push(TaskScores { task, rows: rows(Number::found) });
        }
    }
    scores
}
