//! Hugging Face model folders: `config.json`, `model.safetensors`, `tokenizer.json`.

use std::path::Path;

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::config::dope::DopeHeads;
use drope_core::loaded_model::{CONFIG_FILE, LoadedModel, TOKENIZER_FILE, WEIGHTS_FILE, short_hash};
use drope_core::model::Model;
use drope_core::positions::Method;
use drope_core::results;
use drope_core::tokenizer::Tokenizer;
use serde_json::{Map, Value};

use crate::files;

/// Reads all three files and checks that they belong together.
pub fn load(folder: &Path, device: &Device) -> Result<LoadedModel> {
    let (tokenizer, weights) = (files::read(&folder.join(TOKENIZER_FILE))?, weights(folder)?);
    LoadedModel::new(config(folder)?, &tokenizer, &weights, device).with_context(|| cannot_use(folder))
}

/// Reads `config.json`.
pub fn config(folder: &Path) -> Result<Config> {
    let text = files::read_text(&folder.join(CONFIG_FILE))?;
    Config::from_json(&text).with_context(|| cannot_use(folder))
}

/// Reads `model.safetensors`, as bytes.
pub fn weights(folder: &Path) -> Result<Vec<u8>> {
    files::read(&folder.join(WEIGHTS_FILE))
}

/// Reads `model.safetensors`.
pub fn model(folder: &Path, config: &Config, device: &Device) -> Result<Model> {
    Model::from_safetensors(config, &weights(folder)?, device).with_context(|| cannot_use(folder))
}

/// Reads `tokenizer.json` and checks that it belongs to the model.
pub fn tokenizer(folder: &Path, config: &Config) -> Result<Tokenizer> {
    let bytes = files::read(&folder.join(TOKENIZER_FILE))?;
    let tokenizer = Tokenizer::from_json(&bytes).with_context(|| cannot_use(folder))?;
    tokenizer.check(config.vocab_size).with_context(|| cannot_use(folder))?;
    Ok(tokenizer)
}

fn cannot_use(folder: &Path) -> String {
    format!("cannot use the model in {}", folder.display())
}

/// Reads the heads that `core dope select` wrote.
pub fn dope_heads(path: &Path) -> Result<DopeHeads> {
    let text = files::read_text(path)?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} does not name heads; write it with `core dope select`", path.display()))
}

/// What tells the model in a folder, read with `method`, from another of the same name ([`LoadedModel::fingerprint`], without
/// the weights on a device). `heads` are for DoPE, in place of those in the config.
pub fn fingerprint(folder: &Path, method: Method, heads: Option<&DopeHeads>) -> Result<String> {
    let mut config = config(folder)?;
    config.dope_heads = heads.cloned().or(config.dope_heads);
    let hash = short_hash(&[&weights(folder)?]);
    Ok(results::fingerprint(&config, &tokenizer(folder, &config)?, &hash, method)?)
}

/// Writes the three files, each atomically; the weights last, so that a folder with weights is whole.
pub fn save(folder: &Path, config: &Config, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let weights = pollster::block_on(model.to_safetensors())?;
    save_config(folder, config)?;
    files::write(&folder.join(TOKENIZER_FILE), tokenizer.to_json()?.as_bytes())?;
    files::write(&folder.join(WEIGHTS_FILE), &weights)
}

/// Writes `config.json` alone; what it held beyond our own fields stays.
pub fn save_config(folder: &Path, config: &Config) -> Result<()> {
    let path = folder.join(CONFIG_FILE);
    let mut fields: Map<String, Value> = match path.exists() {
        true => serde_json::from_str(&files::read_text(&path)?)?,
        false => Map::new(),
    };
    // We write the form of transformers 4, and a second one must not contradict it.
    fields.remove("rope_parameters");
    fields.extend(serde_json::from_str::<Map<String, Value>>(&config.to_json())?);
    files::write(&path, format!("{:#}\n", Value::from(fields)).as_bytes())
}
