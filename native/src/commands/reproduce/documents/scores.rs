//! Tables of exact answers: one for each task and kind of values, a row a method, a column a length.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::Result;
use drope_core::positions::Method;
use drope_core::results::{ResultCell, RetrievalCell, current};

use super::super::context::{EXTENSIONS, ReportContext};
use super::super::markdown::{by_length, table};
use super::super::retrieval::PLAIN_MODEL;
use super::super::score::ScoreRow;
use crate::files::model_folder;
use crate::reading::results_file;

/// Cells of all standard questions, those of DroPE as in the paper included, whose model is not shipped.
pub fn read(context: &ReportContext) -> Result<Vec<RetrievalCell>> {
    let mut cells: Vec<RetrievalCell> = results_file::read(Some(&context.data("niah.json")))?;
    let ablation: Vec<RetrievalCell> = results_file::read(Some(&context.data("ablation.json")))?;
    cells.extend(ablation.into_iter().filter(|cell| cell.model == PLAIN_MODEL));
    cells.retain(ResultCell::is_standard);
    let mut present = HashMap::new();
    for (model, method) in cells.iter().map(|cell| (cell.model.clone(), cell.method)).collect::<HashSet<_>>() {
        if let Some(folder) = context.model(&model) {
            present.insert((model, method), model_folder::fingerprint(&folder, method, None)?);
        }
    }
    Ok(current(cells, |cell: &RetrievalCell| present.get(&(cell.model.clone(), cell.method)).cloned()))
}

/// The one table that matters most.
pub fn table_of_numbers(cells: &[RetrievalCell]) -> String {
    let is_wanted = |cell: &&RetrievalCell| (cell.task.name(), cell.values.name()) == ("multi-key", "numbers");
    tables(&cells.iter().filter(is_wanted).cloned().collect::<Vec<_>>())
}

/// A table for each task and kind of values.
pub fn tables(cells: &[RetrievalCell]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&RetrievalCell>> = BTreeMap::new();
    for cell in cells {
        groups.entry((cell.task.name(), cell.values.name())).or_default().push(cell);
    }
    groups.iter().map(|((task, values), group)| task_table(task, values, group)).collect()
}

fn task_table(task: &str, values: &str, group: &[&RetrievalCell]) -> String {
    let trials: BTreeSet<usize> = group.iter().map(|cell| cell.trials).collect();
    let trials = trials.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
    // In the order of the list of methods, whatever the order in which they were measured.
    let place = |method: Method| Method::ALL.iter().position(|&known| known == method).unwrap_or(Method::ALL.len());
    let mut readings: Vec<(usize, &str, Method)> =
        group.iter().map(|cell| (place(cell.method), &*cell.model, cell.method)).collect();
    readings.sort_unstable_by_key(|&(place, model, _)| (place, model));
    readings.dedup();
    let line = |&(_, model, method): &(usize, &str, Method)| {
        let of_row = group.iter().filter(|cell| (&*cell.model, cell.method) == (model, method));
        let cells: Vec<RetrievalCell> = of_row.map(|cell| (*cell).clone()).collect();
        ScoreRow::exact(format!("{model}, {}", method.name()), &cells).line(&EXTENSIONS)
    };
    let lines: Vec<_> = readings.iter().map(line).collect();
    let seed = group.first().map_or(0, |cell| cell.seed);
    format!(
        "**{task}, {values}**, {trials} trials a cell, seed {seed}\n\n{}",
        table(&by_length("model, method", &EXTENSIONS), &lines)
    )
}

#[cfg(test)]
mod tests {
    use drope_core::results::RetrievalCell;
    use serde_json::json;

    use super::tables;

    fn cell(model: &str, method: &str, extension: usize, fingerprint: &str) -> RetrievalCell {
        let cell = json!({
            "model": model, "method": method, "task": "single", "values": "numbers", "extension": extension, "context": 256,
            "trials": 2000, "correct": 1993, "accuracy": 0.9965, "string_match": 1.0, "ci95": [0.9928, 0.9983],
            "seed": 20000, "beta": 1.0, "fingerprint": fingerprint,
        });
        serde_json::from_value(cell).unwrap()
    }

    #[test]
    fn rows_are_ordered_and_say_which_model_was_not_kept() {
        let cells = [cell("m", "drope", 2, "a"), cell("lost", "drope", 1, ""), cell("m", "rope", 1, "a")];
        let text = tables(&cells);
        let rows: Vec<&str> = text.lines().filter(|line| line.contains("rope |") || line.contains("kept)")).collect();
        assert_eq!(
            rows,
            [
                "| m, rope | 99.7 [99.3, 99.8] | – | – | – |",
                "| lost, drope (model not kept) | 99.7 [99.3, 99.8] | – | – | – |",
                "| m, drope | – | 99.7 [99.3, 99.8] | – | – |"
            ]
        );
        assert!(text.starts_with("**single, numbers**, 2000 trials a cell, seed 20000"), "{text}");
    }
}
