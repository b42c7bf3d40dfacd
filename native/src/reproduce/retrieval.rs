//! Tables 1 and 10 of the DroPE paper.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::Cell;
use drope_core::stats::wilson_of_mean;
use serde_json::json;

use super::comparison::{ORDERING, Rows, judge, touch};
use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, at, by_length, row, table};

/// Every system: its name, the model it reads with, and how.
const SYSTEMS: [(&str, &str, Method); 14] = [
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
    (PAPERS, "drope-plain", Method::Drope),
    ("DroPE", "nano-drope", Method::Drope),
    ("partial DroPE", "nano-p-drope", Method::PDrope),
];

/// Rounds of more questions at the extension factors where most are answered: results file, factor, questions.
const ROUNDS: [(&str, usize, usize); 3] =
    [("niah-more.json", 2, 4000), ("niah-more.json", 4, 2000), ("niah-most.json", 2, 12_000)];

/// What is compared with all others: the paper's method, and ours.
pub const JUDGED: [&str; 3] = [PAPERS, "DroPE", "partial DroPE"];
const PAPERS: &str = "DroPE as in the paper";

const PAPER: &str = "Table 1, multi-query / multi-key / multi-value at 2x (500 trials): RoPE 0.0 / 0.0 / 0.0, PI 0.0 / 0.0 / 0.0, \
    NTK 21.1 / 19.4 / 16.5, YaRN 17.8 / 0.5 / 14.6, ALiBi 5.2 / 0.0 / 1.1, NoPE 9.2 / 36.2 / 21.4, RNoPE-SWA 5.2 / 25.6 / 20.6, \
    DroPE 28.0 / 41.6 / 23.3. Table 10, at 2x / 4x / 8x: NTK 29.8 / 14.4 / 7.2, YaRN 48.3 / 25.6 / 12.2, \
    LongRoPE2 44.2 / 26.2 / 16.5, DroPE 74.9 / 55.0 / 52.2.";

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let tasks = if context.is_quick() {
        vec![Task::MultiKey]
    } else {
        vec![Task::MultiKey, Task::MultiQuery, Task::MultiValue]
    };
    let (mut parts, mut numbers) = (Vec::new(), Vec::new());
    let mut keep = |name: &str, rows: &Rows| {
        numbers.push(json!({ "task": name, "cells": rows.iter().flat_map(|row| &row.1).collect::<Vec<_>>() }));
    };
    for task in tasks {
        let name = task.name();
        let rows = every_system(context, task)?;
        keep(name, &rows);
        parts.push((name.to_owned(), rows.clone()));
        if task != Task::MultiKey {
            // Several values are asked for: RULER counts those that are found.
            let shares = rows.into_iter().map(|(system, cells)| (system, shares(&cells))).collect();
            parts.push((format!("{name}, share of values found"), shares));
        } else if !context.is_quick() {
            let rows = asked_again(context, &rows)?;
            let name = format!("{name}, asked again");
            keep(&name, &rows);
            parts.push((name, rows));
        }
    }
    let longer: Vec<usize> = EXTENSIONS.into_iter().filter(|&s| s > 1).collect();
    let (places, sentences): (Vec<_>, Vec<_>) =
        parts.iter().map(|(name, rows)| judge(name, &JUDGED, &longer, rows)).unzip();
    let tables: String = parts.iter().map(|(name, rows)| scores(name, rows)).collect();
    Ok(Some(Section {
        title: "Retrieval beyond the training context (DroPE paper, tables 1 and 10)",
        paper: PAPER.into(),
        body: format!(
            "*Asked again* has more questions where DroPE's interval and another's touched: 4000 at 2×, then 12,000 if they \
             still did; 2000 at 4×. *Share of values found* is RULER's score.\n\n{tables}Where DroPE stands among the others: first, or those that it is not above.\n\n{}",
            table(&by_length("by their intervals", &longer), &places.concat())
        ),
        verdict: format!("{ORDERING}{}", sentences.join("\n")),
        numbers: json!(numbers),
        charts: Vec::new(),
    }))
}

fn every_system(context: &ReportContext, task: Task) -> Result<Rows> {
    let mut rows = Vec::new();
    for (name, model, method) in SYSTEMS {
        // Dynamic NTK reads token by token.
        let is_slow = method == Method::DynamicNtk;
        let trials = match (context.is_quick(), task, is_slow) {
            (true, _, true) => continue,
            (true, ..) => 40,
            (false, Task::MultiKey, false) => 500,
            (false, ..) => 100,
        };
        // Its folder is not kept: what is measured stands in the ablation's file.
        let file = if name == PAPERS { "ablation.json" } else { "niah.json" };
        if name == PAPERS {
            if task != Task::MultiKey {
                continue;
            }
            if !context.is_quick() {
                context.recalibrated_once(file, model, &context.recipe("ablation/drope-plain.toml")?)?;
            }
        }
        rows.push((name, context.niah(file, model, &Ask::new(method, task, EXTENSIONS.to_vec(), trials))?));
    }
    Ok(rows)
}

/// DroPE and those whose intervals touch its own, with more questions; the other rivals as they were.
fn asked_again(context: &ReportContext, rows: &Rows) -> Result<Rows> {
    let is_asked = |name: &str| name == "DroPE" || !JUDGED.contains(&name);
    let is_in_a_round = |cell: &Cell| ROUNDS.iter().any(|round| round.1 == cell.extension);
    let rivals = rows.iter().filter(|(name, _)| is_asked(name));
    let mut rows: Rows = rivals
        .map(|(name, cells)| (*name, cells.iter().filter(|&cell| is_in_a_round(cell)).cloned().collect()))
        .collect();
    for (file, extension, trials) in ROUNDS {
        let ours = rows.iter().find(|(name, _)| *name == "DroPE").and_then(|(_, cells)| at(cells, extension)).cloned();
        let Some(ours) = ours else { continue };
        for (name, cells) in &mut rows {
            let Some(cell) = cells.iter_mut().find(|cell| cell.extension == extension && touch(cell, &ours)) else {
                continue;
            };
            let system = SYSTEMS.into_iter().find(|system| system.0 == *name);
            let (_, model, method) = system.context("a row is of a system")?;
            let asked = context.niah(file, model, &Ask::new(method, Task::MultiKey, vec![extension], trials))?;
            *cell = asked.into_iter().next().unwrap_or_else(|| cell.clone());
        }
    }
    Ok(rows)
}

/// A table, and how many questions it took.
fn scores(name: &str, rows: &Rows) -> String {
    let lines: Vec<_> = rows.iter().map(|(system, cells)| row(system, cells, &EXTENSIONS)).collect();
    let trials = rows.iter().flat_map(|row| &row.1).map(|cell| cell.trials);
    let counts: Vec<String> = BTreeSet::from_iter(trials).iter().map(usize::to_string).collect();
    format!(
        "{}Questions a cell: {}.\n\n",
        table(&by_length(&format!("{name}; numbers"), &EXTENSIONS), &lines),
        counts.join(" or ")
    )
}

/// Cells whose score is RULER's.
fn shares(cells: &[Cell]) -> Vec<Cell> {
    let share = |cell: &Cell| {
        let ci95 = wilson_of_mean(cell.string_match, cell.trials);
        Cell { accuracy: cell.string_match, ci95, ..cell.clone() }
    };
    cells.iter().map(share).collect()
}
