//! AdamW, or Muon for the matrices inside the blocks with AdamW for the rest.

use burn::module::{Module, ModuleVisitor, Param, ParamGroup, ParamId};
use burn::optim::{AdamWConfig, AdjustLrFn, GradientsParams, ModuleOptimizer, MuonConfig};
use burn::tensor::{Bytes, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::Model;

/// Which optimizer the recipe asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// AdamW (.9, .95) for everything; decay on matrices.
    AdamW,
    /// Muon (Jordan 2024) for the matrices inside the blocks, with steps of AdamW's size
    /// (Moonshot, arXiv 2502.16982); AdamW for the embedding and the norms.
    Muon,
}

/// Optimizer state over a run.
pub struct Optimizer(ModuleOptimizer);

/// Substrings of the paths of the matrices inside the blocks.
const BLOCK_MATRICES: &str = "_proj";
const NORMS: &str = "norm";

impl Optimizer {
    /// A fresh optimizer.
    pub fn new(kind: OptimizerKind, weight_decay: f32) -> Self {
        let adamw = AdamWConfig::new().with_beta_1(0.9).with_beta_2(0.95).with_epsilon(1e-8);
        let decayed = adamw.clone().with_weight_decay(weight_decay);
        let optimizer =
            decayed.init().with_group(ParamGroup::from_predicate(NORMS), adamw.with_weight_decay(0.0).build(), None);
        Self(match kind {
            OptimizerKind::AdamW => optimizer,
            OptimizerKind::Muon => {
                let muon = MuonConfig::new()
                    .with_adjust_lr_fn(AdjustLrFn::MatchRmsAdamW)
                    .with_weight_decay(Some(burn::optim::decay::WeightDecayConfig::new(weight_decay)));
                optimizer.with_group(ParamGroup::from_predicate(BLOCK_MATRICES), muon.build(), None)
            }
        })
    }

    /// One update, with the gradients clipped to a global norm. Returns the model and the norm before clipping.
    ///
    /// # Errors
    /// If the gradients are NaN or infinite; the model is then lost, and the caller returns to its last checkpoint.
    pub fn step(
        &mut self,
        model: Model,
        mut gradients: GradientsParams,
        learning_rate: f64,
        max_norm: f64,
    ) -> Result<(Model, f64)> {
        let mut norm = SquaredNorm { gradients: &gradients, sum: 0.0 };
        model.visit(&mut norm);
        let norm = norm.sum.sqrt();
        if !norm.is_finite() {
            return Err(Error::NotFinite("gradients".into()));
        }
        if norm > max_norm {
            model.visit(&mut Scale { gradients: &mut gradients, factor: (max_norm / norm) as f32 });
        }
        Ok((self.0.step(learning_rate, model, gradients), norm))
    }

    /// State for a checkpoint.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.0.into_bytes().map_err(|error| Error::Device(error.to_string()))?;
        Ok(bytes.to_vec())
    }

    /// State of a checkpoint, for the model that it was written with.
    ///
    /// # Errors
    /// If the bytes are damaged.
    pub fn load_bytes(self, bytes: Vec<u8>) -> Result<Self> {
        let state = self.0.from_bytes(Bytes::from_bytes_vec(bytes));
        state.map(Self).map_err(|error| Error::Safetensors(format!("optimizer state: {error}")))
    }
}

/// Sums gradients of parts of a batch, parameter by parameter and always in the same order.
pub fn add_gradients(model: &Model, parts: Vec<GradientsParams>) -> GradientsParams {
    let mut parts = parts.into_iter();
    let mut total = parts.next().unwrap_or_default();
    for part in parts {
        model.visit(&mut Add { total: &mut total, part });
    }
    total
}

struct SquaredNorm<'a> {
    gradients: &'a GradientsParams,
    sum: f64,
}

impl ModuleVisitor for SquaredNorm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            self.sum += f64::from(gradient.square().sum().into_scalar::<f32>());
        }
    }
}

struct Scale<'a> {
    gradients: &'a mut GradientsParams,
    factor: f32,
}

impl ModuleVisitor for Scale<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        change::<D>(self.gradients, param.id, |gradient| gradient.mul_scalar(self.factor));
    }
}

struct Add<'a> {
    total: &'a mut GradientsParams,
    part: GradientsParams,
}

impl ModuleVisitor for Add<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(more) = self.part.remove::<D>(param.id) {
            change::<D>(self.total, param.id, |gradient| gradient + more);
        }
    }
}

fn change<const D: usize>(gradients: &mut GradientsParams, id: ParamId, f: impl FnOnce(Tensor<D>) -> Tensor<D>) {
    if let Some(gradient) = gradients.remove::<D>(id) {
        gradients.register::<D>(id, f(gradient));
    }
}
