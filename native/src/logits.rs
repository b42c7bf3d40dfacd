//! `core logits`: what the model computes, for comparison with other implementations.

use std::path::Path;

use anyhow::{Context, Result, bail};
use drope_core::config::Config;
use drope_core::generate::check_finite;
use drope_core::model::token_ids;
use drope_core::positions::Positions;
use safetensors::{Dtype, tensor::TensorView};

use crate::cli::ReadingArgs;
use crate::{device, files, model_folder};

/// Writes the logits of `ids` as the tensor `logits`, [seq, vocab] in f32.
pub fn write(reading: &ReadingArgs, config: &Config, positions: &Positions, ids: &[u32], out: &Path) -> Result<()> {
    if ids.is_empty() {
        bail!("--ids is empty; give at least one token id");
    }
    config.check_ids(ids)?;
    let chosen = device::open(reading.device)?;
    let (types, device) = (chosen.keeps(reading.numbers.types())?, chosen.device);
    let model = model_folder::model_as(&reading.model, config, types, &device)?;
    let mut cache = model.cache(config, positions, ids.len());
    let logits = model.forward(token_ids(ids, [1, ids.len()], &device), positions, Some(&mut cache)).into_data();
    let logits: Vec<f32> = logits.iter().collect();
    check_finite(&logits)?;
    let bytes: Vec<u8> = logits.into_iter().flat_map(f32::to_le_bytes).collect();
    let view = TensorView::new(Dtype::F32, vec![ids.len(), config.vocab_size], &bytes).context("logits")?;
    files::write(out, &safetensors::serialize([("logits", view)], None).context("logits")?)
}
