//! Hugging Face model folders: `config.json`, `model.safetensors`, `tokenizer.json`.

use std::path::Path;

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::dope::DopeHeads;
use drope_core::model::{Model, Precision};
use drope_core::tokenizer::Tokenizer;

use crate::files;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";

/// Reads `config.json`.
pub fn config(folder: &Path) -> Result<Config> {
    let text = files::read_text(&folder.join(CONFIG))?;
    Config::from_json(&text).with_context(|| format!("cannot use the model in {}", folder.display()))
}

/// Reads the heads that `core dope select` wrote.
pub fn dope_heads(path: &Path) -> Result<DopeHeads> {
    let text = files::read_text(path)?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} does not name heads; write it with `core dope select`", path.display()))
}

/// Reads `model.safetensors`.
pub fn model(folder: &Path, config: &Config, device: &Device) -> Result<Model> {
    let bytes = files::read(&folder.join(WEIGHTS))?;
    Model::from_safetensors(config, &bytes, device)
        .with_context(|| format!("cannot use the model in {}", folder.display()))
}

/// Reads `tokenizer.json` and checks that it belongs to the model.
pub fn tokenizer(folder: &Path, config: &Config) -> Result<Tokenizer> {
    let bytes = files::read(&folder.join(TOKENIZER))?;
    let read = || {
        let tokenizer = Tokenizer::from_json(&bytes)?;
        tokenizer.check(config.vocab_size)?;
        Ok::<_, drope_core::Error>(tokenizer)
    };
    read().with_context(|| format!("cannot use the tokenizer in {}", folder.display()))
}

/// Writes the three files, each atomically; the weights last, so that a folder with weights is whole.
pub fn save(folder: &Path, config: &Config, model: &Model, tokenizer: &Tokenizer, precision: Precision) -> Result<()> {
    let weights = pollster::block_on(model.to_safetensors(precision))?;
    save_config(folder, config)?;
    files::write(&folder.join(TOKENIZER), tokenizer.to_json()?.as_bytes())?;
    files::write(&folder.join(WEIGHTS), &weights)
}

/// Writes `config.json` alone.
pub fn save_config(folder: &Path, config: &Config) -> Result<()> {
    files::write(&folder.join(CONFIG), config.to_json().as_bytes())
}
