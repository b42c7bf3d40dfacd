//! The results tables, written from the results files so that the two never differ: the README has the one that matters
//! most, docs/results/README.md has all.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Workplace;

const RESULTS: &str = "docs/results/niah.json";
/// Has DroPE as in the paper, whose model is not shipped.
const ABLATION: (&str, &str) = ("docs/results/ablation.json", "drope-plain");
/// Documents with tables, and the tasks and values of theirs; empty: all.
const DOCUMENTS: [(&str, &[(&str, &str)]); 2] =
    [("README.md", &[("multi-key", "numbers")]), ("docs/results/README.md", &[])];
const BEGIN: &str = "<!-- results: cargo xtask table -->\n";
const END: &str = "<!-- end of results -->";
/// Rows stand in the order in which they are compared, whatever the order in which they were measured.
const METHODS: [&str; 17] = [
    "rope",
    "crop",
    "pi",
    "ntk",
    "dynamic-ntk",
    "llama3",
    "yarn",
    "yarn-as-printed",
    "longrope",
    "dope-parts",
    "dope-all",
    "dope-gaussian",
    "alibi",
    "nope",
    "rnope-swa",
    "drope",
    "p-drope",
];

/// Writes the tables into their documents.
pub fn write(place: &Workplace) -> Result<()> {
    for (document, wanted) in DOCUMENTS {
        let path = place.root.join(document);
        let new = updated(place, document, wanted)?;
        std::fs::write(&path, new).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Whether the documents hold the tables of the results files.
pub fn check(place: &Workplace) -> Result<()> {
    for (document, wanted) in DOCUMENTS {
        if std::fs::read_to_string(place.root.join(document))? != updated(place, document, wanted)? {
            bail!("{document} has not the tables of {RESULTS}: run `cargo xtask table`");
        }
    }
    Ok(())
}

fn updated(place: &Workplace, document: &str, wanted: &[(&str, &str)]) -> Result<String> {
    let text = std::fs::read_to_string(place.root.join(document)).with_context(|| format!("{document} is missing"))?;
    let mut cells = read(place, RESULTS)?;
    let (file, model) = ABLATION;
    cells.extend(read(place, file)?.into_iter().filter(|cell| cell["model"] == model));
    if !wanted.is_empty() {
        cells.retain(|cell| wanted.iter().any(|&(task, values)| cell["task"] == task && cell["values"] == values));
    }
    let start =
        text.find(BEGIN).with_context(|| format!("{document} has lost the mark before its tables"))? + BEGIN.len();
    let end = text.find(END).with_context(|| format!("{document} has lost the mark behind its tables"))?;
    Ok(format!("{}{}{}", &text[..start], tables(&cells), &text[end..]))
}

fn read(place: &Workplace, file: &str) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(place.root.join(file)).with_context(|| format!("{file} is missing"))?;
    serde_json::from_str(&text).with_context(|| format!("{file} is not a list"))
}

/// One table for each task and kind of values, a row a method, a column a length.
fn tables(cells: &[Value]) -> String {
    let text = |cell: &Value, field: &str| cell[field].as_str().unwrap_or_default().to_owned();
    let mut groups: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    // Only questions as everybody is asked them; what was measured later comes later.
    let is_special =
        |cell: &&Value| ["depth", "sinks", "cut", "filler", "shard"].iter().any(|field| !cell[field].is_null());
    for cell in cells.iter().filter(|cell| !is_special(cell)) {
        groups.entry((text(cell, "task"), text(cell, "values"))).or_default().push(cell);
    }
    let mut out = String::new();
    for ((task, values), group) in groups {
        let trials = BTreeSet::from_iter(group.iter().filter_map(|cell| cell["trials"].as_u64()));
        let trials = trials.iter().map(u64::to_string).collect::<Vec<_>>().join(" or ");
        out.push_str(&format!("\n**{task}, {values}**, {trials} trials a cell, seed {}\n\n", group[0]["seed"]));
        out.push_str("| model, method | 1× | 2× | 4× | 8× |\n|---|---|---|---|---|\n");
        let place = |(_, method): &(String, String)| METHODS.iter().position(|known| known == method);
        let mut rows: Vec<(String, String)> =
            group.iter().map(|cell| (text(cell, "model"), text(cell, "method"))).collect();
        rows.sort_by_key(|row| (place(row), row.clone()));
        rows.dedup();
        for (model, method) in rows {
            out.push_str(&format!("| {model}, {method} |"));
            for extension in [1, 2, 4, 8] {
                let cell = group.iter().rfind(|cell| {
                    text(cell, "model") == model && text(cell, "method") == method && cell["extension"] == extension
                });
                let percent = |value: &Value| 100.0 * value.as_f64().unwrap_or_default();
                out.push_str(&cell.map_or(" – |".to_owned(), |cell| {
                    let (low, high) = (percent(&cell["ci95"][0]), percent(&cell["ci95"][1]));
                    format!(" {:.1} [{low:.1}, {high:.1}] |", percent(&cell["accuracy"]))
                }));
            }
            out.push('\n');
        }
    }
    out
}
