//! Updates of a model, the same natively and in a browser tab.

use burn::tensor::{Device, Tensor};

use super::backward::{Memory, batch_gradients};
use super::batch::Batch;
use super::gradients::{BatchGradients, clip};
use super::guard::{GuardSettings, GuardState, Verdict};
use super::optimizer::{Optimizer, OptimizerKind};
use super::schedule::Schedule;
use crate::error::{Error, Result};
use crate::model::{ComputeType, Model};
use crate::positions::Positions;
use crate::read_back::numbers;

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
    /// In what products with weights are computed; weights and the optimizer's state stay in f32.
    pub compute: ComputeType,
    /// What bounds the memory of an update.
    pub memory: Memory,
    /// Which updates are left out; without it, gradients that are not finite end the run.
    pub guard: Option<GuardSettings>,
}

/// A model in training.
pub struct Trainer {
    model: Model,
    optimizer: Optimizer,
    positions: Positions,
    hyperparameters: Hyperparameters,
    /// Autodiff devices that share each batch.
    devices: Vec<Device>,
    step: usize,
    guard: GuardState,
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
    /// Whether the update was left out ([`GuardSettings`]).
    pub is_left_out: bool,
}

impl Trainer {
    /// Begins a run; `model` is on an autodiff device.
    pub fn new(model: Model, positions: Positions, hyperparameters: Hyperparameters) -> Self {
        let optimizer = Optimizer::new(hyperparameters.optimizer, hyperparameters.weight_decay);
        let model = model.compute_in(hyperparameters.compute);
        let devices = vec![model.device()];
        Self { model, optimizer, positions, hyperparameters, devices, step: 0, guard: GuardState::default() }
    }

    /// The same run, whose batches several autodiff devices share instead of the model's alone.
    pub fn with_devices(self, devices: Vec<Device>) -> Self {
        Self { devices, ..self }
    }

    /// The same run after `step` updates, with the optimizer's and the guard's state of a checkpoint.
    ///
    /// # Errors
    /// If the state is damaged.
    pub fn resumed(self, step: usize, optimizer_state: Vec<u8>, guard: GuardState) -> Result<Self> {
        Ok(Self { optimizer: self.optimizer.load_bytes(optimizer_state)?, step, guard, ..self })
    }

    /// The model so far.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The optimizer's state so far.
    pub fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// The guard's state so far.
    pub fn guard(&self) -> &GuardState {
        &self.guard
    }

    /// The positions that the model trains with.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// One update on a batch. There is one read from the device, before the model changes.
    ///
    /// # Errors
    /// If the gradients are NaN or infinite, or the guard has left out too many updates. The model is then lost, and the caller
    /// returns to its last checkpoint.
    pub async fn step(mut self, batch: &Batch) -> Result<(Self, StepReport)> {
        let Hyperparameters { memory, max_gradient_norm, guard, steps, ref schedule, .. } = self.hyperparameters;
        let BatchGradients { mut gradients, token_losses: mut means } =
            batch_gradients(&self.model, &self.devices, batch, &self.positions, memory);
        means.push(clip(&self.model, &mut gradients, max_gradient_norm));
        let mut token_losses: Vec<f32> = numbers(Tensor::cat(means, 0)).await?;
        let gradient_norm = f64::from(token_losses.pop().unwrap_or(f32::NAN));
        let learning_rate = schedule.at(self.step, steps);
        let verdict = self.guard.judge(guard, gradient_norm);
        match verdict {
            Verdict::Made => self.model = self.optimizer.update(self.model, gradients, learning_rate),
            Verdict::LeftOut => {}
            Verdict::End(updates) => return Err(Error::Diverged(updates)),
        }
        self.step += 1;
        let is_left_out = verdict == Verdict::LeftOut;
        Ok((self, StepReport { token_losses, gradient_norm, learning_rate, is_left_out }))
    }
}
