//! Models that are loaded, each once.

use std::collections::HashMap;
use std::rc::Rc;

use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::Flow;
use drope_core::loaded_model::LoadedModel;
use drope_protocol::Reply;

use super::run::{Interruption, Run};
use super::{download, reply};

/// Loaded models and where they compute.
pub struct ModelCache {
    device: Device,
    models: HashMap<&'static str, Rc<LoadedModel>>,
}

impl ModelCache {
    /// No model yet.
    pub fn new(device: Device) -> Self {
        Self { device, models: HashMap::new() }
    }

    /// The model of that name, loaded if it is not yet.
    pub async fn model(&mut self, name: &'static str, run: &Run) -> Result<Rc<LoadedModel>, Interruption> {
        if let Some(model) = self.models.get(name) {
            return Ok(model.clone());
        }
        let files = ModelFiles::load(name, Some(run)).await?;
        let model = Rc::new(files.on(&self.device)?);
        self.models.insert(name, model.clone());
        Ok(model)
    }
}

/// The bytes of a model folder.
pub struct ModelFiles {
    config: Vec<u8>,
    tokenizer: Vec<u8>,
    weights: Vec<u8>,
}

impl ModelFiles {
    /// Loads a model folder and reports progress to the page; without a run it cannot be stopped.
    pub async fn load(name: &str, run: Option<&Run>) -> Result<Self, Interruption> {
        let flow = || run.map_or(Flow::Continue, Run::flow);
        let silent = |_, _| flow();
        let config = download::file(&format!("models/{name}/config.json"), &silent).await?;
        let tokenizer = download::file(&format!("models/{name}/tokenizer.json"), &silent).await?;
        let progress = |received, total| {
            reply(&Reply::Loading { run: run.map(|run| run.number), model: name.to_owned(), received, total });
            flow()
        };
        let weights = download::file(&format!("models/{name}/model.safetensors"), &progress).await?;
        Ok(Self { config, tokenizer, weights })
    }

    /// The model on a device.
    pub fn on(&self, device: &Device) -> Result<LoadedModel, String> {
        let config = Config::from_json(&String::from_utf8_lossy(&self.config));
        let model = config.and_then(|config| LoadedModel::new(config, &self.tokenizer, &self.weights, device));
        model.map_err(|error| format!("The model cannot be used: {error}."))
    }
}
