//! How fast a device trains.

use anyhow::Result;
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::model::{ComputeType, Model};
use drope_core::positions::Method;
use drope_core::train::cost::{MicroBatch, operations_per_token};
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use serde::Serialize;

use crate::timing::update_seconds;

/// Updates that are timed.
const STEPS: usize = 10;

/// Speed of updates.
#[derive(Serialize)]
pub struct Training {
    pub tokens_per_second: f64,
    /// Floating-point operations that a token needs, times that.
    pub operations_per_second: f64,
}

/// Times updates of a model on an autodiff device.
pub fn ten_steps(config: &Config, model: Model, rows: [usize; 2], compute: ComputeType) -> Result<Training> {
    let positions = Method::of(config).positions(config, 1.0)?;
    let hyperparameters = hyperparameters(STEPS + 1, compute, &model.device());
    let recompute = hyperparameters.memory.recompute;
    let trainer = Trainer::new(model, positions, hyperparameters);
    let seconds = update_seconds(trainer, STEPS, |step| batch(config, rows, step))?;
    let tokens_per_second = (STEPS * rows[0] * rows[1]) as f64 / seconds.iter().sum::<f64>();
    let micro_batch = MicroBatch { context: rows[1], tokens: rows[0] * rows[1], recompute };
    Ok(Training {
        tokens_per_second,
        operations_per_second: tokens_per_second * operations_per_token(config, micro_batch),
    })
}

/// Text that can be learned: numbers that count on.
pub fn batch(config: &Config, [rows, length]: [usize; 2], step: usize) -> Batch {
    let ids = (0..rows * length).map(|at| ((at + at / length * 31 + step * 17) % config.vocab_size) as u32).collect();
    Batch::plain(ids, length)
}

/// On GPUs blocks are computed again, as recipes for real models do it: attention has kernels of its own then.
pub fn hyperparameters(steps: usize, compute: ComputeType, device: &Device) -> Hyperparameters {
    Hyperparameters {
        steps,
        optimizer: OptimizerKind::AdamW,
        weight_decay: 0.1,
        schedule: Schedule::cosine(1e-3, 2, 0.1),
        max_gradient_norm: 1.0,
        compute,
        memory: Memory { recompute: device.clone().inner() != Device::flex(), ..Memory::default() },
        guard: None,
    }
}
