//! Tables 1 and 10 of the DroPE paper.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::RetrievalCell;
use serde::Serialize;

use super::comparison::{self, JudgedRow, judge, ordering};
use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{by_length, table};
use super::measured::Ask;
use super::paper::{PrintedRow, printed};
use super::report::{Section, SectionText};
use super::score::{self, ScoreRow};

/// A system: its name, the model it reads with, and how.
type System = (&'static str, &'static str, Method);

const SYSTEMS: [System; 14] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("cropped RoPE", "nano-rope", Method::Crop),
    ("PI", "nano-rope", Method::Pi),
    ("NTK", "nano-rope", Method::Ntk),
    ("dynamic NTK", "nano-rope", Method::DynamicNtk),
    ("YaRN", "nano-rope", Method::Yarn),
    ("Llama 3", "nano-rope", Method::Llama3),
    ("LongRoPE2", "nano-longrope2", Method::LongRope),
    ("ALiBi", "nano-alibi", Method::Alibi),
    ("NoPE", "nano-nope", Method::Nope),
    ("RNoPE-SWA", "nano-rnope-swa", Method::RnopeSwa),
    (PAPERS, PLAIN_MODEL, Method::Drope),
    (OURS, "nano-drope", Method::Drope),
    (PARTIAL, "nano-p-drope", Method::PDrope),
];

/// Systems that read nano-rope without training.
pub const UNTRAINED: [&str; 6] = ["cropped RoPE", "PI", "NTK", "dynamic NTK", "YaRN", "Llama 3"];
/// Systems trained from random weights with other positions than RoPE.
pub const FROM_SCRATCH: [&str; 3] = ["ALiBi", "NoPE", "RNoPE-SWA"];

/// The model of DroPE as in the paper, which is not shipped.
pub const PLAIN_MODEL: &str = "drope-plain";
pub const OURS: &str = "DroPE";
pub const PARTIAL: &str = "partial DroPE";
pub const PAPERS: &str = "DroPE as in the paper";
/// What is compared with all others: the paper's method, and ours.
pub const JUDGED: [&str; 3] = [PAPERS, OURS, PARTIAL];

/// The paper's table 1 at 2x: multi-query, multi-key, multi-value.
const TABLE_1: [PrintedRow<3>; 8] = [
    ("RoPE", [0.0, 0.0, 0.0]),
    ("PI", [0.0, 0.0, 0.0]),
    ("NTK", [21.1, 19.4, 16.5]),
    ("YaRN", [17.8, 0.5, 14.6]),
    ("ALiBi", [5.2, 0.0, 1.1]),
    ("NoPE", [9.2, 36.2, 21.4]),
    ("RNoPE-SWA", [5.2, 25.6, 20.6]),
    ("DroPE", [28.0, 41.6, 23.3]),
];
/// Its table 10 at 2x, 4x and 8x.
const TABLE_10: [PrintedRow<3>; 4] = [
    ("NTK", [29.8, 14.4, 7.2]),
    ("YaRN", [48.3, 25.6, 12.2]),
    ("LongRoPE2", [44.2, 26.2, 16.5]),
    ("DroPE", [74.9, 55.0, 52.2]),
];
/// Questions a cell of both.
const PRINTED_TRIALS: usize = 500;

/// Scores of every system on a task.
#[derive(Serialize)]
pub struct TaskScores {
    pub task: String,
    pub rows: Vec<ScoreRow>,
}

pub fn compare_systems(context: &ReportContext) -> Result<Section> {
    let scores = task_scores(context)?;
    let longer: Vec<usize> = EXTENSIONS.into_iter().filter(|&s| s > 1).collect();
    let judged: Vec<JudgedRow> =
        scores.iter().flat_map(|task| judge(&task.task, &JUDGED, &longer, &task.rows)).collect();
    let lines: Vec<_> = judged.iter().map(comparison::line).collect();
    let text = SectionText {
        paper: format!(
            "Table 1, multi-query / multi-key / multi-value at 2x ({PRINTED_TRIALS} trials): {}. Table 10, at 2x / 4x / 8x: {}.",
            printed(&TABLE_1, 1),
            printed(&TABLE_10, 1)
        ),
        body: format!(
            "*Share of values found* is RULER's score. Several rivals are compared, each by its own interval, without a \
             correction for their number.\n\n{}Where DroPE stands among the others: first, or those that it is not above.\n\n{}",
            scores.iter().map(scores_table).collect::<String>(),
            table(&by_length("by their intervals", &longer), &lines)
        ),
        verdict: ordering(
            "The paper has DroPE first on all three tasks at 2x (table 1), and with one needle at 2x, 4x and 8x (table 10).",
            &judged,
        ),
        charts: Vec::new(),
    };
    Section::new(&scores, &judged, text)
}

/// Scores of every system on every task of the table, exact answers of the first task first.
pub fn task_scores(context: &ReportContext) -> Result<Vec<TaskScores>> {
    let tasks =
        if context.is_quick() { &[Task::MultiKey][..] } else { &[Task::MultiKey, Task::MultiQuery, Task::MultiValue] };
    let mut scores = Vec::new();
    for &task in tasks {
        let cells = every_system(context, task)?;
        let rows = |row: fn(String, &[RetrievalCell]) -> ScoreRow| {
            cells.iter().map(|((name, ..), cells)| row((*name).to_owned(), cells)).collect::<Vec<_>>()
        };
        let exact = TaskScores { task: task.name().to_owned(), rows: rows(ScoreRow::exact) };
        let more = if task != Task::MultiKey {
            // Several values are asked for: RULER counts those that are found.
            Some(TaskScores { task: format!("{}, share of values found", task.name()), rows: rows(ScoreRow::found) })
        } else {
            None
        };
        scores.push(exact);
        scores.extend(more);
    }
    Ok(scores)
}

fn every_system(context: &ReportContext, task: Task) -> Result<Vec<(System, Vec<RetrievalCell>)>> {
    let mut rows = Vec::new();
    for system in SYSTEMS {
        let (name, model, method) = system;
        // The ablation has one task.
        if name == PAPERS && task != Task::MultiKey {
            continue;
        }
        let trials = context.trials(if task == Task::MultiKey { 500 } else { 100 }, 40);
        // Its folder is not kept: what is measured stands in the ablation's file.
        let file = if name == PAPERS { "ablation.json" } else { "niah.json" };
        if name == PAPERS && !context.is_quick() {
            context.recalibrated_once(file, model, &context.recipe("ablation/drope-plain.toml")?)?;
        }
        rows.push((system, context.niah(file, model, &Ask::new(method, task, &EXTENSIONS, trials))?));
    }
    Ok(rows)
}

/// A table, and how many questions it took.
fn scores_table(scores: &TaskScores) -> String {
    let lines: Vec<_> = scores.rows.iter().map(|row| row.line(&EXTENSIONS)).collect();
    format!(
        "{}Questions a cell: {}.\n\n",
        table(&by_length(&format!("{}; numbers", scores.task), &EXTENSIONS), &lines),
        score::questions(scores.rows.iter().flat_map(|row| &row.scores))
    )
}
