//! Figure 4 of the DroPE paper: gradients of the positional bias at initialisation; and the prefix spread of theorem 3.4.

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::model::{Model, token_ids};
use drope_core::positions::{Method, Positions};
use drope_core::probe::prefix_spread;
use drope_core::results::rounded;
use serde::{Deserialize, Serialize};

use super::chart::{self, Axes, Series};
use super::context::{ReportContext, SEED};
use super::markdown::{cells, picture, table};
use super::report::{Section, SectionText};
use super::verdict::Verdict;
use crate::commands::probe;
use crate::device;
use crate::files::model_folder;

/// Deeper than the shipped models, as the gap is said to grow with depth.
const LAYERS: usize = 8;

/// How many times higher a gradient must be to count as far higher; the paper gives no number.
const FAR: f64 = 2.0;

/// Means over models with random weights, of one layer.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct LayerRow {
    rope: BiasNorms,
    nope: BiasNorms,
}

/// Norms of the gradients of the positional bias, and the prefix spread behind the layer.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct BiasNorms {
    diagonal: f64,
    token_before: f64,
    prefix_spread: f64,
}

#[derive(Serialize, Deserialize)]
struct GradientRows {
    /// Random models that the means are over.
    models: usize,
    layers: Vec<LayerRow>,
}

impl GradientRows {
    /// In steps that a file keeps, so that a report rendered from it is the same.
    fn rounded(mut self) -> Self {
        for norms in self.layers.iter_mut().flat_map(|layer| [&mut layer.rope, &mut layer.nope]) {
            for number in [&mut norms.diagonal, &mut norms.token_before, &mut norms.prefix_spread] {
                *number = rounded(*number);
            }
        }
        self
    }
}

/// In how many layers RoPE's gradient is the higher one, and by what factors.
#[derive(Serialize)]
struct GradientVerdict {
    higher_diagonal: usize,
    higher_token_before: usize,
    least: f64,
    most: f64,
    is_higher_everywhere: Verdict,
    is_far_higher: Verdict,
    grows: Verdict,
}

pub fn compare_gradients(context: &ReportContext) -> Result<Section> {
    let rows: GradientRows = if context.args.render { context.saved_rows("gradients")? } else { measure(context)? };
    let rows = rows.rounded();
    let verdict = judge(&rows.layers);
    let line = |(layer, LayerRow { rope, nope }): (usize, &LayerRow)| {
        let pairs = [
            (rope.diagonal, nope.diagonal),
            (rope.token_before, nope.token_before),
            (rope.prefix_spread, nope.prefix_spread),
        ];
        let numbers = pairs.into_iter().flat_map(|(rope, nope)| [format!("{rope:.2e}"), format!("{nope:.2e}")]);
        std::iter::once(layer.to_string()).chain(numbers).collect()
    };
    let header =
        cells(["layer", "diagonal, RoPE", "NoPE", "token before, RoPE", "NoPE", "prefix spread, RoPE", "NoPE"]);
    let lines: Vec<Vec<String>> = rows.layers.iter().enumerate().map(line).collect();
    let charts = vec![
        ("gradients-0.svg".to_owned(), chart_of(&rows.layers, |norms| norms.diagonal)?),
        ("gradients-1.svg".to_owned(), chart_of(&rows.layers, |norms| norms.token_before)?),
    ];
    let layers = rows.layers.len();
    let caption = |head: &str| format!("Gradient of the bias towards {head}, at random weights of {layers} layers.");
    let text = SectionText {
        paper: "the gradient of the bias towards a diagonal or previous-token head is far lower without positions than with RoPE, \
            with a gap that grows in deeper layers; without positions, tokens that start close stay close."
            .into(),
        body: format!(
            "{}{}{}",
            picture("gradients-0.svg", &caption("a diagonal head")),
            picture("gradients-1.svg", &caption("a head that attends to the token before")),
            table(&header, &lines)
        ),
        verdict: format!(
            "RoPE's gradient is the higher one in {} of {layers} layers (diagonal) and {} of {layers} (token before), by factors \
             of {:.2} to {:.2}: that it is higher in every layer {}, that it is far higher (at least {FAR} times) {}, and that \
             the factor grows from layer to layer {}. Means of {} random models and texts of {} tokens, without intervals. The \
             prefix spread is large from the first layer on, with positions and without: theorem 3.4 is about tokens that start \
             close, and is not tested.",
            verdict.higher_diagonal,
            verdict.higher_token_before,
            verdict.least,
            verdict.most,
            verdict.is_higher_everywhere.words(),
            verdict.is_far_higher.words(),
            verdict.grows.words(),
            rows.models,
            probe::GRADIENT_TOKENS
        ),
        charts,
    };
    Section::new(&rows, &verdict, text)
}

