//! Norms of queries and keys against the learning rate of recalibration (DroPE paper, table 11 and figure 12).

use anyhow::{Context, Result};
use drope_core::config::AttentionType;
use drope_core::positions::Method;
use serde::{Deserialize, Serialize};

use super::chart::{self, Axes, Series};
use super::context::{EXTENSIONS, ReportContext};
use super::markdown::{cells, picture, table};
use super::paper::{PrintedRow, printed};
use super::report::{Section, SectionText};
use super::verdict::Verdict;
use drope_core::train::recipe::Recipe;

const RATES: [(&str, f64); 3] = [("2e-3", 2e-3), ("1e-2", 1e-2), ("5e-2", 5e-2)];
const NORMS: [(&str, AttentionType); 2] = [("none", AttentionType::Nope), ("qk", AttentionType::QkNormNope)];
const RECIPE: &str = "reproduction/qk-norm.toml";

/// The paper's final losses of SmolLM-360M by learning rate, with QK norm and without.
const PRINTED: [PrintedRow<2>; 3] = [("1e-3:", [2.496, 6.334]), ("3e-4:", [2.555, 2.530]), ("3e-5:", [3.102, 2.713])];

/// One run.
#[derive(Clone, Serialize, Deserialize)]
struct NormRow {
    rate: String,
    norm: String,
    held_out_loss: f64,
    /// `None` of a run that is too short for a line of its curve.
    last_answer_loss: Option<f64>,
    /// Million tokens and training loss.
    #[serde(default)]
    curve: Vec<(f64, f64)>,
}

/// That the norm helps at the highest rate and costs at the lowest, of one run each: no interval tells.
#[derive(Serialize)]
struct NormVerdict {
    highest: [f64; 2],
    lowest: [f64; 2],
    holds: Verdict,
}

pub fn vary_norm_and_rate(context: &ReportContext) -> Result<Section> {
    let rows: Vec<NormRow> = if context.args.render { context.saved_rows("qk-norm")? } else { measure(context)? };
    let verdict = judge(&rows)?;
    let recipe = context.recipe(RECIPE)?;
    let line = |(rate, _): (&str, f64)| {
        let losses = NORMS.map(|(norm, _)| loss(&rows, rate, norm).map_or(f64::NAN, |loss| loss));
        vec![rate.to_owned(), format!("{:.3}", losses[0]), format!("{:.3}", losses[1])]
    };
    let header = cells(["peak learning rate", "without norm", "with QK norm"]);
    let [highest, lowest] = [verdict.highest, verdict.lowest];
    let text = SectionText {
        paper: format!(
            "SmolLM-360M, final loss with / without QK norm at three learning rates: {}. The norm helps at high rates, where it \
             prevents spikes, and costs at low ones.",
            printed(&PRINTED, 3)
        ),
        body: format!(
            "Held-out loss at 1× after {} steps (about {:.1} M tokens) of recalibration from nano-rope with Muon.\n\n{}{}",
            recipe.steps,
            (recipe.steps * recipe.tokens_per_step) as f64 / 1e6,
            table(&header, &RATES.map(line)),
            picture("qk-norm.svg", "Training loss, with and without QK norm.")
        ),
        verdict: format!(
            "At the highest rate the loss is {:.3} with the norm and {:.3} without, at the lowest {:.3} and {:.3}: the paper's \
             ordering {} (one run each).",
            highest[1],
            highest[0],
            lowest[1],
            lowest[0],
            verdict.holds.words()
        ),
        charts: charts(&rows)?,
    };
    Section::new(&rows, &verdict, text)
}

fn measure(context: &ReportContext) -> Result<Vec<NormRow>> {
    let from = context.model("nano-rope").context("nano-rope is missing")?;
    let mut rows = Vec::new();
    for (rate, peak) in RATES {
        for (norm, attention_type) in NORMS {
            let name = format!("qk-norm-{norm}-{rate}");
            let mut recipe: Recipe = context.recipe(RECIPE)?;
            recipe.schedule.peak = peak;
            recipe.drop.as_mut().context("the recipe has no [drop] table")?.attention_type = Some(attention_type);
            context.recalibrated(&name, &recipe, &from)?;
            let curve = context.curve(&name);
            let losses = context.perplexity(&name, Method::Drope, None, &EXTENSIONS)?;
            rows.push(NormRow {
                rate: rate.to_owned(),
                norm: norm.to_owned(),
                held_out_loss: losses.first().context("no perplexity at 1x")?.loss,
                last_answer_loss: curve.last().and_then(|step| step.answer_loss),
                curve: curve.iter().map(|step| (step.tokens / 1e6, step.loss)).collect(),
            });
        }
    }
    Ok(rows)
}

fn loss(rows: &[NormRow], rate: &str, norm: &str) -> Option<f64> {
    rows.iter().find(|row| row.rate == rate && row.norm == norm).map(|row| row.held_out_loss)
}

fn judge(rows: &[NormRow]) -> Result<NormVerdict> {
    let losses = |rate: &str| -> Result<[f64; 2]> {
        let of = |norm: &str| loss(rows, rate, norm).with_context(|| format!("the rate {rate} is not measured"));
        Ok([of(NORMS[0].0)?, of(NORMS[1].0)?])
    };
    let (lowest, highest) = (losses(RATES[0].0)?, losses(RATES[RATES.len() - 1].0)?);
    let holds = if highest[1] < highest[0] && lowest[1] > lowest[0] { Verdict::Holds } else { Verdict::DoesNotHold };
    Ok(NormVerdict { highest, lowest, holds })
}

/// None where the curves were not kept.
fn charts(rows: &[NormRow]) -> Result<Vec<(String, String)>> {
    if rows.iter().any(|row| row.curve.is_empty()) {
        return Ok(Vec::new());
    }
    let line = |row: &NormRow| Series { name: format!("{}, {}", row.norm, row.rate), points: row.curve.clone() };
    let axes = Axes { x: "million tokens", y: "training loss", is_log: [false, false] };
    let svg = chart::lines(&axes, &rows.iter().map(line).collect::<Vec<_>>())?;
    Ok(vec![("qk-norm.svg".to_owned(), svg)])
}

#[cfg(test)]
mod tests {
    use super::{NormRow, Verdict, judge};

    #[test]
    fn the_norm_must_help_at_the_top_and_cost_at_the_bottom() {
        let row = |rate: &str, norm: &str, held_out_loss| NormRow {
            rate: rate.to_owned(),
            norm: norm.to_owned(),
            held_out_loss,
            last_answer_loss: None,
            curve: Vec::new(),
        };
        let rows = |low: [f64; 2], high: [f64; 2]| {
            [
                row("2e-3", "none", low[0]),
                row("2e-3", "qk", low[1]),
                row("5e-2", "none", high[0]),
                row("5e-2", "qk", high[1]),
            ]
        };
        assert_eq!(judge(&rows([2.5, 2.6], [6.0, 2.4])).unwrap().holds, Verdict::Holds);
        assert_eq!(judge(&rows([2.6, 2.5], [6.0, 2.4])).unwrap().holds, Verdict::DoesNotHold);
        assert!(judge(&[]).is_err());
    }
}
