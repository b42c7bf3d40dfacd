//! Table 1 of the DroPE paper and, beyond it, 16 times the context.

use std::collections::BTreeSet;

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::Cell;
use drope_core::stats::wilson_of_mean;
use serde_json::json;

use super::lab::{Ask, EXTENSIONS, Lab};
use super::report::{Section, by_length, percent, standing, table};

/// Every system: its name, the model it reads with, and how.
const SYSTEMS: [(&str, &str, Method); 13] = [
    ("RoPE", "nano-rope", Method::Rope),
    ("cropped RoPE", "nano-rope", Method::Crop),
    ("PI", "nano-rope", Method::Pi),
    ("NTK", "nano-rope", Method::Ntk),
    ("dynamic NTK", "nano-rope", Method::DynamicNtk),
    ("YaRN", "nano-rope", Method::Yarn),
    ("Llama 3", "nano-rope", Method::Llama3),
    ("ALiBi", "nano-alibi", Method::Alibi),
    ("NoPE", "nano-nope", Method::Nope),
    ("RNoPE-SWA", "nano-rnope-swa", Method::RnopeSwa),
    (PAPERS, "drope-plain", Method::Drope),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];

/// What is compared with all others: the paper's method, and ours.
const JUDGED: [&str; 3] = [PAPERS, "DroPE", "partial DroPE"];
const PAPERS: &str = "DroPE as in the paper";

const PAPER: &str = "Table 1, multi-query / multi-key / multi-value at 2x (500 trials): RoPE 0.0 / 0.0 / 0.0, PI 0.0 / 0.0 / 0.0, \
    NTK 21.1 / 19.4 / 16.5, YaRN 17.8 / 0.5 / 14.6, ALiBi 5.2 / 0.0 / 1.1, NoPE 9.2 / 36.2 / 21.4, RNoPE-SWA 5.2 / 25.6 / 20.6, \
    DroPE 28.0 / 41.6 / 23.3. Table 10, at 2x / 4x / 8x: NTK 29.8 / 14.4 / 7.2, YaRN 48.3 / 25.6 / 12.2, \
    LongRoPE2 44.2 / 26.2 / 16.5, DroPE 74.9 / 55.0 / 52.2.";

pub fn section(lab: &Lab) -> Result<Option<Section>> {
    let tasks =
        if lab.is_quick() { vec![Task::MultiKey] } else { vec![Task::MultiKey, Task::MultiQuery, Task::MultiValue] };
    let (mut body, mut sentences, mut numbers) = (String::new(), Vec::new(), Vec::new());
    for task in tasks {
        let mut rows: Vec<(&str, Vec<Cell>)> = Vec::new();
        for (name, model, method) in SYSTEMS {
            // Dynamic NTK reads token by token.
            let is_slow = method == Method::DynamicNtk;
            let trials = match (lab.is_quick(), task, is_slow) {
                (true, _, true) => continue,
                (true, ..) => 60,
                (false, Task::MultiKey, false) => 500,
                (false, ..) => 100,
            };
            // Its folder is not kept: what is measured stands in the ablation's file.
            if model == "drope-plain" && task != Task::MultiKey {
                continue;
            }
            let file = if model == "drope-plain" { "ablation.json" } else { "niah.json" };
            rows.push((name, lab.niah(file, model, &Ask::new(method, task, EXTENSIONS.to_vec(), trials))?));
        }
        let trials = rows.iter().flat_map(|row| &row.1).map(|cell| cell.trials);
        let counts: Vec<String> = BTreeSet::from_iter(trials).iter().map(usize::to_string).collect();
        let name = task.name();
        body.push_str(&scores(&format!("{name}, numbers"), &rows));
        body.push_str(&format!("Questions a cell: {}.\n\n", counts.join(" or ")));
        numbers.push(json!({ "task": name, "cells": rows.iter().flat_map(|row| &row.1).collect::<Vec<_>>() }));
        for extension in EXTENSIONS.into_iter().filter(|&s| s > 1) {
            sentences.extend(compared(name, extension, &rows));
        }
        if task != Task::MultiKey {
            // Several values are asked for: RULER counts those that are found.
            let name = format!("{name}, share of values found");
            let rows: Vec<(&str, Vec<Cell>)> = rows.iter().map(|(name, cells)| (*name, shares(cells))).collect();
            body.push_str(&scores(&format!("{name} (RULER's score)"), &rows));
            for extension in EXTENSIONS.into_iter().filter(|&s| s > 1) {
                sentences.extend(compared(&name, extension, &rows));
            }
        }
    }
    Ok(Some(Section {
        title: "Retrieval beyond the training context (DroPE paper, tables 1 and 10)",
        paper: PAPER.into(),
        body,
        verdict: format!("\n\n{}", sentences.join("\n")),
        numbers: json!(numbers),
        charts: Vec::new(),
    }))
}

