//! `core convert`: a model as a Hugging Face folder, whatever it was.

use std::path::Path;

use anyhow::{Result, ensure};
use burn::tensor::Device;
use drope_core::chat::TOKENIZER_CONFIG_FILE;
use drope_core::loaded_model::WEIGHTS_FILE;
use drope_core::model::StoredType;

use crate::{files, model_folder};

/// Reads the model at `from` and writes it to the folder `to`, which must not hold one.
pub fn convert(from: &Path, to: &Path, stored_type: StoredType) -> Result<()> {
    ensure!(!to.join(WEIGHTS_FILE).exists(), "{} holds a model already; choose another --to", to.display());
    let template = model_folder::chat_template(from)?;
    let config = model_folder::config(from)?;
    let tokenizer = model_folder::tokenizer(from, &config)?;
    let model = model_folder::model(from, &config, &Device::flex())?;
    if let Some(template) = template {
        files::write(&to.join(TOKENIZER_CONFIG_FILE), template.to_json().as_bytes())?;
    }
    model_folder::save_as(to, &config, &model, &tokenizer, stored_type)?;
    println!("{} parameters in {}", config.num_parameters(), to.display());
    Ok(())
}
