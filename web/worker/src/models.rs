//! Models that are loaded, each once.

use std::collections::HashMap;
use std::rc::Rc;

use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::model::Model;
use drope_core::tokenizer::Tokenizer;

use super::{download, reply};
use crate::protocol::Reply;

/// Loaded models and where they compute.
pub struct ModelCache {
    device: Device,
    models: HashMap<&'static str, Rc<LoadedModel>>,
}

/// A model with what belongs to it.
pub struct LoadedModel {
    /// Its config.
    pub config: Config,
    /// Its weights.
    pub model: Model,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
}

impl ModelCache {
    /// An empty models.
    pub fn new(device: Device) -> Self {
        Self { device, models: HashMap::new() }
    }

    /// The model of that name, loaded if it is not yet.
    pub async fn model(&mut self, name: &'static str) -> Result<Rc<LoadedModel>, String> {
        if let Some(model) = self.models.get(name) {
            return Ok(model.clone());
        }
        let files = files(name).await?;
        let model = Rc::new(files.open(&self.device)?);
        self.models.insert(name, model.clone());
        Ok(model)
    }
}

/// The bytes of a model folder.
pub struct Files {
    config: Vec<u8>,
    tokenizer: Vec<u8>,
    weights: Vec<u8>,
}

/// Loads a model folder, telling the page how far it is.
pub async fn files(name: &str) -> Result<Files, String> {
    let quiet = |_, _| {};
    let config = download::file(&format!("models/{name}/config.json"), &quiet).await?;
    let tokenizer = download::file(&format!("models/{name}/tokenizer.json"), &quiet).await?;
    let progress = |received, total| reply(&Reply::Loading { model: name.to_owned(), received, total });
    let weights = download::file(&format!("models/{name}/model.safetensors"), &progress).await?;
    Ok(Files { config, tokenizer, weights })
}

impl Files {
    /// Puts the model on a device.
    pub fn open(&self, device: &Device) -> Result<LoadedModel, String> {
        let open = || {
            let config = Config::from_json(&String::from_utf8_lossy(&self.config))?;
            let tokenizer = Tokenizer::from_json(&self.tokenizer)?;
            tokenizer.check(config.vocab_size)?;
            let model = Model::from_safetensors(&config, &self.weights, device)?;
            Ok::<_, drope_core::Error>(LoadedModel { config, model, tokenizer })
        };
        open().map_err(|error| format!("The model cannot be used: {error}."))
    }
}
