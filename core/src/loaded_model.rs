//! The contents of a model folder in memory: config, tokenizer and weights that belong together.

use burn::tensor::Device;
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::error::Result;
use crate::model::{Model, SafetensorsBytes};
use crate::positions::Method;
use crate::results::fingerprint;
use crate::tokenizer::Tokenizer;

/// The config's file in a model folder.
pub const CONFIG_FILE: &str = "config.json";
/// The tokenizer's file in a model folder.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The weights' file in a model folder.
pub const WEIGHTS_FILE: &str = "model.safetensors";

/// A model with what is needed to use it. Evaluation, fitting, probes, the page and training all hold one of these.
pub struct LoadedModel {
    /// `config.json`.
    pub config: Config,
    /// `tokenizer.json`.
    pub tokenizer: Tokenizer,
    /// The weights, on a device.
    pub model: Model,
    /// Hash of the weights file: tells this model from another of the same name.
    pub weights_hash: String,
    /// Tensors of the weights file that the model does not use, and that change nothing.
    pub unused_tensors: Vec<String>,
}

impl LoadedModel {
    /// Checks that tokenizer and weights belong to the config, and puts the weights on `device`.
    ///
    /// `tokenizer` and `weights` are the bytes of `tokenizer.json` and `model.safetensors`.
    ///
    /// # Errors
    /// If one of them is damaged or does not belong to the config.
    pub fn new(config: Config, tokenizer: &[u8], weights: &[u8], device: &Device) -> Result<Self> {
        let tokenizer = Tokenizer::from_json(tokenizer)?;
        tokenizer.check(config.vocab_size)?;
        let (model, unused_tensors) = Model::load(&config, &SafetensorsBytes::new(weights)?, device)?;
        Ok(Self { config, tokenizer, model, weights_hash: short_hash(&[weights]), unused_tensors })
    }

    /// What tells results of this model, read with `method`, from those of another of the same name.
    ///
    /// # Errors
    /// If the tokenizer cannot be expressed as JSON.
    pub fn fingerprint(&self, method: Method) -> Result<String> {
        fingerprint(&self.config, &self.tokenizer, &self.weights_hash, method)
    }
}

/// The first 48 bits of SHA-256 over `parts` in order, in hexadecimal: enough to tell contents apart.
pub fn short_hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
