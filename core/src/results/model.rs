//! What a folder of results says of the models that were measured: `models.json`, which `core inspect --json` writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Config;
use crate::error::Result;
use crate::positions::Method;

/// A model: its config, what identifies it in results, and how it was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRecord {
    /// Name of the model's folder.
    pub model: String,
    /// Learned numbers.
    pub parameters: u64,
    /// `config.json`.
    pub config: Value,
    /// The [`fingerprint`] of the model by the method that it is read with; for DoPE with heads of a file,
    /// by the label of the heads.
    ///
    /// [`fingerprint`]: super::CellHeader::fingerprint
    pub fingerprints: BTreeMap<String, String>,
    /// Its own run; `None` where the folder has no recipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingRecord>,
}

/// A run, as its recipe and its loss curve say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// Optimizer steps.
    pub steps: usize,
    /// Tokens a step, about.
    pub tokens_per_step: usize,
    /// Seed of the weights and of the documents.
    pub seed: u64,
    /// Most copies of a sentence of filler.
    pub max_copies: f64,
    /// Tokens so far and the loss of a step in nats, every few steps.
    pub curve: Vec<(f64, f64)>,
}

impl ModelRecord {
    /// The config.
    ///
    /// # Errors
    /// If it is none that is understood here.
    pub fn config(&self) -> Result<Config> {
        Config::from_json(&self.config.to_string())
    }

    /// The fingerprint of results that are read with a method, where it is known.
    pub fn fingerprint(&self, method: Method, heads: Option<&str>) -> Option<&str> {
        self.fingerprints.get(heads.unwrap_or(method.name())).map(String::as_str)
    }

    /// Tokens that it was trained on in its own run.
    pub fn tokens(&self) -> Option<f64> {
        self.training.as_ref()?.curve.last().map(|point| point.0)
    }
}
