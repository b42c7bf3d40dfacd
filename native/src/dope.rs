//! `core dope select`: which heads DoPE treats.

use std::path::PathBuf;

use anyhow::{Result, bail};
use drope_core::config::dope::{Criterion, DopeHeads, Noise, Order, Parts, Removal};
use drope_core::dope::scores;

use crate::device::{self, DeviceChoice};
use crate::held_out::FittingContext;
use crate::{files, model_folder};

/// What `core dope select` is told.
pub struct SelectOptions {
    pub model: PathBuf,
    /// Heads to choose.
    pub heads: usize,
    pub criterion: Criterion,
    pub extension: usize,
    pub removal: Removal,
    pub parts: Parts,
    pub noise: Noise,
    /// Documents that heads are judged on.
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
pub fn select(request: &SelectOptions) -> Result<DopeHeads> {
    let device = device::open(request.device)?.device;
    let context = FittingContext::open(&request.model, request.texts, request.seed, &device)?;
    let total = context.config.num_hidden_layers * context.config.num_attention_heads;
    if request.heads == 0 || request.heads > total {
        bail!("--heads is {} but must be from 1 to the model's {total}", request.heads);
    }
    let texts: Vec<Vec<u32>> =
        context.documents(request.extension, request.texts).into_iter().map(|document| document.ids).collect();
    let factor = request.extension as f64;
    let scored = scores(&context.model, &context.config, &request.criterion, factor, &texts);
    let mut heads = pollster::block_on(scored)?;
    heads.sort_by(|a, b| match request.criterion.order {
        Order::Ascending => a.score.total_cmp(&b.score),
        Order::Descending => b.score.total_cmp(&a.score),
    });
    for (rank, head) in heads.iter().enumerate() {
        let chosen = if rank < request.heads { "chosen" } else { "" };
        println!("layer {:2} head {:2}  {:.4}  {chosen}", head.layer, head.head, head.score);
    }
    heads.truncate(request.heads);
    let chosen = DopeHeads {
        criterion: request.criterion,
        extension: request.extension,
        removal: request.removal,
        parts: request.parts,
        noise: request.noise,
        seed: NOISE_SEED,
        heads,
    };
    if let Some(path) = &request.json {
        files::write(path, (serde_json::to_string_pretty(&chosen)? + "\n").as_bytes())?;
    }
    if request.save {
        let config = drope_core::config::Config { dope_heads: Some(chosen.clone()), ..context.config };
        model_folder::save_config(&request.model, &config)?;
    }
    Ok(chosen)
}
