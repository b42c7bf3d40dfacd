//! What nano size has of table 3 of the DroPE paper: the mean over tasks.

use anyhow::Result;
use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::Cell;
use drope_core::stats::wilson_of_mean;
use serde_json::{Value, json};

use super::comparison::{ORDERING, Rows, judge};
use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, by_length, row, table};
use super::retrieval::JUDGED;

const SYSTEMS: [(&str, &str, Method); 7] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("PI", "nano-rope", Method::Pi),
    ("NTK", "nano-rope", Method::Ntk),
    ("YaRN", "nano-rope", Method::Yarn),
    ("Llama 3", "nano-rope", Method::Llama3),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];
const TASKS: [Task; 4] = [Task::Single, Task::MultiKey, Task::MultiQuery, Task::MultiValue];

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    if context.is_quick() {
        return Ok(None);
    }
    let mut means: Rows = Vec::new();
    for (name, model, method) in SYSTEMS {
        let mut cells = Vec::new();
        for task in TASKS {
            for values in [Values::Numbers, Values::Words] {
                let trials = if task == Task::MultiKey { 500 } else { 100 };
                let ask = Ask { values, ..Ask::new(method, task, EXTENSIONS.to_vec(), trials) };
                cells.extend(context.niah("niah.json", model, &ask)?);
            }
        }
        means.push((name, EXTENSIONS.into_iter().filter_map(|s| mean(&cells, s)).collect()));
    }
    let rows: Vec<_> = means.iter().map(|(name, cells)| row(name, cells, &EXTENSIONS)).collect();
    let (places, sentence) = judge("mean over tasks", &JUDGED, &EXTENSIONS, &means);
    let numbers = means
        .iter()
        .map(|(name, cells)| json!({ "system": name, "means": cells.iter().map(summary).collect::<Vec<_>>() }));
    Ok(Some(Section {
        title: "The mean over tasks, in place of LongBench (DroPE paper, table 3)",
        paper: "LongBench after 20 B tokens of recalibration of SmolLM-1.7B and Llama2-7B, with DroPE ahead of the scalings of \
            RoPE on average. LongBench's questions are beyond models of this size."
            .into(),
        body: format!(
            "In its place the mean of RULER's score over {}, with numbers and words, each with the same weight. The interval \
             is Wilson's for 100 questions of each of the eight.\n\n{}{}",
            TASKS.map(Task::name).join(", "),
            table(&by_length("share of values found", &EXTENSIONS), &rows),
            table(&by_length("not above", &EXTENSIONS), &places)
        ),
        verdict: format!("{ORDERING}{sentence}"),
        numbers: json!(numbers.collect::<Vec<_>>()),
        charts: Vec::new(),
    }))
}

fn summary(cell: &Cell) -> Value {
    json!({ "extension": cell.extension, "mean": cell.accuracy, "ci95": cell.ci95, "questions": cell.trials })
}

/// Mean of RULER's score over the tasks at one length, as a cell; `None` unless all of them are measured.
fn mean(cells: &[Cell], extension: usize) -> Option<Cell> {
    let here: Vec<&Cell> = cells.iter().filter(|cell| cell.extension == extension).collect();
    let is_whole = here.len() == 2 * TASKS.len();
    let fewest = here.iter().map(|cell| cell.trials).min().filter(|_| is_whole)?;
    let trials = fewest * here.len();
    let accuracy = here.iter().map(|cell| cell.string_match).sum::<f64>() / here.len() as f64;
    let first = (*here.first()?).clone();
    Some(Cell { trials, accuracy, string_match: accuracy, ci95: wilson_of_mean(accuracy, trials), ..first })
}
