//! `core dope select`: which heads DoPE treats.

use std::path::PathBuf;

use anyhow::{Result, bail};
use drope_core::config::dope::{Criterion, DopeHeads, Noise, Order, Parts, Removal};
use drope_core::dope::scores;

use crate::device::{self, DeviceChoice};
use crate::held_out::FittingContext;
use crate::{files, model_folder};

/// Options of `core dope select`.
pub struct SelectOptions {
    pub model: PathBuf,
    /// Heads to choose.
    pub heads: usize,
    pub criterion: Criterion,
    pub extension: usize,
    pub removal: Removal,
    pub parts: Parts,
    pub noise: Noise,
    /// Documents that heads are scored on.
    pub texts: usize,
    pub seed: u64,
    pub json: Option<PathBuf>,
    /// Whether the choice goes into the model's config.
    pub save: bool,
    pub device: DeviceChoice,
}

/// Seed of the noise, as in the paper.
const NOISE_SEED: u64 = 42;

/// Scores every head, chooses, and writes the choice.
pub fn select(options: &SelectOptions) -> Result<DopeHeads> {
    let device = device::open(options.device)?.device;
    let context = FittingContext::open(&options.model, options.texts, options.seed, &device)?;
    let total = context.loaded.config.num_hidden_layers * context.loaded.config.num_attention_heads;
    if options.heads == 0 || options.heads > total {
        bail!("--heads is {} but must be from 1 to the model's {total}", options.heads);
    }
    let texts: Vec<Vec<u32>> =
        context.documents(options.extension, options.texts).into_iter().map(|document| document.ids).collect();
    let factor = options.extension as f64;
    let scored = scores(&context.loaded.model, &context.loaded.config, &options.criterion, factor, &texts);
    let mut heads = pollster::block_on(scored)?;
    heads.sort_by(|a, b| match options.criterion.order {
        Order::Ascending => a.score.total_cmp(&b.score),
        Order::Descending => b.score.total_cmp(&a.score),
    });
    for (rank, head) in heads.iter().enumerate() {
        let chosen = if rank < options.heads { "chosen" } else { "" };
        println!("layer {:2} head {:2}  {:.4}  {chosen}", head.layer, head.head, head.score);
    }
    heads.truncate(options.heads);
    let chosen = DopeHeads {
        criterion: options.criterion,
        extension: options.extension,
        removal: options.removal,
        parts: options.parts,
        noise: options.noise,
        seed: NOISE_SEED,
        heads,
    };
    if let Some(path) = &options.json {
        files::write(path, (serde_json::to_string_pretty(&chosen)? + "\n").as_bytes())?;
    }
    if options.save {
        let config = drope_core::config::Config { dope_heads: Some(chosen.clone()), ..context.loaded.config };
        model_folder::save_config(&options.model, &config)?;
    }
    Ok(chosen)
}
