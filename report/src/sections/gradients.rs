//! Figure 4 of the DroPE paper: gradients of the positional bias at initialisation; and the prefix spread of theorem 3.4.

use anyhow::Result;
use drope_core::probe::{BiasNorms, GradientRecord, LayerGradients};

use super::Section;
use crate::markdown::{line, picture, table};
use crate::plot;
use crate::results::Results;
use crate::verdict::Verdict;

/// How many times higher a gradient must be to count as far higher; the paper gives no number.
const FAR: f64 = 2.0;

pub fn compare_gradients(results: &Results) -> Result<Option<Section>> {
    let records: Vec<GradientRecord> = results.other("gradients.json")?;
    let Some(GradientRecord { models, tokens, layers, .. }) = records.last() else { return Ok(None) };
    let lines = layers.iter().enumerate().map(|(layer, LayerGradients { rope, nope })| {
        let parts: [fn(&BiasNorms) -> f64; 3] =
            [|norms| norms.diagonal, |norms| norms.token_before, |norms| norms.prefix_spread];
        let numbers = parts.into_iter().flat_map(|part| [rope, nope].map(|norms| format!("{:.2e}", part(norms))));
        line(layer.to_string(), numbers)
    });
    let header = ["layer", "diagonal, RoPE", "NoPE", "token before, RoPE", "NoPE", "prefix spread, RoPE", "NoPE"];
    let count = layers.len();
    let caption = |head: &str| format!("Gradient of the bias towards {head}, at random weights of {count} layers.");
    Ok(Some(Section {
        paper: "the gradient of the bias towards a diagonal or previous-token head is far lower without positions than with RoPE, \
                with a gap that grows in deeper layers; without positions, tokens that start close stay close."
            .into(),
        body: format!(
            "{}{}{}",
            picture("gradients-0.svg", &caption("a diagonal head")),
            picture("gradients-1.svg", &caption("a head that attends to the token before")),
            table(header, lines)
        ),
        verdict: format!(
            "{} Means of {models} random models and texts of {tokens} tokens, without intervals. The \
             prefix spread is large from the first layer on, with positions and without: theorem 3.4 is about tokens that start \
             close, and is not tested.",
            verdict(layers)
        ),
        charts: vec![
            ("gradients-0.svg".into(), chart(layers, |norms| norms.diagonal)),
            ("gradients-1.svg".into(), chart(layers, |norms| norms.token_before)),
        ],
    }))
}

/// In how many layers RoPE's gradient is the higher one, by what factors, and what that says of the paper's claims.
fn verdict(layers: &[LayerGradients]) -> String {
    let ratios = |part: fn(&BiasNorms) -> f64| -> Vec<f64> {
        layers.iter().map(|layer| part(&layer.rope) / part(&layer.nope)).collect()
    };
    let (diagonal, before) = (ratios(|norms| norms.diagonal), ratios(|norms| norms.token_before));
    let [higher_diagonal, higher_before] =
        [&diagonal, &before].map(|ratios| ratios.iter().filter(|ratio| **ratio > 1.0).count());
    let all = diagonal.iter().chain(&before);
    let (least, most) = all.fold((f64::INFINITY, 0.0f64), |(least, most), &ratio| (least.min(ratio), most.max(ratio)));
    let of = layers.len();
    format!(
        "RoPE's gradient is the higher one in {higher_diagonal} of {of} layers (diagonal) and {higher_before} of {of} (token \
         before), by factors of {least:.2} to {most:.2}: that it is higher in every layer {}, that it is far higher (at least \
         {FAR} times) {}, and that the factor grows from layer to layer {}.",
        Verdict::of(higher_diagonal + higher_before == 2 * of).words(),
        Verdict::of(least >= FAR).words(),
        Verdict::of(diagonal.is_sorted() && before.is_sorted()).words()
    )
}

fn chart(layers: &[LayerGradients], part: fn(&BiasNorms) -> f64) -> plot::Plot<'static> {
    let points = |of: fn(&LayerGradients) -> &BiasNorms| {
        (0..).map(f64::from).zip(layers.iter().map(|layer| part(of(layer)))).collect()
    };
    let curves = [("RoPE".to_owned(), points(|layer| &layer.rope)), ("NoPE".to_owned(), points(|layer| &layer.nope))];
    plot::curves("layer", "norm of the gradient of A^c", [false, false], curves)
}

#[cfg(test)]
mod tests {
    use super::{BiasNorms, LayerGradients, verdict};

    #[test]
    fn one_lower_layer_breaks_the_order() {
        let norms = |diagonal, token_before| BiasNorms { diagonal, token_before, prefix_spread: 1.0 };
        let layer = |diagonal| LayerGradients { rope: norms(diagonal, 3.0), nope: norms(2.0, 2.0) };
        let of = |diagonals: [f64; 2]| verdict(&diagonals.map(layer));
        let holds = of([2.2, 2.4]);
        assert!(holds.contains("by factors of 1.10 to 1.50: that it is higher in every layer holds here"), "{holds}");
        assert!(
            holds.contains("(at least 2 times) does not hold here") && holds.ends_with("layer to layer holds here.")
        );
        assert!(of([2.4, 2.2]).ends_with("layer to layer does not hold here."));
        let broken = of([2.2, 1.0]);
        assert!(broken.contains("1 of 2 layers (diagonal) and 2 of 2") && broken.contains("every layer does not hold"));
    }
}
