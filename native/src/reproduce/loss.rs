//! Figure 2 of the DroPE paper: the loss of RoPE, NoPE and DroPE.

use anyhow::{Context, Result};
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::context::{CurvePoint, EXTENSIONS, ReportContext};
use super::report::{Section, apart, perplexity, picture, summaries, table, within_two_percent};

/// Name, model, how it is read, and the model that it was recalibrated from.
const SYSTEMS: [(&str, &str, Method, Option<&str>); 6] = [
    ("RoPE", "nano-rope", Method::Rope, None),
    ("NoPE", "nano-nope", Method::Nope, None),
    ("ALiBi", "nano-alibi", Method::Alibi, None),
    ("RNoPE-SWA", "nano-rnope-swa", Method::RnopeSwa, None),
    ("DroPE", "nano-drope", Method::Drope, Some("nano-rope")),
    ("partial DroPE", "nano-p-drope", Method::PDrope, Some("nano-rope")),
];

/// Lines of the curve that a point is the mean of.
const SMOOTH: usize = 10;

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let mut lines = Vec::new();
    for (name, model, _, from) in SYSTEMS {
        let before = from.and_then(|from| context.curve(from).last().map(|step| step.tokens)).unwrap_or(0.0);
        let curve = context.curve(model);
        if !curve.is_empty() {
            lines.push(Series { name: name.to_owned(), points: smoothed(&curve, before) });
        }
    }
    let axes = Axes { x: "million tokens", y: "training loss, nats a token", is_log: [false, true] };
    let svg = chart::lines(&axes, &lines)?;
    let mut cells: Vec<(&str, PerplexityCell)> = Vec::new();
    for (name, model, method, _) in SYSTEMS {
        let measured = context.perplexity(model, method, None, &EXTENSIONS)?;
        cells.extend(measured.into_iter().filter(|cell| cell.extension == 1).map(|cell| (name, cell)));
    }
    let rope = &cells.iter().find(|(name, _)| *name == "RoPE").context("nano-rope is not measured")?.1;
    let row = |(name, cell): &(&str, PerplexityCell)| {
        vec![
            (*name).to_owned(),
            format!("{:.3}", cell.loss),
            perplexity(Some(cell)),
            apart(cell, rope),
            cell.answer_perplexity.map_or("–".into(), |answers| format!("{answers:.3}")),
        ]
    };
    let header = ["held out, 1×", "loss", "perplexity", "against RoPE", "perplexity of answers"].map(str::to_owned);
    let close: Vec<String> = cells
        .iter()
        .filter(|(name, _)| name.contains("DroPE"))
        .map(|(name, cell)| {
            format!("{name} ends {} from RoPE at 1x: {}.", apart(cell, rope), within_two_percent(cell, rope))
        })
        .collect();
    let tokens = |model: &str| context.curve(model).last().map_or(f64::NAN, |step| step.tokens);
    let budget = |&(_, model, _, from): &(_, &str, _, Option<&str>)| {
        Some(format!("{:.0} %", 100.0 * tokens(model) / tokens(from?)))
    };
    let budgets: Vec<String> = SYSTEMS.iter().filter_map(budget).collect();
    Ok(Some(Section {
        title: "Loss of RoPE, NoPE and DroPE (DroPE paper, figures 2 and 3)",
        paper: "RoPE trains faster than NoPE throughout; DroPE, which drops the positions after 14 K of 16 K steps, ends at RoPE's \
            loss and below NoPE's."
            .into(),
        body: format!(
            "{}{}",
            picture("loss.svg", "Means over 200 steps. DroPE goes on from the end of RoPE, on documents of its own recipe \
                (simulated crowds, fewer questions), so training losses are not comparable between recipes; the table is."),
            table(&header, &cells.iter().map(row).collect::<Vec<_>>())
        ),
        verdict: format!(
            "{} Recalibration took {} of pretraining's tokens on top of it, so this is not the paper's equal budget; the \
             sections on when to drop and on equal budget are.",
            close.join(" "),
            budgets.join(" and ")
        ),
        numbers: json!(summaries(cells.iter().map(|(_, cell)| cell))),
        charts: vec![("loss.svg".into(), svg)],
    }))
}

fn smoothed(curve: &[CurvePoint], before: f64) -> Vec<(f64, f64)> {
    let mean = |steps: &[CurvePoint]| steps.iter().map(|step| step.loss).sum::<f64>() / steps.len() as f64;
    // The fall from random guessing would leave no room for the rest.
    curve
        .chunks(SMOOTH)
        .skip(1)
        .filter_map(|steps| Some(((before + steps.last()?.tokens) / 1e6, mean(steps))))
        .collect()
}
