//! What nano size has of table 3 of the DroPE paper: the mean over tasks.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::RetrievalCell;
use drope_core::stats::wilson_of_mean;

use super::comparison::{self, judge, ordering};
use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{by_length, table};
use super::measured::Ask;
use super::report::{Section, SectionText};
use super::retrieval::JUDGED;
use super::score::{Score, ScoreRow};

pub const SYSTEMS: [(&str, &str, Method); 7] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("PI", "nano-rope", Method::Pi),
    ("NTK", "nano-rope", Method::Ntk),
    ("YaRN", "nano-rope", Method::Yarn),
    ("Llama 3", "nano-rope", Method::Llama3),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];
const TASKS: [Task; 4] = [Task::Single, Task::MultiKey, Task::MultiQuery, Task::MultiValue];
const VALUES: [Values; 2] = [Values::Numbers, Values::Words];
/// Questions a cell, but for multi-key.
const TRIALS: usize = 100;

pub fn average_over_tasks(context: &ReportContext) -> Result<Section> {
    let rows = means(context)?;
    let judged = judge("mean over tasks", &JUDGED, &EXTENSIONS, &rows);
    let lines: Vec<_> = rows.iter().map(|row| row.line(&EXTENSIONS)).collect();
    let places: Vec<_> = judged.iter().map(comparison::line).collect();
    let cells = TASKS.len() * VALUES.len();
    let scores = rows.iter().flat_map(|row| &row.scores);
    let fewest = scores.map(|score| score.trials / cells).min().unwrap_or(0);
    let text = SectionText {
        paper: "LongBench after 20 B tokens of recalibration of SmolLM-1.7B and Llama2-7B, with DroPE ahead of the scalings of \
            RoPE on average. LongBench's questions are beyond models of this size."
            .into(),
        body: format!(
            "In its place the mean of RULER's score over {}, with numbers and words, each with the same weight. The interval \
             is Wilson's for {fewest} questions of each of the {cells}.\n\n{}{}",
            TASKS.map(Task::name).join(", "),
            table(&by_length("share of values found", &EXTENSIONS), &lines),
            table(&by_length("not above", &EXTENSIONS), &places)
        ),
        verdict: ordering("The paper has DroPE's average first (table 3).", &judged),
        charts: Vec::new(),
    };
    Section::new(&rows, &judged, text)
}

/// Means of every system at every length.
pub fn means(context: &ReportContext) -> Result<Vec<ScoreRow>> {
    let mut rows = Vec::new();
    for (name, model, method) in SYSTEMS {
        let mut cells = Vec::new();
        for task in TASKS {
            for values in VALUES {
                let trials = context.trials(if task == Task::MultiKey { 500 } else { TRIALS }, TRIALS);
                let ask = Ask { values, ..Ask::new(method, task, &EXTENSIONS, trials) };
                cells.extend(context.niah("niah.json", model, &ask)?);
            }
        }
        let scores = EXTENSIONS.into_iter().filter_map(|s| mean(&cells, s)).collect();
        rows.push(ScoreRow { scores, ..ScoreRow::found(name, &cells) });
    }
    Ok(rows)
}

/// Mean of RULER's score over the tasks at one length; `None` unless all of them are measured.
fn mean(cells: &[RetrievalCell], extension: usize) -> Option<Score> {
    let here: Vec<&RetrievalCell> = cells.iter().filter(|cell| cell.extension == extension).collect();
    let is_whole = here.len() == TASKS.len() * VALUES.len();
    let fewest = here.iter().map(|cell| cell.trials).min().filter(|_| is_whole)?;
    let trials = fewest * here.len();
    let share = here.iter().map(|cell| cell.string_match).sum::<f64>() / here.len() as f64;
    Some(Score { extension, share, ci95: wilson_of_mean(share, trials as f64), trials })
}
