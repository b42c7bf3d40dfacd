//! `core convert`: a model as a Hugging Face folder, whatever it was.

use std::path::Path;

use anyhow::{Result, ensure};
use burn::tensor::Device;
use drope_core::loaded_model::{LoadedModel, WEIGHTS_FILE};
use drope_core::model::StoredType;

use crate::model_folder;

/// Reads the model at `from` and writes it to the folder `to`, which must not hold one.
pub fn convert(from: &Path, to: &Path, stored_type: StoredType) -> Result<()> {
    ensure!(!to.join(WEIGHTS_FILE).exists(), "{} holds a model already; choose another --to", to.display());
    let LoadedModel { config, tokenizer, model, .. } = model_folder::load(from, &Device::flex())?;
    model_folder::save_as(to, &config, &model, &tokenizer, stored_type)?;
    println!("{} parameters in {}", config.num_parameters(), to.display());
    Ok(())
}
