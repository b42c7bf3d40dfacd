//! Figure 2 of the DroPE paper: the loss of RoPE, NoPE and DroPE.

use anyhow::{Context, Result};
use drope_core::positions::Method;
use serde::Serialize;

use super::chart::{self, Axes, Series};
use super::context::{CurvePoint, EXTENSIONS, ReportContext};
use super::markdown::{DASH, cells, list, percent, picture, table};
use super::perplexities::PerplexityRow;
use super::report::{Section, SectionText};
use super::verdict::Verdict;

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
/// Steps from line to line.
const STEPS_A_LINE: usize = 20;

/// How near a recalibrated model's perplexity ends to RoPE's, and what that took.
#[derive(Serialize)]
pub struct LossVerdict {
    system: &'static str,
    row: PerplexityRow,
    is_within_margin: Verdict,
    /// Tokens of recalibration as a share of pretraining's; `None` where they are not recorded.
    budget: Option<f64>,
}

pub fn compare_losses(context: &ReportContext) -> Result<Section> {
    let rows = rows(context)?;
    let verdicts = verdicts(context, &rows);
    let line = |row: &PerplexityRow| {
        let answers = row.answer_perplexity.map_or(DASH.to_owned(), |answers| format!("{answers:.3}"));
        vec![row.system.clone(), format!("{:.3}", row.loss), row.text(), row.excess_text(), answers]
    };
    let header = cells(["held out, 1×", "loss", "perplexity", "against RoPE", "perplexity of answers"]);
    let caption = format!(
        "Means over {} steps. DroPE goes on from the end of RoPE, on documents of its own recipe (copies, fewer questions), so \
         training losses are not comparable between recipes; the table is.",
        SMOOTH * STEPS_A_LINE
    );
    let text = SectionText {
        paper: "RoPE trains faster than NoPE throughout; DroPE, which drops the positions after 14 K of 16 K steps, ends at RoPE's \
            loss and below NoPE's."
            .into(),
        body: format!("{}{}", picture("loss.svg", &caption), table(&header, &rows.iter().map(line).collect::<Vec<_>>())),
        verdict: sentence(&verdicts),
        charts: vec![("loss.svg".into(), curves(context)?)],
    };
    Section::new(&rows, &verdicts, text)
}

/// Perplexities at the training context, each beside RoPE's.
pub fn rows(context: &ReportContext) -> Result<Vec<PerplexityRow>> {
    let mut cells = Vec::new();
    for (name, model, method, _) in SYSTEMS {
        let measured = context.perplexity(model, method, None, &EXTENSIONS)?;
        cells.extend(measured.into_iter().filter(|cell| cell.extension == 1).map(|cell| (name, cell)));
    }
    let rope = &cells.iter().find(|(name, _)| *name == "RoPE").context("nano-rope is not measured")?.1;
    Ok(cells.iter().map(|(name, cell)| PerplexityRow::new(name, cell, Some(rope))).collect())
}

fn verdicts(context: &ReportContext, rows: &[PerplexityRow]) -> Vec<LossVerdict> {
    let recalibrated = SYSTEMS.into_iter().filter_map(|(system, model, _, from)| Some((system, model, from?)));
    let verdict = |(system, model, from): (&'static str, &str, &str)| {
        let row = rows.iter().find(|row| row.system == system)?.clone();
        let is_within_margin = Verdict::is_within_margin(row.excess.as_ref());
        let budget = context.tokens(model).zip(context.tokens(from)).map(|(ours, before)| ours / before);
        Some(LossVerdict { system, row, is_within_margin, budget })
    };
    recalibrated.filter_map(verdict).collect()
}

fn sentence(verdicts: &[LossVerdict]) -> String {
    let close = verdicts.iter().map(|LossVerdict { system, row, is_within_margin, .. }| {
        format!("{system} ends {} from RoPE at 1x: {}. ", row.excess_text(), is_within_margin.within_words())
    });
    let budgets: Vec<String> = verdicts.iter().filter_map(|verdict| Some(percent(verdict.budget?))).collect();
    let close: String = close.collect();
    if budgets.is_empty() {
        return close.trim().to_owned();
    }
    format!(
        "{close}Recalibration took {} of pretraining's tokens on top of it, so this is not the paper's equal budget; the \
         sections on when to drop and on equal budget are.",
        list(&budgets)
    )
}

fn curves(context: &ReportContext) -> Result<String> {
    let mut lines = Vec::new();
    for (name, model, _, from) in SYSTEMS {
        let before = from.and_then(|from| context.tokens(from)).unwrap_or(0.0);
        let curve = context.curve(model);
        if !curve.is_empty() {
            lines.push(Series { name: name.to_owned(), points: smoothed(&curve, before) });
        }
    }
    let axes = Axes { x: "million tokens", y: "training loss, nats a token", is_log: [false, true] };
    chart::lines(&axes, &lines)
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

#[cfg(test)]
mod tests {
    use drope_core::positions::Method;

    use super::super::perplexities::{Excess, PerplexityRow};
    use super::super::verdict::Verdict;
    use super::{LossVerdict, sentence};

    #[test]
    fn the_sentence_has_every_distance_and_budget() {
        let row = PerplexityRow {
            system: "DroPE".into(),
            model: "m".into(),
            method: Method::Drope,
            extension: 1,
            loss: 3.0,
            perplexity: 20.0,
            ci95: None,
            answer_perplexity: None,
            excess: Some(Excess { share: 0.053, ci95: Some([0.045, 0.061]) }),
        };
        let is_within_margin = Verdict::is_within_margin(row.excess.as_ref());
        let verdict = LossVerdict { system: "DroPE", row, is_within_margin, budget: Some(0.938) };
        let sentence = sentence(&[verdict]);
        assert!(
            sentence.starts_with("DroPE ends +5.3 % [+4.5, +6.1] from RoPE at 1x: not within 2 % of RoPE. "),
            "{sentence}"
        );
        assert!(sentence.contains("Recalibration took 93.8 % of"), "{sentence}");
    }
}
