//! One step past the papers: longer texts than theirs.

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;

use super::Section;
use super::systems::{LLAMA_3, NTK, YARN};
use crate::comparison::Comparison;
use crate::markdown::{by_length, table};
use crate::number::{Number, Row, find};
use crate::results::{Ask, EXTENSIONS, Results, System, system};

const LENGTHS: [usize; 5] = [1, 2, 4, 8, LONGEST];
pub const LONGEST: usize = 16;

const SYSTEMS: [System; 8] = [
    system(PLAIN, "drope-plain", Method::Drope),
    system(SSMAX, "drope-ssmax", Method::Drope),
    system(COPIES, "drope-copies", Method::Drope),
    system(BOTH, "nano-drope", Method::Drope),
    system("partial, with both (nano-p-drope)", "nano-p-drope", Method::PDrope),
    LLAMA_3,
    YARN,
    NTK,
];
/// Scalings of RoPE, which are not trained.
const UNTRAINED: [&str; 3] = ["Llama 3", "YaRN", "NTK"];
pub const PLAIN: &str = "DroPE as in the paper";
pub const SSMAX: &str = "with SSMax";
pub const COPIES: &str = "with copies";
pub const BOTH: &str = "with both (nano-drope)";

/// How far the variants read, and what each of their parts does.
pub fn read_longest_texts(results: &Results) -> Result<Option<Section>> {
    let rows = rows(results);
    let lines = rows.iter().map(|row| row.line(&LENGTHS));
    Ok((!rows.is_empty()).then(|| Section {
        paper: "its needles lie in texts of up to 8x (tables 1 and 10); LongBench's questions go beyond 80x of SmolLM's context \
                (section 5.1), and models of this size cannot answer them. SSMax lets the logits of a query grow with the \
                logarithm of the number of its keys; copies let attention count filler as if it stood there many times \
                (models/README.md)."
            .into(),
        body: table(by_length("multi-key, numbers", &LENGTHS), lines),
        verdict: verdict(&rows).unwrap_or_else(|| "Not all of it is measured yet.".to_owned()),
        charts: Vec::new(),
    }))
}

/// A row for each system that is measured.
pub fn rows(results: &Results) -> Vec<Row> {
    let row = |system: &System| {
        let ask = |file, lengths| Ask::new(file, Task::MultiKey, lengths);
        let cells = if system.model.starts_with("drope-") {
            results.answers(system, &ask("ablation", &LENGTHS))
        } else {
            let (table, longest) = (ask("niah", &EXTENSIONS[..]), ask("niah-16x", &[LONGEST]));
            [results.answers(system, &table), results.answers(system, &longest)].concat()
        };
        (!cells.is_empty()).then(|| Row::of_cells(system.name, &cells, Number::exact))
    };
    SYSTEMS.iter().filter_map(row).collect()
}

/// What each part of nano-drope does at the longest length: nano-drope beside DroPE as in the paper and the best of the scalings.
fn verdict(rows: &[Row]) -> Option<String> {
    let last = |name: &str| find(rows, name)?.at(LONGEST);
    let text = |name: &str| find(rows, name).map_or_else(|| "–".to_owned(), |row| row.percent_at(LONGEST));
    let (both, plain) = (last(BOTH)?, last(PLAIN)?);
    let untrained = UNTRAINED.into_iter().filter_map(|name| Some((name, last(name)?)));
    let best = untrained.max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let against: Vec<(&str, &Number)> = [Some((PLAIN, plain)), best].into_iter().flatten().collect();
    let best = best.map_or(String::new(), |(name, score)| {
        format!(", and the best scaling without training, {name}, {}", score.percent())
    });
    Some(format!(
        "DroPE as in the paper answers {} at the same budget{best}. {} Its temperature was fitted at 2x, 4x and 8x, and goes on by \
         1 + c·ln s. With copies alone it is {}, with SSMax alone {}.",
        plain.percent(),
        Comparison::new(LONGEST, both, &against).sentence("nano-drope"),
        text(COPIES),
        text(SSMAX)
    ))
}
