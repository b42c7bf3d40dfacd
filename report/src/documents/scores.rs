//! Tables of exact answers: one for each task and kind of values, a row a method, a column a length.

use std::collections::BTreeMap;

use drope_core::positions::Method;
use drope_core::results::RetrievalCell;

use crate::markdown::{by_length, table};
use crate::number::{Number, Row, questions};
use crate::results::{EXTENSIONS, Results};
use crate::sections::retrieval::PLAIN_MODEL;

/// A table for each task and kind of values.
pub fn tables(results: &Results) -> String {
    tables_of(&cells(results).collect::<Vec<_>>())
}

/// Cells of all standard questions, those of DroPE as in the paper included, whose model is not shipped.
fn cells(results: &Results) -> impl Iterator<Item = &RetrievalCell> {
    results.standard("niah").chain(results.standard("ablation").filter(|cell| cell.model == PLAIN_MODEL))
}

fn tables_of(cells: &[&RetrievalCell]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<&RetrievalCell>> = BTreeMap::new();
    for cell in cells {
        groups.entry((cell.task.name(), cell.values.name())).or_default().push(cell);
    }
    groups.iter().map(|((task, values), group)| task_table(task, values, group)).collect()
}

fn task_table(task: &str, values: &str, group: &[&RetrievalCell]) -> String {
    // In the order of the list of methods, whatever the order in which they were measured.
    let place = |method: Method| Method::ALL.iter().position(|&known| known == method).unwrap_or(Method::ALL.len());
    let mut readings: BTreeMap<(usize, &str), Vec<&RetrievalCell>> = BTreeMap::new();
    for cell in group {
        readings.entry((place(cell.method), &cell.model)).or_default().push(cell);
    }
    let row = |((_, model), cells): (&(usize, &str), &Vec<&RetrievalCell>)| {
        Row::of_cells(&format!("{model}, {}", cells[0].method.name()), cells, Number::exact)
    };
    let rows: Vec<Row> = readings.iter().map(row).collect();
    format!(
        "**{task}, {values}**, {} trials a cell, seed {}\n\n{}",
        questions(&rows),
        group.first().map_or(0, |cell| cell.seed),
        table(by_length("model, method", &EXTENSIONS), rows.iter().map(|row| row.line(&EXTENSIONS)))
    )
}

#[cfg(test)]
mod tests {
    use drope_core::results::RetrievalCell;
    use serde_json::json;

    use super::tables_of;

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
        let text = tables_of(&cells.iter().collect::<Vec<_>>());
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
