//! AdamW, or Muon for the matrices inside the blocks with AdamW for the rest.

use burn::module::ParamGroup;
use burn::optim::{AdjustLrFn, GradientsParams, ModuleOptimizer, MuonConfig};
use burn::tensor::Bytes;
use serde::{Deserialize, Serialize};

use super::adamw::FusedAdamW;
use super::read_on_cpu::ReadOnCpu;
use crate::error::{Error, Result};
use crate::model::Model;

/// Which optimizer the recipe asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101) with β (.9, .95) for everything; decay on matrices.
    AdamW,
    /// Muon (Jordan 2024) for the matrices inside the blocks, with steps of AdamW's size
    /// (Liu et al. 2025, arXiv 2502.16982); AdamW for the embedding, the norms and biases.
    Muon,
}

/// Optimizer state over a run.
pub struct Optimizer(ModuleOptimizer);

/// Substrings of the paths of the matrices inside the blocks.
const BLOCK_MATRICES: &str = "_proj";
const NORMS: &str = "norm";
/// Of queries, keys and values in Qwen 2.
const BIASES: &str = "bias";

impl Optimizer {
    /// A fresh optimizer.
    pub fn new(kind: OptimizerKind, weight_decay: f32) -> Self {
        let adamw = |weight_decay| ReadOnCpu(FusedAdamW::new(weight_decay));
        let optimizer = ModuleOptimizer::from(adamw(weight_decay));
        let optimizer = match kind {
            OptimizerKind::AdamW => optimizer,
            OptimizerKind::Muon => {
                let muon = MuonConfig::new()
                    .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW)
                    .with_weight_decay(Some(burn::optim::decay::WeightDecayConfig::new(weight_decay)));
                optimizer.with_group(ParamGroup::from_predicate(BLOCK_MATRICES), ReadOnCpu(muon.build()), None)
            }
        };
        // The last group that a parameter belongs to counts, so that these come behind the matrices, whose names biases begin with.
        let without_decay =
            |optimizer: ModuleOptimizer, name| optimizer.with_group(ParamGroup::from_predicate(name), adamw(0.0), None);
        Self([NORMS, BIASES].into_iter().fold(optimizer, without_decay))
    }

    /// One update. Nothing is read from the device.
    pub(super) fn update(&mut self, model: Model, gradients: GradientsParams, learning_rate: f64) -> Model {
        self.0.step(learning_rate, model, gradients)
    }

    /// The state for a checkpoint. This call blocks until the device is done, so it must not be used in a browser tab.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.0.into_bytes().map_err(|error| Error::Device(error.to_string()))?;
        Ok(bytes.to_vec())
    }

    /// Writes the state into a file, without the bytes of all of it in memory.
    ///
    /// # Errors
    /// If it cannot be written.
    #[cfg(not(target_family = "wasm"))]
    pub fn save(&self, path: &std::path::Path) -> Result<()> {
        self.0.save(path).map_err(|error| Error::Write(error.to_string()))
    }

    /// State of a checkpoint, for the model that it was written with.
    ///
    /// # Errors
    /// If the bytes are damaged.
    pub fn load_bytes(self, bytes: Vec<u8>) -> Result<Self> {
        let state = self.0.from_bytes(Bytes::from_bytes_vec(bytes));
        state.map(Self).map_err(|error| Error::OptimizerState(error.to_string()))
    }
}
