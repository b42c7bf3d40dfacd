//! Speeds that several commands measure: products of large matrices, and updates.

use std::time::{Duration, Instant};

use anyhow::Result;
use burn::tensor::{Device, Distribution, Tensor};
use drope_core::kernels::linear;
use drope_core::model::ComputeType;
use drope_core::train::{Batch, Trainer};

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
