//! Norms of queries and keys against the learning rate of recalibration (DroPE paper, table 11 and figure 12).

use anyhow::{Context, Result};
use drope_core::config::AttentionType;
use drope_core::perplexity::PerplexityCell;
use drope_core::positions::Method;
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::context::{EXTENSIONS, ReportContext};
use super::report::{Section, picture, table};

const RATES: [(&str, f64); 3] = [("2e-3", 2e-3), ("1e-2", 1e-2), ("5e-2", 5e-2)];
const NORMS: [(&str, AttentionType); 2] = [("none", AttentionType::Nope), ("qk", AttentionType::QkNormNope)];

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    if context.is_quick() {
        return Ok(None);
    }
    let from = context.model("nano-rope").context("nano-rope is missing")?;
    let (mut rows, mut numbers, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let mut ends: Vec<[f64; 2]> = Vec::new();
    for (rate, peak) in RATES {
        let mut end = [0.0; 2];
        for (index, (norm, attention_type)) in NORMS.into_iter().enumerate() {
            let name = format!("qk-norm-{norm}-{rate}");
            let mut recipe = context.recipe("reproduction/qk-norm.toml")?;
            recipe.schedule.peak = peak;
            recipe.drop.as_mut().context("the recipe has no [drop] table")?.attention_type = Some(attention_type);
            context.recalibrated(&name, &recipe, &from)?;
            let curve = context.curve(&name);
            lines.push(Series {
                name: format!("{norm}, {rate}"),
                points: curve.iter().map(|s| (s.tokens / 1e6, s.loss)).collect(),
            });
            let cell: PerplexityCell = context
                .perplexity(&name, Method::Drope, None, &EXTENSIONS)?
                .into_iter()
                .next()
                .context("no perplexity at 1x")?;
            let last = curve.last().map_or(f64::NAN, |step| step.answer_loss);
            end[index] = cell.loss;
            numbers.push(json!({ "rate": rate, "norm": norm, "held-out loss": cell.loss, "last answer loss": last }));
        }
        rows.push(vec![rate.to_owned(), format!("{:.3}", end[0]), format!("{:.3}", end[1])]);
        ends.push(end);
    }
    let axes = Axes { x: "million tokens", y: "training loss", is_log: [false, false] };
    let svg = chart::lines(&axes, &lines)?;
    let header = ["peak learning rate", "without norm", "with QK norm"].map(str::to_owned);
    let [first, .., last] = &ends[..] else { anyhow::bail!("there are two learning rates at least") };
    let holds = last[1] < last[0] && first[1] > first[0];
    Ok(Some(Section {
        title: "QK norm and learning rate (DroPE paper, table 11 and figure 12)",
        paper: "SmolLM-360M, final loss with / without QK norm: 2.496 / 6.334 at 1e-3, 2.555 / 2.530 at 3e-4, 3.102 / 2.713 at \
            3e-5: the norm helps at high rates, where it prevents spikes, and costs at low ones."
            .into(),
        body: format!(
            "Held-out loss at 1× after 600 steps (about 1.2 M tokens) of recalibration from nano-rope with Muon.\n\n{}{}",
            table(&header, &rows),
            picture("qk-norm.svg", "Training loss, with and without QK norm.")
        ),
        verdict: format!(
            "At the highest rate the loss is {:.3} with the norm and {:.3} without, at the lowest {:.3} and {:.3}: the paper's \
             ordering {} here (one run each).",
            last[1],
            last[0],
            first[1],
            first[0],
            if holds { "holds" } else { "does not hold" }
        ),
        numbers: json!(numbers),
        charts: vec![("qk-norm.svg".into(), svg)],
    }))
}
