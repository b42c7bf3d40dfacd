//! Speeds of updates, prompts and generation.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::config::Config;
use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::kernels;
use drope_core::model::{ComputeType, Model, NumberType};
use drope_core::positions::Method;
use drope_core::stats::median_and_range;
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};

use super::arguments::BenchArgs;
use crate::files::model_folder;
use crate::timing::update_seconds;

/// Tokens that are generated after the prompt.
pub const NEW_TOKENS: usize = 64;

/// How fast something is.
pub struct Speed {
    /// The median of several runs.
    pub tokens_per_second: f64,
    /// The share of the time that more threads would not share, with one thread.
    pub serial: f64,
}

/// The share of some seconds that is left of what threads would share.
fn serial(shared: f64, seconds: f64) -> f64 {
    (1.0 - shared / seconds).max(0.0)
}

/// How fast updates are.
pub fn train_speed(args: &BenchArgs, compute: ComputeType, device: &Device) -> Result<Speed> {
    let &BenchArgs { repeats, recompute, batch: [rows, length], .. } = args;
    let config = model_folder::config(&args.model)?;
    let device = device.clone().autodiff();
    let is_in_parts = recompute && !kernels::has_matrix_units(&device);
    let micro_batch_tokens = is_in_parts.then(|| rows.div_ceil(4) * length);
    let hyperparameters = Hyperparameters {
        steps: repeats + 1,
        optimizer: OptimizerKind::AdamW,
        weight_decay: 0.1,
        schedule: Schedule::cosine(1e-4, 0, 1.0),
        max_gradient_norm: 1.0,
        compute,
        memory: Memory { micro_batch_tokens, recompute, attention_queries: None },
        guard: None,
    };
    let model = model_folder::model(&args.model, &config, &device)?;
    let trainer = Trainer::new(model, Method::of(&config).positions(&config, 1.0)?, hyperparameters);
    let ids = (0..rows * length).map(|i| ((i * 7919 + 13) % config.vocab_size) as u32).collect();
    let batch = Batch::plain(ids, length);
    kernels::count_shared_time();
    let start = Instant::now();
    let seconds = update_seconds(trainer, repeats, |_| batch.clone())?;
    let serial = serial(kernels::shared_time().as_secs_f64(), start.elapsed().as_secs_f64());
    let speeds: Vec<f64> = seconds.into_iter().map(|seconds| (rows * length) as f64 / seconds).collect();
    Ok(Speed { tokens_per_second: median(&speeds)?, serial })
}

/// How fast a prompt is read, and what is generated behind it.
pub fn read_speed(model: &Model, config: &Config, prompt: usize, repeats: usize) -> Result<[Speed; 2]> {
    let new = NEW_TOKENS;
    let positions = Method::of(config).positions(config, (prompt / config.max_position_embeddings).max(1) as f64)?;
    let ids: Vec<u32> = (0..prompt).map(|i| ((i * 7919 + 13) % config.vocab_size) as u32).collect();
    let options = Options { max_new_tokens: new + 1, context: prompt + new + 1, ..Options::default() };
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    // Seconds of all runs, and those that threads would share.
    let mut seconds = [[0.0; 2]; 2];
    for repeat in 0..=repeats {
        let start = Instant::now();
        let (mut read, mut shared) = (start, Duration::ZERO);
        kernels::count_shared_time();
        let observe = async |event| {
            if event == Event::Read(prompt) {
                (read, shared) = (Instant::now(), kernels::shared_time());
            }
            Flow::Continue
        };
        pollster::block_on(generate(model, config, &positions, &ids, &options, observe))?;
        if repeat > 0 {
            let (reading, generating) = ((read - start).as_secs_f64(), read.elapsed().as_secs_f64());
            prefill.push(prompt as f64 / reading);
            // Reading the prompt already gives the first token, so it does not count as decoded.
            decode.push(new as f64 / generating);
            let shared_behind = (kernels::shared_time() - shared).as_secs_f64();
            for (sums, new) in seconds.iter_mut().zip([[shared.as_secs_f64(), reading], [shared_behind, generating]]) {
                sums.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
            }
        }
    }
    let [prompt, generation] = seconds.map(|[shared, all]| serial(shared, all));
    Ok([
        Speed { tokens_per_second: median(&prefill)?, serial: prompt },
        Speed { tokens_per_second: median(&decode)?, serial: generation },
    ])
}

/// Bytes of the keys and values of all layers.
pub fn cache_bytes(config: &Config, kind: NumberType, tokens: usize) -> u64 {
    let numbers = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * tokens;
    let bits = match kind {
        NumberType::F32 => 32,
        NumberType::F16 | NumberType::Bf16 => 16,
        // And a scale of 32 bits for each 32 numbers.
        NumberType::Q8 => 9,
    };
    (numbers * bits / 8) as u64
}

/// The median of several runs.
pub fn median(values: &[f64]) -> Result<f64> {
    Ok(median_and_range(values).context("--repeats must be at least 1")?[0])
}
