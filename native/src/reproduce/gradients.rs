//! Figure 4 of the DroPE paper: gradients of the positional bias at initialisation; and the prefix spread of theorem 3.4.

use anyhow::{Context, Result};
use drope_core::config::Config;
use drope_core::model::{Model, token_ids};
use drope_core::positions::{Method, Positions};
use drope_core::probe::prefix_spread;
use serde_json::json;

use super::chart::{self, Axes, Series};
use super::context::{ReportContext, SEED};
use super::report::{Section, picture, table};
use crate::{device, model_folder, probe};

pub fn section(context: &ReportContext) -> Result<Option<Section>> {
    let folder = context.model("nano-rope").context("nano-rope is missing")?;
    let config = context.config("nano-rope")?;
    let tokenizer = model_folder::tokenizer(&folder, &config)?;
    let runs = if context.is_quick() { 2 } else { 10 };
    // A deeper model than the shipped ones, as the gap is said to grow with depth.
    let config = Config { num_hidden_layers: 8, ..config };
    let systems = [("RoPE", Method::Rope.positions(&config, 1.0)?), ("NoPE", Positions::none())];
    let layers = config.num_hidden_layers;
    let device = device::open(context.device())?.device;
    // [system][diagonal, previous token, spread][layer]
    let mut sums = vec![vec![vec![0.0; layers]; 3]; 2];
    for (sums, (_, positions)) in sums.iter_mut().zip(&systems) {
        let norms = probe::gradients(&config, &tokenizer, positions, runs, SEED, context.device())?;
        for (layer, norms) in norms.into_iter().enumerate() {
            [sums[0][layer], sums[1][layer]] = norms;
        }
        for run in 0..runs as u64 {
            let model = Model::random(&config, run, &device);
            let ids = probe::document(&tokenizer, SEED + run);
            let ids = token_ids(&ids, [1, ids.len()], &device);
            for (sum, hidden) in sums[2].iter_mut().zip(model.capture(ids, positions, None).hidden) {
                *sum += f64::from(prefix_spread(hidden).into_scalar::<f32>()) / runs as f64;
            }
        }
    }
    let (mut charts, mut body) = (Vec::new(), String::new());
    for (back, what) in [(0, "a diagonal head"), (1, "a head that looks at the token before")] {
        let line = |((name, _), sums): (&(&str, Positions), &Vec<Vec<f64>>)| Series {
            name: (*name).to_owned(),
            points: (0..).map(f64::from).zip(sums[back].iter().copied()).collect(),
        };
        let axes = Axes { x: "layer", y: "norm of the gradient of A^c", is_log: [false, false] };
        let file = format!("gradients-{back}.svg");
        charts.push((file.clone(), chart::lines(&axes, &systems.iter().zip(&sums).map(line).collect::<Vec<_>>())?));
        body.push_str(&picture(
            &file,
            &format!("Gradient of the bias towards {what}, at random weights of eight layers."),
        ));
    }
    let header = ["layer", "diagonal, RoPE", "NoPE", "token before, RoPE", "NoPE", "prefix spread, RoPE", "NoPE"];
    let row = |layer: usize| {
        let number = |which: usize, system: usize| format!("{:.2e}", sums[system][which][layer]);
        let numbers = (0..3).flat_map(|which| [number(which, 0), number(which, 1)]);
        std::iter::once(layer.to_string()).chain(numbers).collect()
    };
    body.push_str(&table(&header.map(str::to_owned), &(0..layers).map(row).collect::<Vec<Vec<String>>>()));
    let higher = |back: usize| (0..layers).filter(|&layer| sums[0][back][layer] > sums[1][back][layer]).count();
    let ratios = (0..2).flat_map(|back| sums[0][back].iter().zip(&sums[1][back])).map(|(rope, nope)| rope / nope);
    let (least, most) = ratios.fold((f64::INFINITY, 0.0f64), |(least, most), r| (least.min(r), most.max(r)));
    let all = higher(0) == layers && higher(1) == layers;
    Ok(Some(Section {
        title: "Positional bias at initialisation (DroPE paper, figure 4 and theorem 3.4)",
        paper: "the gradient of the bias towards a diagonal or previous-token head is higher with RoPE than without in every \
            layer, ever more so in deeper ones; without positions, tokens that start close stay close."
            .into(),
        body,
        verdict: format!(
            "RoPE's gradient is the higher one in {} of {layers} layers (diagonal) and {} of {layers} (token before): the \
             paper's ordering {}, by factors of {least:.2} to {most:.2}. Means of {runs} random models and texts of {} tokens.",
            higher(0),
            higher(1),
            if all { "holds in all of them" } else { "does not hold in all of them" },
            probe::GRADIENT_TOKENS
        ),
        numbers: json!({ "order": "[RoPE, NoPE][diagonal, token before, prefix spread][layer]", "means": sums }),
        charts,
    }))
}
