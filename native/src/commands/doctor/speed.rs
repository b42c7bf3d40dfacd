//! How fast a device multiplies matrices, and how fast it trains.

use std::time::{Duration, Instant};

use anyhow::Result;
use burn::tensor::{Device, Distribution, Tensor};
use drope_core::config::Config;
use drope_core::kernels::linear;
use drope_core::model::{ComputeType, Model};
use drope_core::positions::Method;
use drope_core::train::cost::{MicroBatch, operations_per_token};
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use serde::Serialize;

/// Updates that are timed.
const STEPS: usize = 10;

/// Speed of updates.
#[derive(Serialize)]
pub struct Training {
    pub tokens_per_second: f64,
    /// Floating-point operations that a token needs, times that.
    pub operations_per_second: f64,
}

/// Floating-point operations a second of products of large matrices: the best of several.
pub fn products_per_second(compute: ComputeType, device: &Device) -> f64 {
    let (rows, inner) = if device == &Device::flex() { (1024, 1024) } else { (4096, 4096) };
    let random = |shape: [usize; 2]| Tensor::<2>::random(shape, Distribution::Default, device);
    let (x, weights) = (random([rows, inner]).unsqueeze::<3>(), random([inner, inner]));
    let mut best = Duration::MAX;
    for _ in 0..8 {
        let start = Instant::now();
        // A number is read, since a GPU computes when it is asked.
        let product = linear(x.clone(), weights.clone(), compute);
        let _: f32 = product.slice([0..1, 0..1, 0..1]).into_scalar();
        best = best.min(start.elapsed());
    }
    2.0 * (rows * inner * inner) as f64 / best.as_secs_f64()
}

/// Times updates of a model on an autodiff device.
pub fn ten_steps(config: &Config, model: Model, rows: [usize; 2], compute: ComputeType) -> Result<Training> {
    let positions = Method::of(config).positions(config, 1.0)?;
    let trainer = Trainer::new(model, positions, hyperparameters(STEPS + 1, compute));
    let seconds = update_seconds(trainer, STEPS, |step| batch(config, rows, step))?;
    let tokens_per_second = (STEPS * rows[0] * rows[1]) as f64 / seconds.iter().sum::<f64>();
    let micro_batch = MicroBatch { context: rows[1], tokens: rows[0] * rows[1], recompute: false };
    Ok(Training {
        tokens_per_second,
        operations_per_second: tokens_per_second * operations_per_token(config, micro_batch),
    })
}

/// Seconds of each of some updates behind a first one, which also makes kernels and allocates memory.
pub fn update_seconds(mut trainer: Trainer, updates: usize, batch: impl Fn(usize) -> Batch) -> Result<Vec<f64>> {
    let mut seconds = Vec::new();
    for step in 0..=updates {
        let batch = batch(step);
        let start = Instant::now();
        (trainer, _) = pollster::block_on(trainer.step(&batch))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(seconds.split_off(1))
}

/// Text that can be learned: numbers that count on.
pub fn batch(config: &Config, [rows, length]: [usize; 2], step: usize) -> Batch {
    let ids = (0..rows * length).map(|at| ((at + at / length * 31 + step * 17) % config.vocab_size) as u32).collect();
    Batch::plain(ids, length)
}

pub fn hyperparameters(steps: usize, compute: ComputeType) -> Hyperparameters {
    Hyperparameters {
        steps,
        optimizer: OptimizerKind::AdamW,
        weight_decay: 0.1,
        schedule: Schedule::cosine(1e-3, 2, 0.1),
        max_gradient_norm: 1.0,
        compute,
        memory: Memory::default(),
        guard: None,
    }
}
