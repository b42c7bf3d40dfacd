//! HeadScale (Wang et al. 2024, arXiv 2404.12224): a temperature λ for each head, trained with all weights frozen.

use burn::module::{Module, Param};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::batch::{Batch, inputs, predicted};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::kernels;
use crate::model::{Model, token_ids};
use crate::positions::Positions;
use crate::read_back::numbers;

/// λ of every head, `[heads]` a layer.
#[derive(Module, Debug)]
pub struct HeadScaleFit {
    layers: Vec<Param<Tensor<1>>>,
}

impl HeadScaleFit {
    /// The same λ for all heads, on an autodiff device.
    pub fn new(config: &Config, initial: f64, device: &Device) -> Self {
        let heads = config.num_attention_heads;
        let values = vec![initial as f32; heads];
        let layer = |_| Param::from_tensor(Tensor::from_data(TensorData::new(values.clone(), [heads]), device));
        Self { layers: (0..config.num_hidden_layers).map(layer).collect() }
    }

    /// AdamW (.9, .95) without decay.
    pub fn optimizer() -> ModuleOptimizer {
        AdamWConfig::new().with_beta_1(0.9).with_beta_2(0.95).with_weight_decay(0.0).init()
    }

    /// One update on a batch, by its loss weights; then every λ is set to at least 1. Returns the mean loss before, in nats.
    ///
    /// `model` is frozen ([`Module::no_grad`]) and on the same autodiff device.
    ///
    /// # Errors
    /// If the loss is NaN or infinite.
    pub async fn step(
        self,
        optimizer: &mut ModuleOptimizer,
        model: &Model,
        batch: &Batch,
        positions: &Positions,
        learning_rate: f64,
    ) -> Result<(Self, f64)> {
        let scales: Vec<Tensor<1>> = self.layers.iter().map(Param::val).collect();
        let hidden = |inputs| model.hidden_with_head_scales(inputs, positions, &scales);
        let loss = mean_cross_entropy(model, batch, hidden);
        let mean = numbers(loss.clone()).await?.iter().sum::<f64>();
        if !mean.is_finite() {
            return Err(Error::ComputedNotFinite("losses"));
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &self);
        let mut updated = optimizer.step(learning_rate, self, gradients);
        for layer in &mut updated.layers {
            // Without the graph of the update: the next one has a graph of its own.
            *layer = layer.clone().map(|scales| scales.clamp_min(1.0).detach().require_grad());
        }
        Ok((updated, mean))
    }

    /// λ of each head of each layer.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn values(&self) -> Result<Vec<Vec<f64>>> {
        let mut values = Vec::with_capacity(self.layers.len());
        for layer in &self.layers {
            values.push(numbers(layer.val()).await?);
        }
        Ok(values)
    }
}

/// Mean cross entropy of a batch by its loss weights, `[1]`, with a residual stream computed by `hidden` from `[rows, length − 1]`
/// to `[rows, length − 1, hidden]`.
fn mean_cross_entropy(model: &Model, batch: &Batch, hidden: impl FnOnce(Tensor<2, Int>) -> Tensor<3>) -> Tensor<1> {
    let device = model.device();
    let (rows, length) = (batch.rows, batch.length);
    let tokens = rows * (length - 1);
    let ids: Vec<u32> = inputs(&batch.ids, length).collect();
    let targets: Vec<u32> = predicted(&batch.ids, length).collect();
    let weights: Vec<f32> = predicted(&batch.loss_weights, length).collect();
    let weights = Tensor::<1>::from_data(TensorData::new(weights, [tokens]), &device);
    let logits = model.logits(hidden(token_ids(&ids, [rows, length - 1], &device))); // [rows, length − 1, vocab]
    let vocab = logits.dims()[2];
    let per_token = kernels::cross_entropy(logits.reshape([tokens, vocab]), &targets);
    (per_token * weights).sum().div_scalar(batch.total_loss_weight())
}
