//! `core logits`: what the model computes, for comparison with other implementations.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use drope_core::generate::check_finite;
use drope_core::model::token_ids;
use safetensors::{Dtype, tensor::TensorView};

use crate::arguments::ReadingArgs;
use crate::device;
use crate::files::{self, model_folder};

/// Arguments of `core logits`.
#[derive(Args)]
pub struct LogitsArgs {
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Token ids, separated by commas.
    #[arg(long, value_delimiter = ',', required = true)]
    ids: Vec<u32>,
    /// Safetensors file for the tensor `logits`, [seq, vocab] in f32.
    #[arg(long)]
    out: PathBuf,
}

/// Writes the logits of the ids as the tensor `logits`, [seq, vocab] in f32.
pub fn logits(LogitsArgs { reading, ids, out }: &LogitsArgs) -> Result<()> {
    let config = &reading.model.config()?;
    let positions = &reading.model.positions(config)?;
    if ids.is_empty() {
        bail!("--ids is empty; give at least one token id");
    }
    config.check_ids(ids)?;
    let chosen = device::open(reading.device)?;
    let (types, device) = (chosen.checked(reading.numbers.types())?, chosen.device);
    let model = model_folder::model_as(&reading.model.path, config, types, &device)?;
    let mut cache = model.cache(config, positions, ids.len());
    let logits = model.forward(token_ids(ids, [1, ids.len()], &device), positions, Some(&mut cache)).into_data();
    let logits: Vec<f32> = logits.iter().collect();
    check_finite(&logits)?;
    let bytes: Vec<u8> = logits.into_iter().flat_map(f32::to_le_bytes).collect();
    let view = TensorView::new(Dtype::F32, vec![ids.len(), config.vocab_size], &bytes).context("logits")?;
    files::write(out, &safetensors::serialize([("logits", view)], None).context("logits")?)
}