fn scores(title: &str, rows: &[(&str, Vec<Cell>)]) -> String {
    let line = |(name, cells): &(&str, Vec<Cell>)| {
        let cells = EXTENSIONS.into_iter().map(|s| percent(cells.iter().find(|cell| cell.extension == s)));
        std::iter::once((*name).to_owned()).chain(cells).collect()
    };
    table(&by_length(title, &EXTENSIONS), &rows.iter().map(line).collect::<Vec<Vec<String>>>())
}

/// Cells whose score is RULER's.
fn shares(cells: &[Cell]) -> Vec<Cell> {
    let share = |cell: &Cell| {
        let ci95 = wilson_of_mean(cell.string_match, cell.trials);
        Cell { accuracy: cell.string_match, ci95, ..cell.clone() }
    };
    cells.iter().map(share).collect()
}

/// A sentence for each that is judged: how it stands among the systems that are not.
fn compared(task: &str, extension: usize, rows: &[(&str, Vec<Cell>)]) -> Vec<String> {
    let at = |cells: &'_ [Cell]| cells.iter().position(|cell| cell.extension == extension);
    let others: Vec<(&str, &Cell)> = rows
        .iter()
        .filter(|(name, _)| !JUDGED.contains(name))
        .filter_map(|(name, cells)| Some((*name, &cells[at(cells)?])))
        .collect();
    let judged = rows.iter().filter(|(name, _)| JUDGED.contains(name));
    judged
        .filter_map(|(name, cells)| {
            let (sentence, is_first) = standing(name, &cells[at(cells)?], &others);
            let order = match (*name == PAPERS, is_first) {
                (true, true) => "The paper's ordering, DroPE first, holds",
                (true, false) => "The paper's ordering, DroPE first, does not hold",
                (false, true) => "It is first",
                (false, false) => "That it is first does not show",
            };
            Some(format!("- {task}: {sentence} {order}."))
        })
        .collect()
}

/// How far the variants read, and what each of their parts does.
pub fn beyond(lab: &Lab) -> Result<Option<Section>> {
    if lab.is_quick() {
        return Ok(None);
    }
    let systems = [
        ("DroPE as in the paper", "drope-plain", Method::Drope),
        ("with SSMax", "drope-ssmax", Method::Drope),
        ("with copies", "drope-copies", Method::Drope),
        ("with both (nano-drope)", "nano-drope", Method::Drope),
        ("partial, with both (nano-p-drope)", "nano-p-drope", Method::PDrope),
        ("Llama 3", "nano-rope", Method::Llama3),
        ("YaRN", "nano-rope", Method::Yarn),
        ("NTK", "nano-rope", Method::Ntk),
    ];
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for (name, model, method) in systems {
        let ask = |extensions, trials| Ask::new(method, Task::MultiKey, extensions, trials);
        let cells = if model.starts_with("drope-") {
            lab.ablated("ablation.json", model)?;
            lab.niah("ablation.json", model, &ask(vec![1, 2, 4, 8, 16], 100))?
        } else {
            let mut cells = lab.niah("niah.json", model, &ask(vec![1, 2, 4, 8], 500))?;
            cells.extend(lab.niah("niah-16x.json", model, &ask(vec![16], 100))?);
            cells
        };
        let score = |s: usize| percent(cells.iter().find(|cell| cell.extension == s));
        if !cells.is_empty() {
            rows.push(std::iter::once(name.to_owned()).chain([1, 2, 4, 8, 16].map(score)).collect());
        }
        all.extend(cells);
    }
    let header: Vec<String> = ["multi-key, numbers", "1×", "2×", "4×", "8×", "16×"].map(str::to_owned).into();
    let last = |name: &str| all.iter().find(|cell| cell.model == name && cell.extension == 16);
    let verdict = match (last("nano-drope"), last("drope-plain")) {
        (Some(ours), Some(plain)) => format!(
            "At 16x, with no fit for the length, nano-drope answers {} and DroPE as in the paper at the same budget {}.",
            percent(Some(ours)),
            percent(Some(plain))
        ),
        _ => "Not all of it is measured yet.".to_owned(),
    };
    Ok(Some(Section {
        title: "One step past the paper: 16 times the context",
        paper: "no model in it reads beyond 8x. SSMax lets the logits of a query grow with the logarithm of the number of its \
            keys; copies let attention count filler as if it stood there many times (models/README.md)."
            .into(),
        body: table(&header, &rows),
        verdict,
        numbers: json!(all),
        charts: Vec::new(),
    }))
}
