//! Whether a device computes what the CPU does with Burn's own operations in f32.

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use drope_core::config::Config;
use drope_core::kernels::with_reference_kernels;
use drope_core::model::{ComputeType, Model, token_ids};
use drope_core::positions::Method;
use drope_core::train::Trainer;
use serde::Serialize;

use super::random::random_config;
use super::speed::{batch, hyperparameters};

/// Updates that are compared.
const STEPS: usize = 10;
/// Tokens of a text.
const CONTEXT: usize = 128;

/// Largest differences from the CPU.
#[derive(Serialize)]
pub struct Parity {
    /// Of logits, relative to the largest.
    pub logits: f32,
    /// Of the losses of ten updates, relative to the first.
    pub losses: f32,
    /// Whether both are as small as rounding explains.
    pub is_right: bool,
}

/// Compares a small random model.
pub fn compare(compute: ComputeType, device: &Device) -> Result<Parity> {
    let config = random_config(128, 384, 3, 512, CONTEXT)?;
    let expected = with_reference_kernels(|| computed(&config, ComputeType::F32, &Device::flex()))?;
    let found = computed(&config, compute, device)?;
    let logits = largest_difference(&found.0, &expected.0) / largest(&expected.0);
    let losses = largest_difference(&found.1, &expected.1) / expected.1[0];
    // Cards may round the factors of f32 to TF32.
    let bound = match compute {
        ComputeType::F32 => 2e-3,
        ComputeType::Bf16 => 3e-2,
    };
    // NaN is not below the bound.
    Ok(Parity { logits, losses, is_right: logits < bound && losses < bound })
}

/// Logits of a text, and losses of updates.
fn computed(config: &Config, compute: ComputeType, device: &Device) -> Result<(Vec<f32>, Vec<f32>)> {
    let positions = Method::Rope.positions(config, 1.0)?;
    let model = Model::random(config, 1, &device.clone().autodiff());
    let ids: Vec<u32> = (0..CONTEXT as u32).map(|i| (i * 7919 + 13) % config.vocab_size as u32).collect();
    let inference = burn::module::Module::valid(&model).compute_in(compute);
    let logits: Tensor<3> = inference.forward(token_ids(&ids, [1, CONTEXT], device), &positions, None);
    let mut trainer = Trainer::new(model, positions, hyperparameters(STEPS, compute, device));
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let report;
        (trainer, report) = pollster::block_on(trainer.step(&batch(config, [4, CONTEXT], step)))?;
        losses.push(report.token_losses.iter().sum::<f32>() / report.token_losses.len() as f32);
    }
    Ok((logits.into_data().iter().collect(), losses))
}

fn largest(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0.0, |most, number| most.max(number.abs()))
}

/// NaN where a number is NaN.
fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |most: f32, difference| if difference <= most { most } else { difference })
}
