//! HeadScale (Wang et al. 2024, arXiv 2404.12224): a temperature λ for each head, trained with all weights frozen.

use burn::module::{Module, Param};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};

use super::batch::Batch;
use super::loss::cross_entropy_with;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::positions::Positions;

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
        let loss = cross_entropy_with(model, batch, hidden);
        let loss = loss.weighted_sum.div_scalar(batch.total_loss_weight());
        let mean = numbers(loss.clone()).await?.iter().sum::<f64>();
        if !mean.is_finite() {
            return Err(Error::NotFinite("loss".into()));
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

async fn numbers(tensor: Tensor<1>) -> Result<Vec<f64>> {
    let data = tensor.into_data_async().await.map_err(|error| Error::Device(error.to_string()))?;
    Ok(data.iter::<f64>().collect())
}
