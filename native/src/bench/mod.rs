//! `core bench`: tokens a second of training, prefill and decoding, for comparison with other implementations.

mod operations;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::model::WeightType;
use drope_core::positions::Method;
use drope_core::train::{Batch, Hyperparameters, OptimizerKind, Schedule, Trainer};
use serde::Serialize;

use crate::device::{self, DeviceChoice};
use crate::{model_folder, threads, train};

/// Rows and tokens of a training batch.
const BATCH: [usize; 2] = [16, 256];
/// Tokens of the prompt, and tokens that are generated after it.
const PROMPT: [usize; 2] = [1024, 64];

/// Medians of several runs, in tokens a second.
#[derive(Serialize)]
struct Speeds {
    threads: usize,
    train: Option<f64>,
    prefill: f64,
    decode: f64,
}

/// Prints a line for each kind of operation of a training step on one thread.
pub fn print_operations(folder: &Path, repeats: usize, choice: DeviceChoice) -> Result<()> {
    let config = model_folder::config(folder)?;
    let device = device::open(choice)?.device;
    threads::with_shared_kernels(1, || operations::print(&config, &device.autodiff(), repeats))?
}

/// Prints the speeds as one line of JSON; of a model whose weights are kept in fewer than 32 bits those of reading.
pub fn print_speeds(
    folder: &Path,
    threads: usize,
    repeats: usize,
    choice: DeviceChoice,
    kind: WeightType,
) -> Result<()> {
    let config = model_folder::config(folder)?;
    let chosen = device::open(choice)?;
    let (kind, device) = (chosen.keeps(kind)?, chosen.device);
    let train = match kind {
        WeightType::F32 => Some(train_speed(folder, &config, &device, threads, repeats)?),
        _ => None,
    };
    let read = || read_speed(folder, &config, kind, &device, repeats);
    let (prefill, decode) = threads::with_shared_kernels(threads, read)??;
    println!("{}", serde_json::to_string(&Speeds { threads, train, prefill, decode })?);
    Ok(())
}

fn train_speed(folder: &Path, config: &Config, device: &Device, threads: usize, repeats: usize) -> Result<f64> {
    let device = device.clone().autodiff();
    let hyperparameters = Hyperparameters {
        steps: repeats + 1,
        optimizer: OptimizerKind::AdamW,
        weight_decay: 0.1,
        schedule: Schedule { peak: 1e-4, warmup: 0, floor: 1.0 },
        max_gradient_norm: 1.0,
    };
    let model = model_folder::model(folder, config, &device)?;
    let mut trainer = Trainer::new(model, Method::Rope.positions(config, 1.0)?, hyperparameters);
    let [rows, length] = BATCH;
    let ids = (0..rows * length).map(|i| ((i * 7919 + 13) % config.vocab_size) as u32).collect();
    let batch = Batch::plain(ids, length);
    let mut speeds = Vec::new();
    for repeat in 0..=repeats {
        let start = Instant::now();
        let gradients = train::gradients_in_threads(&trainer, &batch, threads);
        (trainer, _) = pollster::block_on(trainer.apply(gradients))?;
        // The first step allocates.
        if repeat > 0 {
            speeds.push((rows * length) as f64 / start.elapsed().as_secs_f64());
        }
    }
    median(speeds)
}

fn read_speed(folder: &Path, config: &Config, kind: WeightType, device: &Device, repeats: usize) -> Result<(f64, f64)> {
    let model = model_folder::model_as(folder, config, kind, device)?;
    let [prompt, new] = PROMPT;
    let positions = Method::Rope.positions(config, (prompt / config.max_position_embeddings).max(1) as f64)?;
    let ids: Vec<u32> = (0..prompt).map(|i| ((i * 7919 + 13) % config.vocab_size) as u32).collect();
    let options = Options {
        max_new_tokens: new + 1,
        stop: vec![],
        context: 2 * prompt,
        crop_length: None,
        temperature: 0.0,
        seed: 0,
    };
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    for repeat in 0..=repeats {
        let start = Instant::now();
        let mut read = start;
        let observe = async |event| {
            if event == Event::Read(prompt) {
                read = Instant::now();
            }
            Flow::Continue
        };
        pollster::block_on(generate(&model, config, &positions, &ids, &options, observe))?;
        if repeat > 0 {
            prefill.push(prompt as f64 / (read - start).as_secs_f64());
            // The first token comes out of the prompt.
            decode.push(new as f64 / read.elapsed().as_secs_f64());
        }
    }
    Ok((median(prefill)?, median(decode)?))
}

fn median(mut values: Vec<f64>) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().context("--repeats must be at least 1")
}
