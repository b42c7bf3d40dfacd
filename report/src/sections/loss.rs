//! Figure 2 of the DroPE paper: the loss of RoPE, NoPE and DroPE.

use anyhow::Result;
use drope_core::perplexity::PerplexityCell;

use super::Section;
use super::systems::{ALIBI, DROPE, NOPE, PARTIAL_DROPE, RNOPE_SWA, ROPE};
use crate::markdown::{list, or_dash, percent, picture, table};
use crate::number::Number;
use crate::plot;
use crate::results::{Results, System};
use crate::verdict::within_margin;

/// Systems, and the model that each was recalibrated from.
const SYSTEMS: [(System, Option<&str>); 6] = [
    (ROPE, None),
    (NOPE, None),
    (ALIBI, None),
    (RNOPE_SWA, None),
    (DROPE, Some("nano-rope")),
    (PARTIAL_DROPE, Some("nano-rope")),
];

/// Lines of the curve that a point is the mean of, and steps from line to line.
const SMOOTH: usize = 10;
const STEPS_A_LINE: usize = 20;

/// The perplexity of a system at the training context.
pub struct LossRow<'a> {
    pub system: System,
    from: Option<&'static str>,
    cell: &'a PerplexityCell,
    /// How far it lies above RoPE's.
    pub excess: Number,
}

pub fn compare_losses(results: &Results) -> Result<Option<Section>> {
    let rows = rows(results);
    if rows.is_empty() {
        return Ok(None);
    }
    let line = |row: &LossRow| {
        let answers = or_dash(row.cell.answer_perplexity.map(|answers| format!("{answers:.3}")));
        let perplexity = Number::perplexity(row.cell).decimals();
        vec![row.system.name.to_owned(), format!("{:.3}", row.cell.loss), perplexity, row.excess.difference(), answers]
    };
    let header = ["held out, 1×", "loss", "perplexity", "against RoPE", "perplexity of answers"];
    let caption = format!(
        "Means over {} steps. DroPE goes on from the end of RoPE, on documents of its own recipe (copies, fewer questions), so \
         training losses are not comparable between recipes; the table is.",
        SMOOTH * STEPS_A_LINE
    );
    let tokens = |model: &str| results.model(model).ok()?.tokens();
    let budget = |row: &LossRow| Some(tokens(row.system.model)? / tokens(row.from?)?);
    let budgets: Vec<String> = rows.iter().filter_map(budget).map(percent).collect();
    let curves = SYSTEMS.iter().filter_map(|(system, from)| {
        let curve = &results.model(system.model).ok()?.training.as_ref()?.curve;
        Some((system.name.to_owned(), smoothed(curve, from.and_then(tokens).unwrap_or(0.0))))
    });
    let curves = plot::curves("million tokens", "training loss, nats a token", [false, true], curves);
    Ok(Some(Section {
        paper: "RoPE trains faster than NoPE throughout; DroPE, which drops the positions after 14 K of 16 K steps, ends at RoPE's \
                loss and below NoPE's."
            .into(),
        body: format!("{}{}", picture("loss.svg", &caption), table(header, rows.iter().map(line))),
        verdict: verdict(&rows, &budgets),
        charts: vec![("loss.svg".into(), curves)],
    }))
}

/// Perplexities at the training context, each beside RoPE's.
pub fn rows(results: &Results) -> Vec<LossRow<'_>> {
    let Some(rope) = results.perplexity_at_1x(&SYSTEMS[0].0) else { return Vec::new() };
    let row = |&(system, from): &(System, Option<&'static str>)| {
        let cell = results.perplexity_at_1x(&system)?;
        Some(LossRow { system, from, cell, excess: Number::excess(cell, rope) })
    };
    SYSTEMS.iter().filter_map(row).collect()
}

/// How near the recalibrated models' perplexities end to RoPE's, and what that took.
fn verdict(rows: &[LossRow], budgets: &[String]) -> String {
    let close = rows.iter().filter(|row| row.from.is_some()).map(|row| {
        let (excess, within) = (row.excess.difference(), within_margin(Some(&row.excess)));
        format!("{} ends {excess} from RoPE at 1x: {within}. ", row.system.name)
    });
    let close: String = close.collect();
    if budgets.is_empty() {
        return close.trim().to_owned();
    }
    format!(
        "{close}Recalibration took {} of pretraining's tokens on top of it, so this is not the paper's equal budget; the \
         sections on when to drop and on equal budget are.",
        list(budgets)
    )
}

/// Means over some steps, in million tokens, behind those that were trained before.
fn smoothed(curve: &[(f64, f64)], before: f64) -> Vec<(f64, f64)> {
    let mean = |steps: &[(f64, f64)]| steps.iter().map(|(_, loss)| loss).sum::<f64>() / steps.len() as f64;
    // The fall from random guessing would leave no room for the rest.
    let groups = curve.chunks(SMOOTH).skip(1);
    groups.filter_map(|steps| Some(((before + steps.last()?.0) / 1e6, mean(steps)))).collect()
}

#[cfg(test)]
mod tests {
    use super::smoothed;

    #[test]
    fn a_curve_goes_on_from_the_tokens_before_and_leaves_out_its_beginning() {
        let curve: Vec<(f64, f64)> = (1..=25).map(|line| (1e6 * f64::from(line), f64::from(line))).collect();
        assert_eq!(smoothed(&curve, 1e6), [(21.0, 15.5), (26.0, 23.0)]);
    }
}