fn measure(context: &ReportContext) -> Result<GradientRows> {
    let folder = context.model("nano-rope").context("nano-rope is missing")?;
    let config = context.config("nano-rope")?;
    let tokenizer = model_folder::tokenizer(&folder, &config)?;
    let models = context.trials(10, 2);
    let config = Config { num_hidden_layers: LAYERS, ..config };
    let device = device::open(context.device())?.device;
    let means = |positions: &Positions| -> Result<Vec<BiasNorms>> {
        let norms = probe::gradients(&config, &tokenizer, positions, models, SEED, context.device())?;
        let of_layer = |[diagonal, token_before]: [f64; 2]| BiasNorms { diagonal, token_before, prefix_spread: 0.0 };
        let mut means: Vec<BiasNorms> = norms.into_iter().map(of_layer).collect();
        for run in 0..models as u64 {
            let model = Model::random(&config, run, &device);
            let ids = probe::document(&tokenizer, SEED + run);
            let ids = token_ids(&ids, [1, ids.len()], &device);
            for (mean, hidden) in means.iter_mut().zip(model.capture(ids, positions, None).hidden) {
                mean.prefix_spread += f64::from(prefix_spread(hidden).into_scalar::<f32>()) / models as f64;
            }
        }
        Ok(means)
    };
    let (rope, nope) = (means(&Method::Rope.positions(&config, 1.0)?)?, means(&Positions::none())?);
    let layers = rope.into_iter().zip(nope).map(|(rope, nope)| LayerRow { rope, nope }).collect();
    Ok(GradientRows { models, layers })
}

fn judge(layers: &[LayerRow]) -> GradientVerdict {
    let ratio = |part: fn(&BiasNorms) -> f64| layers.iter().map(move |layer| part(&layer.rope) / part(&layer.nope));
    let diagonal: Vec<f64> = ratio(|norms| norms.diagonal).collect();
    let before: Vec<f64> = ratio(|norms| norms.token_before).collect();
    let higher = |ratios: &[f64]| ratios.iter().filter(|ratio| **ratio > 1.0).count();
    let all = diagonal.iter().chain(&before);
    let (least, most) = all.fold((f64::INFINITY, 0.0f64), |(least, most), &ratio| (least.min(ratio), most.max(ratio)));
    let is_everywhere = higher(&diagonal) + higher(&before) == 2 * layers.len();
    GradientVerdict {
        higher_diagonal: higher(&diagonal),
        higher_token_before: higher(&before),
        least,
        most,
        is_higher_everywhere: Verdict::of(is_everywhere),
        is_far_higher: Verdict::of(least >= FAR),
        grows: Verdict::of([&diagonal, &before].iter().all(|ratios| ratios.is_sorted())),
    }
}

fn chart_of(layers: &[LayerRow], part: fn(&BiasNorms) -> f64) -> Result<String> {
    let line = |name: &str, of: fn(&LayerRow) -> &BiasNorms| Series {
        name: name.to_owned(),
        points: (0..).map(f64::from).zip(layers.iter().map(|layer| part(of(layer)))).collect(),
    };
    let axes = Axes { x: "layer", y: "norm of the gradient of A^c", is_log: [false, false] };
    chart::lines(&axes, &[line("RoPE", |layer| &layer.rope), line("NoPE", |layer| &layer.nope)])
}

#[cfg(test)]
mod tests {
    use super::{BiasNorms, LayerRow, Verdict, judge};

    #[test]
    fn one_lower_layer_breaks_the_order() {
        let norms = |diagonal, token_before| BiasNorms { diagonal, token_before, prefix_spread: 1.0 };
        let row = |diagonal| LayerRow { rope: norms(diagonal, 3.0), nope: norms(2.0, 2.0) };
        let holds = judge(&[row(2.2), row(2.4)]);
        assert_eq!((holds.is_higher_everywhere, holds.grows), (Verdict::Holds, Verdict::Holds));
        assert_eq!(holds.is_far_higher, Verdict::DoesNotHold, "1.1 times is not far");
        assert_eq!(judge(&[row(2.4), row(2.2)]).grows, Verdict::DoesNotHold);
        let broken = judge(&[row(2.2), row(1.0)]);
        assert_eq!(broken.is_higher_everywhere, Verdict::DoesNotHold);
        assert_eq!((broken.higher_diagonal, broken.higher_token_before, broken.least, broken.most), (1, 2, 0.5, 1.5));
    }
}
