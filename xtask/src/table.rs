//! The results table of the README, written from the results file so that the two never differ.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::Workplace;

const RESULTS: &str = "docs/results/niah.json";
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

/// Writes the table into the README.
pub fn write(place: &Workplace) -> Result<()> {
    let readme = place.root.join("README.md");
    let new = updated(place)?;
    std::fs::write(&readme, new).with_context(|| format!("cannot write {}", readme.display()))
}

/// Whether the README holds the table of the results file.
pub fn check(place: &Workplace) -> Result<()> {
    if std::fs::read_to_string(place.root.join("README.md"))? != updated(place)? {
        bail!("the README's table is not that of {RESULTS}: run `cargo xtask table`");
    }
    Ok(())
}

fn updated(place: &Workplace) -> Result<String> {
    let readme = std::fs::read_to_string(place.root.join("README.md")).context("README.md is missing")?;
    let results = std::fs::read_to_string(place.root.join(RESULTS)).with_context(|| format!("{RESULTS} is missing"))?;
    let cells: Vec<Value> = serde_json::from_str(&results).with_context(|| format!("{RESULTS} is not a list"))?;
    let start = readme.find(BEGIN).context("README.md has lost the mark before its table")? + BEGIN.len();
    let end = readme.find(END).context("README.md has lost the mark behind its table")?;
    Ok(format!("{}{}{}", &readme[..start], tables(&cells), &readme[end..]))
}

/// One table for each task and kind of values, a row a method, a column a length.
fn tables(cells: &[Value]) -> String {
    let text = |cell: &Value, field: &str| cell[field].as_str().unwrap_or_default().to_owned();
    let mut groups: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
    for cell in cells {
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
                let cell = group.iter().find(|cell| {
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
