//! Hugging Face model folders: `config.json`, `model.safetensors`, `tokenizer.json`.

use std::path::Path;

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::config::dope::DopeHeads;
use drope_core::loaded_model::short_hash;
use drope_core::model::Model;
use drope_core::tokenizer::Tokenizer;
use serde_json::{Map, Value};

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

/// A hash of the weights, and of what the config says of how they are read; of DoPE's heads only those that are given.
pub fn fingerprint(folder: &Path, heads: Option<&DopeHeads>) -> Result<String> {
    let config = Config { dope_heads: heads.cloned(), ..config(folder)? };
    let mut fields: Map<String, Value> = serde_json::from_str(&config.to_json())?;
    // A field that a later version adds changes nothing as long as it says nothing.
    let says_something = |value: &Value| !(value.is_null() || value == false || value.as_f64() == Some(0.0));
    fields.retain(|name, value| says_something(value) && !["architectures", "model_type"].contains(&&**name));
    Ok(short_hash(&[&files::read(&folder.join(WEIGHTS))?, Value::from(fields).to_string().as_bytes()]))
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
pub fn save(folder: &Path, config: &Config, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let weights = pollster::block_on(model.to_safetensors())?;
    save_config(folder, config)?;
    files::write(&folder.join(TOKENIZER), tokenizer.to_json()?.as_bytes())?;
    files::write(&folder.join(WEIGHTS), &weights)
}

/// Writes `config.json` alone; what it held beyond our own fields stays.
pub fn save_config(folder: &Path, config: &Config) -> Result<()> {
    let path = folder.join(CONFIG);
    let mut fields: Map<String, Value> = match path.exists() {
        true => serde_json::from_str(&files::read_text(&path)?)?,
        false => Map::new(),
    };
    // We write the form of transformers 4, and a second one must not contradict it.
    fields.remove("rope_parameters");
    fields.extend(serde_json::from_str::<Map<String, Value>>(&config.to_json())?);
    files::write(&path, format!("{:#}\n", Value::from(fields)).as_bytes())
}
