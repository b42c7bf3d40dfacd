//! Updates of a model, the same natively and in a browser tab.

use burn::tensor::Tensor;

use super::backward::{Memory, batch_gradients};
use super::batch::Batch;
use super::gradients::{BatchGradients, clip};
use super::optimizer::{Optimizer, OptimizerKind};
use super::schedule::Schedule;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::positions::Positions;

/// What decides the updates of a run, beside its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperparameters {
    /// Updates of the whole run.
    pub steps: usize,
    /// AdamW or Muon.
    pub optimizer: OptimizerKind,
    /// Decay of matrices.
    pub weight_decay: f32,
    /// Learning rate.
    pub schedule: Schedule,
    /// Gradients of a larger global norm are scaled down to it.
    pub max_gradient_norm: f64,
    /// What bounds the memory of an update.
    pub memory: Memory,
}

/// A model in training.
pub struct Trainer {
    model: Model,
    optimizer: Optimizer,
    positions: Positions,
    hyperparameters: Hyperparameters,
    step: usize,
}

/// Numbers of one update.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Cross entropy of each predicted token in nats, row after row.
    pub token_losses: Vec<f32>,
    /// Global norm of the gradients before clipping.
    pub gradient_norm: f64,
    /// Learning rate of the update.
    pub learning_rate: f64,
}

impl Trainer {
    /// Begins a run; `model` is on an autodiff device.
    pub fn new(model: Model, positions: Positions, hyperparameters: Hyperparameters) -> Self {
        let optimizer = Optimizer::new(hyperparameters.optimizer, hyperparameters.weight_decay);
        Self { model, optimizer, positions, hyperparameters, step: 0 }
    }

    /// The same run after `step` updates, with the optimizer's state of a checkpoint.
    ///
    /// # Errors
    /// If the state is damaged.
    pub fn resumed(self, step: usize, optimizer_state: Vec<u8>) -> Result<Self> {
        Ok(Self { optimizer: self.optimizer.load_bytes(optimizer_state)?, step, ..self })
    }

    /// The model so far.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The optimizer's state so far.
    pub fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// The positions that the model trains with.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// One update on a batch. There is one read from the device, at the end.
    ///
    /// # Errors
    /// If the gradients are NaN or infinite. The model is then lost, and the caller returns to its last checkpoint.
    pub async fn step(self, batch: &Batch) -> Result<(Self, StepReport)> {
        let Self { model, mut optimizer, positions, hyperparameters, step } = self;
        let BatchGradients { mut gradients, token_losses: mut numbers } =
            batch_gradients(&model, batch, &positions, hyperparameters.memory);
        numbers.push(clip(&model, &mut gradients, hyperparameters.max_gradient_norm));
        let learning_rate = hyperparameters.schedule.at(step, hyperparameters.steps);
        let model = optimizer.update(model, gradients, learning_rate);
        let data = Tensor::cat(numbers, 0).into_data_async().await;
        let mut token_losses: Vec<f32> = data.map_err(|error| Error::Device(error.to_string()))?.iter().collect();
        let gradient_norm = f64::from(token_losses.pop().unwrap_or(f32::NAN));
        if !gradient_norm.is_finite() {
            return Err(Error::NotFinite("gradients".into()));
        }
        let trainer = Self { model, optimizer, positions, hyperparameters, step: step + 1 };
        Ok((trainer, StepReport { token_losses, gradient_norm, learning_rate }))
    }
}
