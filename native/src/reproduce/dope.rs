//! Table 1 of the DoPE paper, in small.

use anyhow::Result;
use drope_core::config::dope::{Criterion, Noise, Order, Parts, Projection, Removal, Stage};
use drope_core::niah::Task;
use drope_core::positions::Method;
use drope_core::results::Cell;
use serde_json::json;

use super::comparison::compare;
use super::context::{Ask, ReportContext};
use super::report::{Section, percent, table};
use crate::dope;

/// Queries or keys, r, number of heads, stage, order: rows of the paper's table that did best in some column.
const CHOICES: [(Projection, usize, usize, Stage, Order); 4] = [
    (Projection::Key, 32, 3, Stage::PostNtk, Order::Ascending),
    (Projection::Query, 1, 5, Stage::PostNtk, Order::Ascending),
    (Projection::Key, 8, 1, Stage::PostNtk, Order::Descending),
    (Projection::Query, 16, 3, Stage::PreNtk, Order::Ascending),
];

/// Sink tokens behind the needle; the paper does not say how many.
const SINKS: usize = 8;

const PAPER: &str = "Llama-3-8B-Instruct at 24K, noisy / original: dynamic NTK 75.4 / 91.9; by Gaussian (3 heads by keys, r = 32, \
    post_ntk, ascending) 84.4 / 94.4; by all (the same heads) 82.0 / 93.8; by parts at best 76.6 / 93.1.";

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let (extensions, trials) = if context.is_quick() { (vec![4], 40) } else { (vec![2, 4], 100) };
    let mut rows: Vec<(String, Vec<Cell>)> = Vec::new();
    let ask = |method: Method, heads, sinks| Ask {
        sinks,
        heads,
        ..Ask::new(method, Task::MultiKey, extensions.clone(), trials)
    };
    let both = |method: Method, heads: Option<std::path::PathBuf>| -> Result<Vec<Cell>> {
        let mut cells = context.niah("dope.json", "nano-rope", &ask(method, heads.clone(), SINKS))?;
        cells.extend(context.niah("dope.json", "nano-rope", &ask(method, heads, 0))?);
        Ok(cells)
    };
    rows.push(("NTK by s (dynamic NTK with α = s)".into(), both(Method::Ntk, None)?));
    let choices = if context.is_quick() { &CHOICES[..1] } else { &CHOICES[..] };
    for &(from, rank, heads, stage, order) in choices {
        let file =
            context.data(&format!("dope-heads-{}-{rank}-{heads}-{}-{}.json", from.name(), stage.name(), order.name()));
        let chosen = dope::select(&dope::SelectOptions {
            model: context.model("nano-rope").unwrap_or_default(),
            heads,
            criterion: Criterion { from, stage, rank: Some(rank), order },
            extension: 4,
            removal: Removal::default(),
            parts: Parts::default(),
            noise: Noise::default(),
            texts: 4,
            seed: 1,
            json: Some(file.clone()),
            save: false,
            device: context.device(),
        })?;
        for method in [Method::DopeGaussian, Method::DopeAll, Method::DopeParts] {
            rows.push((format!("{}: {}", method.name(), chosen.label()), both(method, Some(file.clone()))?));
        }
    }
    let columns = extensions.iter().flat_map(|s| [format!("{s}×, noisy"), format!("{s}×")]);
    let header: Vec<String> = std::iter::once("multi-key, numbers".to_owned()).chain(columns).collect();
    let find = |cells: &[Cell], extension: usize, sinks: usize| {
        cells.iter().find(|cell| cell.extension == extension && cell.sinks == sinks).cloned()
    };
    let line = |(name, cells): &(String, Vec<Cell>)| {
        let scores = extensions.iter().flat_map(|&s| [find(cells, s, SINKS), find(cells, s, 0)]);
        std::iter::once(name.clone()).chain(scores.map(|cell| percent(cell.as_ref()))).collect()
    };
    let body = table(&header, &rows.iter().map(line).collect::<Vec<Vec<String>>>());
    let mut sentences = Vec::new();
    for (extension, sinks) in extensions.iter().flat_map(|&s| [(s, SINKS), (s, 0)]) {
        let best = rows[1..]
            .iter()
            .filter_map(|(name, cells)| Some((name, find(cells, extension, sinks)?)))
            .max_by(|a, b| a.1.accuracy.total_cmp(&b.1.accuracy));
        if let (Some((name, best)), Some(ntk)) = (best, find(&rows[0].1, extension, sinks)) {
            let noisy = if sinks > 0 { ", noisy" } else { "" };
            let place = compare(&best, &[("NTK", &ntk)]);
            let sentence = place.sentence(name, &best);
            let holds = if place.is_first() { "holds" } else { "does not show here" };
            sentences.push(format!("- The best of DoPE{noisy}: {sentence} That DoPE gains {holds}."));
        }
    }
    Ok(Some(Section {
        title: "DoPE in small (DoPE paper, table 1)",
        paper: PAPER.into(),
        body: format!(
            "{trials} questions a cell; noisy: {SINKS} beginning-of-text tokens right behind the needle.\n\n{body}"
        ),
        verdict: format!(
            "(The best row is picked on the questions that it is judged by, which flatters it.)\n\n{}",
            sentences.join("\n")
        ),
        numbers: json!(rows.iter().flat_map(|row| &row.1).collect::<Vec<_>>()),
        charts: Vec::new(),
    }))
}
