//! Models that are loaded, each once.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::Flow;
use drope_core::gguf::Gguf;
use drope_core::loaded_model::LoadedModel;
use drope_core::model::{NumberTypes, SafetensorsFiles};
use drope_core::tokenizer::Tokenizer;
use drope_protocol::{Reading, Reply, StoredModel, StudyModel};

use super::capacity::Capacity;
use super::run::{Interruption, Run};
use super::store::{GGUF_FILE, StoredFolder};
use super::{download, reply};

/// Loaded models and where they compute.
pub struct ModelCache {
    device: Device,
    /// What the device holds.
    pub capacity: Capacity,
    /// The page's own models, which are small and stay loaded.
    own: HashMap<&'static str, Rc<LoadedModel>>,
    /// The user's models, with their notes. A model that was recalibrated further or replaced has a different note.
    kept: HashMap<String, (StoredModel, Rc<LoadedModel>)>,
    /// The page's own models that are to be loaded while nothing is asked, and those that are to read a text then.
    pub to_load: VecDeque<StudyModel>,
    pub to_read: VecDeque<Rc<LoadedModel>>,
}

impl ModelCache {
    /// No model yet.
    pub fn new(device: Device, capacity: Capacity, to_load: VecDeque<StudyModel>) -> Self {
        Self { device, capacity, own: HashMap::new(), kept: HashMap::new(), to_load, to_read: VecDeque::new() }
    }

    /// The model of a reading, loaded if it is not yet.
    pub async fn model(&mut self, reading: &Reading, run: &Run) -> Result<Rc<LoadedModel>, Interruption> {
        let name = match &reading.model {
            None => reading.method.info().nano_model,
            Some(name) => match StudyModel::named(name) {
                Some(model) => model.name,
                None => return self.kept(name, run).await,
            },
        };
        self.own(name, &|received, total| run.loading(name, received, total)).await
    }

    /// Loads a model of the study before it is asked, so that its first answer comes soon, and without a connection too.
    pub async fn prepare(
        &mut self,
        model: StudyModel,
        progress: download::Progress<'_>,
    ) -> Result<Rc<LoadedModel>, Interruption> {
        self.own(model.name, progress).await
    }

    async fn own(
        &mut self,
        name: &'static str,
        progress: download::Progress<'_>,
    ) -> Result<Rc<LoadedModel>, Interruption> {
        if let Some(model) = self.own.get(name) {
            return Ok(model.clone());
        }
        let files = ModelFiles::load(name, progress).await?;
        let model = Rc::new(files.instantiate(NumberTypes::default(), &self.device)?);
        self.own.insert(name, model.clone());
        Ok(model)
    }

    async fn kept(&mut self, name: &str, run: &Run) -> Result<Rc<LoadedModel>, Interruption> {
        let folder = StoredFolder::open(name).await?;
        let note = folder.note().await.ok_or_else(|| format!("{name} is not whole; add it again."))?;
        if let Some((known, model)) = self.kept.get_mut(name) {
            // How prompts are written changes nothing about the weights.
            known.chat = note.chat.clone();
            if *known == note {
                return Ok(model.clone());
            }
        }
        // One of the same name that was replaced would take the room of the new one.
        self.kept.remove(name);
        let (config, tokenizer) = folder.config_and_tokenizer().await?;
        let is_gguf = note.weights[..] == [GGUF_FILE];
        let gguf = is_gguf.then_some(note.bytes);
        self.capacity.check(&config, gguf)?;
        reply(&Reply::Loading { run: run.number, model: name.to_owned(), received: 0.0, total: note.bytes });
        run.yield_to_messages().await;
        run.check()?;
        let tokenizer = Tokenizer::from_json(&tokenizer)?;
        let types = self.capacity.number_types(&config, gguf);
        let model = if is_gguf {
            let weights = Gguf::open(folder.file(GGUF_FILE).await?)?;
            LoadedModel::new(config, tokenizer, &weights, String::new(), types, &self.device)?
        } else {
            let mut files = Vec::new();
            for file in &note.weights {
                files.push((file.clone(), folder.file(file).await?));
            }
            LoadedModel::new(config, tokenizer, &SafetensorsFiles::new(files)?, String::new(), types, &self.device)?
        };
        reply(&Reply::Loading { run: run.number, model: name.to_owned(), received: note.bytes, total: note.bytes });
        let model = Rc::new(model);
        self.kept.insert(name.to_owned(), (note, model.clone()));
        Ok(model)
    }

    /// What stands around the prompts of a reading, as its model's note says.
    pub fn chat_affixes(&self, reading: &Reading) -> Option<[&str; 2]> {
        self.kept.get(reading.model.as_ref()?)?.0.chat.affixes()
    }

    /// Gives the memory of one of the reader's models back.
    pub fn forget(&mut self, name: &str) {
        self.kept.remove(name);
    }

    /// Makes room: of the reader's models only those stay that are wanted now.
    pub fn keep_only(&mut self, readings: &[Reading]) {
        self.kept.retain(|name, _| readings.iter().any(|reading| reading.model.as_ref() == Some(name)));
    }
}

/// The bytes of a model folder of the page.
pub struct ModelFiles {
    config: Vec<u8>,
    /// `tokenizer.json`.
    pub tokenizer: Vec<u8>,
    /// `model.safetensors`.
    pub weights: Vec<u8>,
}

impl ModelFiles {
    /// Loads a model folder, with progress of the weights.
    pub async fn load(name: &str, progress: download::Progress<'_>) -> Result<Self, Interruption> {
        let small = |_, _| Flow::Continue;
        let config = download::file(&format!("models/{name}/config.json"), &small).await?;
        let tokenizer = download::file(&format!("models/{name}/tokenizer.json"), &small).await?;
        let weights = download::file(&format!("models/{name}/model.safetensors"), progress).await?;
        Ok(Self { config, tokenizer, weights })
    }

    /// The config.
    pub fn config(&self) -> Result<Config, String> {
        Config::from_json(&String::from_utf8_lossy(&self.config)).map_err(|error| unusable(&error))
    }

    /// The model on a device, its numbers kept as `types` says.
    pub fn instantiate(&self, types: NumberTypes, device: &Device) -> Result<LoadedModel, String> {
        let weights = SafetensorsFiles::from_bytes(&self.weights).map_err(|error| unusable(&error))?;
        let tokenizer = Tokenizer::from_json(&self.tokenizer).map_err(|error| unusable(&error))?;
        LoadedModel::new(self.config()?, tokenizer, &weights, String::new(), types, device)
            .map_err(|error| unusable(&error))
    }
}

fn unusable(error: &drope_core::Error) -> String {
    format!("The model cannot be used: {error}.")
}
