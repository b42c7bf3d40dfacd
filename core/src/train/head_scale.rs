//! HeadScale (Wang et al. 2024): a temperature for each head, trained with everything else frozen.

use burn::module::{Module, Param};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};

use super::batch::Batch;
use super::loss::cross_entropy;
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

    /// One update on a batch, whose weights say which tokens count; then every λ is at least 1. Returns the mean loss.
    ///
    /// `model` is frozen ([`Module::no_grad`]) and on the same autodiff device.
    ///
    /// # Errors
    /// If the loss is NaN or infinite.
    pub fn step(
        self,
        optimizer: &mut ModuleOptimizer,
        model: &Model,
        batch: &Batch,
        positions: &Positions,
        learning_rate: f64,
    ) -> Result<(Self, f64)> {
        let scales: Vec<Tensor<1>> = self.layers.iter().map(Param::val).collect();
        let hidden = |inputs| model.hidden_with_head_scales(inputs, positions, &scales);
        let losses = cross_entropy(model, batch, &model.device(), hidden);
        let loss = losses.weighted.div_scalar(batch.total_weight());
        let mean = f64::from(loss.clone().into_scalar::<f32>());
        if !mean.is_finite() {
            return Err(Error::NotFinite("loss".into()));
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &self);
        let mut updated = optimizer.step(learning_rate, self, gradients);
        for layer in &mut updated.layers {
            // Cut from the step that made them: the next one begins a graph of its own.
            *layer = layer.clone().map(|scales| scales.clamp_min(1.0).detach().require_grad());
        }
        Ok((updated, mean))
    }

    /// λ as numbers, head after head, layer after layer.
    pub fn values(&self) -> Vec<Vec<f64>> {
        self.layers.iter().map(|layer| layer.val().into_data().iter::<f64>().collect()).collect()
    }
}
