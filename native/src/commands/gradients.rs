//! `core gradients`: gradients of the positional biases at random weights, with rotary positions and without positions (arXiv
//! 2512.12167, figure 4), and the prefix spread of theorem 3.4.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use drope_core::config::Config;
use drope_core::model::{Model, token_ids};
use drope_core::positions::{Method, Positions};
use drope_core::probe::{BiasNorms, GradientRecord, LayerGradients, prefix_spread};
use drope_core::results::{SEED, rounded};
use drope_core::tokenizer::Tokenizer;

use crate::arguments::at_least_one;
use crate::device::{self, DeviceChoice};
use crate::files::{self, model_folder};
use crate::interrupt;
use crate::reading::bias_norms::{TOKENS, bias_norms, document};
use crate::reading::results_file;

/// Arguments of `core gradients`.
#[derive(Args)]
pub struct GradientsArgs {
    /// Folder of the model whose shape and tokenizer the random models have.
    #[arg(long)]
    model: PathBuf,
    /// Layers, in place of the model's: the gap between the two is said to grow with depth.
    #[arg(long, value_parser = at_least_one)]
    layers: Option<usize>,
    /// Random models that the means are over.
    #[arg(long, default_value = "10", value_parser = at_least_one)]
    models: usize,
    /// Seed of the texts.
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Results file; an earlier line of the same is replaced.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
}

/// Measures, prints and writes the means.
pub fn gradients(args: &GradientsArgs) -> Result<()> {
    args.json.as_deref().map_or(Ok(()), files::check_writable)?;
    interrupt::watch();
    let GradientsArgs { model: folder, models, seed, device, .. } = args;
    let config = model_folder::config(folder)?;
    let tokenizer = model_folder::tokenizer(folder, &config)?;
    let config = Config { num_hidden_layers: args.layers.unwrap_or(config.num_hidden_layers), ..config };
    let means = |positions: &Positions| layers(&config, &tokenizer, positions, *models, *seed, *device);
    let (rope, nope) = (means(&Method::Rope.positions(&config, 1.0)?)?, means(&Positions::none())?);
    let layers: Vec<_> = rope.into_iter().zip(nope).map(|(rope, nope)| LayerGradients { rope, nope }).collect();
    println!("layer  diagonal: RoPE, none  token before: RoPE, none");
    for (index, LayerGradients { rope, nope }) in layers.iter().enumerate() {
        let (d, t) = ([rope.diagonal, nope.diagonal], [rope.token_before, nope.token_before]);
        println!("{index:>5}  {:.3e} {:.3e}  {:.3e} {:.3e}", d[0], d[1], t[0], t[1]);
    }
    let Some(json) = &args.json else { return Ok(()) };
    let record = GradientRecord {
        model: model_folder::model_name(folder)?,
        models: *models,
        seed: *seed,
        tokens: TOKENS,
        layers,
    };
    let key = |record: &GradientRecord| (record.model.clone(), record.models, record.seed, record.layers.len());
    results_file::replace(json, record, |known, record| key(known) == key(record))
}

/// Means of every layer, over random models, each with a document of its own.
fn layers(
    config: &Config,
    tokenizer: &Tokenizer,
    positions: &Positions,
    models: usize,
    seed: u64,
    choice: DeviceChoice,
) -> Result<Vec<BiasNorms>> {
    let norms = bias_norms(config, tokenizer, positions, models, seed, choice)?;
    let mut spreads = vec![0.0; config.num_hidden_layers];
    let device = device::open(choice)?.device;
    for run in 0..models as u64 {
        interrupt::check("stopped; nothing was written")?;
        let model = Model::random(config, run, &device);
        let ids = document(tokenizer, seed.wrapping_add(run));
        let ids = token_ids(&ids, [1, ids.len()], &device);
        for (mean, hidden) in spreads.iter_mut().zip(model.capture(ids, positions, None).hidden) {
            *mean += f64::from(prefix_spread(hidden).into_scalar::<f32>()) / models as f64;
        }
    }
    let norms = norms.into_iter().zip(spreads).map(|(norms, spread)| [norms[0], norms[1], spread].map(rounded));
    Ok(norms
        .map(|[diagonal, token_before, prefix_spread]| BiasNorms { diagonal, token_before, prefix_spread })
        .collect())
}
