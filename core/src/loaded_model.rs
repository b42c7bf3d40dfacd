//! The contents of a model folder in memory: config, tokenizer and weights that belong together.

use burn::tensor::Device;

use crate::config::Config;
use crate::error::Result;
use crate::hash::short_hash;
use crate::kernels::QuantizedFormat;
use crate::model::{ComputeType, Model, NumberType, NumberTypes, WeightSource, WeightType};
use crate::positions::Method;
use crate::results::fingerprint;
use crate::tokenizer::Tokenizer;

/// The config's file in a model folder.
pub const CONFIG_FILE: &str = "config.json";
/// The tokenizer's file in a model folder.
pub const TOKENIZER_FILE: &str = "tokenizer.json";
/// The weights' file in a model folder.
pub const WEIGHTS_FILE: &str = "model.safetensors";
/// The file that names the weights' files, where there are several.
pub const INDEX_FILE: &str = "model.safetensors.index.json";

/// A model with what is needed to use it. Evaluation, fitting, probes, the page and training all hold one of these.
pub struct LoadedModel {
    /// `config.json`.
    pub config: Config,
    /// `tokenizer.json`.
    pub tokenizer: Tokenizer,
    /// The weights, on a device.
    pub model: Model,
    /// Hash of the weights file: distinguishes this model from others of the same name.
    pub weights_hash: String,
    /// Tensors of the weights file that the model does not use, and that change nothing.
    pub unused_tensors: Vec<String>,
}

impl LoadedModel {
    /// Checks that tokenizer and weights belong to the config, and puts the weights on `device`.
    ///
    /// `weights_hash` is a hash of the weights' files ([`ShortHash`]).
    ///
    /// # Errors
    /// If one of them is damaged or does not belong to the config.
    pub fn new(
        config: Config,
        tokenizer: Tokenizer,
        weights: &impl WeightSource,
        mut weights_hash: String,
        types: NumberTypes,
        device: &Device,
    ) -> Result<Self> {
        tokenizer.check(config.vocab_size)?;
        let (model, unused_tensors) = Model::load_as(&config, weights, types, device)?;
        // Weights in another type give other results, so the hash has to differ.
        if types.weights != WeightType::F32 {
            // The CPU multiplies weights of 8 bits with numbers that it rounds too.
            let is_quantized = types.weights == WeightType::Q8 && device == &Device::flex();
            let name = if is_quantized { QuantizedFormat::Q8_0.name() } else { types.weights.name() };
            weights_hash = short_hash(&[weights_hash.as_bytes(), name.as_bytes()]);
        }
        if types.cache != NumberType::F32 {
            weights_hash = short_hash(&[weights_hash.as_bytes(), b"cache", types.cache.name().as_bytes()]);
        }
        if types.compute != ComputeType::F32 {
            weights_hash = short_hash(&[weights_hash.as_bytes(), b"compute", types.compute.name().as_bytes()]);
        }
        Ok(Self { config, tokenizer, model, weights_hash, unused_tensors })
    }

    /// A hash that distinguishes results of this model, read with `method`, from those of others of the same name.
    ///
    /// # Errors
    /// If the tokenizer cannot be expressed as JSON.
    pub fn fingerprint(&self, method: Method) -> Result<String> {
        fingerprint(&self.config, &self.tokenizer, &self.weights_hash, method)
    }
}
