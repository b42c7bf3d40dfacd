//! Partial DroPE as a family: scores and perplexity against the cut.

use std::f64::consts::TAU;

use anyhow::Result;
use drope_core::niah::Task;
use drope_core::positions::{Method, rope_frequencies};
use serde_json::json;

use super::context::{Ask, EXTENSIONS, ReportContext};
use super::report::{Section, at, by_length, percent, summaries, table};

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let config = context.config("nano-rope")?;
    let frequencies = rope_frequencies(config.rope.rope_theta, config.head_dim);
    // Cuts between two pairs: k pairs are kept.
    let cut = |kept: usize| match kept {
        0 => 2.0 * frequencies[0],
        k if k == frequencies.len() => 0.5 * frequencies[k - 1],
        k => (frequencies[k - 1] * frequencies[k]).sqrt(),
    };
    let usual = frequencies.iter().filter(|&&omega| omega >= TAU / config.max_position_embeddings as f64).count();
    let kept = if context.is_quick() { vec![16, 9, usual, 5, 3, 0] } else { vec![16, 12, 9, usual, 4, 2, 0] };
    let trials = if context.is_quick() { 40 } else { 30 };
    let extensions = if context.is_quick() { vec![1, 4] } else { vec![1, 2, 4, 8, 16] };
    let (mut body, mut numbers, mut sentences) = (String::new(), Vec::new(), Vec::new());
    for (model, what) in [
        ("nano-rope", "nano-rope, never recalibrated"),
        ("nano-p-drope", "nano-p-drope, recalibrated with the usual cut"),
    ] {
        let mut rows = Vec::new();
        let mut free = None;
        for &kept in kept.iter().filter(|&&kept| kept <= frequencies.len()) {
            let cut = cut(kept);
            let ask = Ask { cut: Some(cut), ..Ask::new(Method::PDrope, Task::MultiKey, extensions.clone(), trials) };
            let cells = context.niah("cut.json", model, &ask)?;
            if cells.is_empty() {
                continue;
            }
            let mut losses = context.perplexity(model, Method::PDrope, Some(cut), &EXTENSIONS)?;
            if !context.is_quick() {
                losses.extend(context.perplexity(model, Method::PDrope, Some(cut), &[16])?);
            }
            let mark = if kept == usual { " (2π/C)" } else { "" };
            let cell = |s: &usize| {
                let loss = losses.iter().find(|cell| cell.extension == *s);
                let loss = loss.map_or("–".to_owned(), |cell| format!("{:.1}", cell.perplexity));
                format!("{}; {loss}", percent(at(&cells, *s)))
            };
            rows.push(
                std::iter::once(format!("{kept} of {}{mark}", frequencies.len()))
                    .chain(extensions.iter().map(cell))
                    .collect(),
            );
            if at(&cells, 1).is_some_and(|cell| cell.accuracy >= 0.9) {
                free = Some(kept);
            }
            numbers.push(
                json!({ "model": model, "pairs kept": kept, "cut": cut, "multi-key": cells, "perplexity": summaries(&losses) }),
            );
        }
        let header = by_length(&format!("{what}; pairs kept"), &extensions);
        body.push_str(&table(&header, &rows));
        sentences.push(match free {
            Some(kept) => format!("{model} still answers 90 % at 1x with {kept} of {} pairs.", frequencies.len()),
            None => format!("{model} answers 90 % at 1x with none of these cuts."),
        });
    }
    if numbers.is_empty() {
        return Ok(None);
    }
    Ok(Some(Section {
        title: "Partial DroPE: the cut",
        paper: "not in it. Frequencies below the cut become the identity; none kept is DroPE, all kept is RoPE.".into(),
        body: format!(
            "Multi-key numbers, {trials} questions; behind the semicolon the perplexity of held-out text, \
             at 16× of texts of twice the length.\n\n{body}"
        ),
        verdict: sentences.join(" "),
        numbers: json!(numbers),
        charts: Vec::new(),
    }))
}
