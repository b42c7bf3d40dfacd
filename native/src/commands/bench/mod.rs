//! `core bench`: tokens a second of training, prefill and decoding, for comparison with other implementations.

mod operations;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use clap::Args;
use drope_core::config::Config;
use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::model::{ComputeType, Model, NumberType};
use drope_core::positions::Method;
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use serde::Serialize;

use super::doctor::update_seconds;
use crate::arguments::{NumberArgs, at_least_one};
use crate::device::{self, DeviceChoice};
use crate::files::{self, model_folder};
use crate::threads;

/// Rows and tokens of a training batch.
const BATCH: [usize; 2] = [16, 256];
/// Tokens that are generated after the prompt.
const NEW_TOKENS: usize = 64;

/// Medians of several runs, in tokens a second.
#[derive(Serialize)]
struct Speeds {
    threads: usize,
    train: Option<f64>,
    prefill: f64,
    decode: f64,
}

/// Arguments of `core bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// CPU threads that compute: in training they share the rows of a batch, and everywhere the kernels.
    #[arg(long, default_value = "1", value_parser = at_least_one)]
    threads: usize,
    /// Number of runs of each measurement; the median is printed.
    #[arg(long, default_value = "7", value_parser = at_least_one)]
    repeats: usize,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceChoice,
    #[command(flatten)]
    numbers: NumberArgs,
    /// Tokens of the prompt.
    #[arg(long, default_value = "1024", value_parser = at_least_one)]
    prompt: usize,
    /// Measure only prefill and decoding, and not training.
    #[arg(long)]
    reading: bool,
    /// Print the milliseconds of each kind of operation in a training step, plain and fused, instead of speeds.
    #[arg(long)]
    operations: bool,
    /// Megabytes of this text that the tokenizer encodes a second, on one thread, instead of speeds.
    #[arg(long, conflicts_with = "operations")]
    tokenize: Option<PathBuf>,
}

/// Times what the arguments ask for.
pub fn bench(args: &BenchArgs) -> Result<()> {
    if args.operations {
        return print_operations(&args.model, args.repeats, args.device);
    }
    if let Some(text) = &args.tokenize {
        return print_tokenizer_speed(&args.model, text, args.repeats);
    }
    print_speeds(args)
}

/// Prints a line for each kind of operation of a training step on one thread.
fn print_operations(folder: &Path, repeats: usize, choice: DeviceChoice) -> Result<()> {
    let config = model_folder::config(folder)?;
    let device = device::open(choice)?.device;
    threads::with_shared_kernels(1, || operations::print(&config, &device.autodiff(), repeats))?
}

/// Prints how fast the model's tokenizer encodes a text, line by line as a corpus is read: one line of JSON.
fn print_tokenizer_speed(folder: &Path, text: &Path, repeats: usize) -> Result<()> {
    let tokenizer = model_folder::tokenizer(folder, &model_folder::config(folder)?)?;
    let text = files::read_text(text)?;
    let mut speeds = Vec::new();
    let mut tokens = 0;
    for _ in 0..repeats {
        let start = Instant::now();
        tokens = 0;
        for line in text.split_inclusive('\n') {
            tokens += tokenizer.encode(line)?.len();
        }
        speeds.push(text.len() as f64 / 1e6 / start.elapsed().as_secs_f64());
    }
    let speed = TokenizerSpeed { bytes: text.len(), tokens, megabytes_per_second: median(speeds)? };
    println!("{}", serde_json::to_string(&speed)?);
    Ok(())
}

/// What [`print_tokenizer_speed`] prints.
#[derive(Serialize)]
struct TokenizerSpeed {
    bytes: usize,
    tokens: usize,
    /// The median of the runs.
    megabytes_per_second: f64,
}

/// Prints the speeds as one line of JSON.
fn print_speeds(args: &BenchArgs) -> Result<()> {
    let &BenchArgs { model: ref folder, threads, repeats, prompt, .. } = args;
    let config = model_folder::config(folder)?;
    let chosen = device::open(args.device)?;
    let (types, device) = (chosen.keeps(args.numbers.types())?, chosen.device);
    // Training takes weights in 32 bits.
    let trains = !args.reading && types.weights == NumberType::F32;
    let train =
        || threads::with_shared_kernels(threads, || train_speed(folder, &config, types.compute, &device, repeats))?;
    let train = trains.then(train).transpose()?;
    let read = || {
        let model = model_folder::model_as(folder, &config, types, &device)?;
        read_speed(&model, &config, prompt, repeats)
    };
    let (prefill, decode) = threads::with_shared_kernels(threads, read)??;
    println!("{}", serde_json::to_string(&Speeds { threads, train, prefill, decode })?);
    Ok(())
}

fn train_speed(folder: &Path, config: &Config, compute: ComputeType, device: &Device, repeats: usize) -> Result<f64> {
    let device = device.clone().autodiff();
    let hyperparameters = Hyperparameters {
        steps: repeats + 1,
        optimizer: OptimizerKind::AdamW,
        weight_decay: 0.1,
        schedule: Schedule::cosine(1e-4, 0, 1.0),
        max_gradient_norm: 1.0,
        compute,
        memory: Memory::default(),
        guard: None,
    };
    let model = model_folder::model(folder, config, &device)?;
    let trainer = Trainer::new(model, Method::Rope.positions(config, 1.0)?, hyperparameters);
    let [rows, length] = BATCH;
    let ids = (0..rows * length).map(|i| ((i * 7919 + 13) % config.vocab_size) as u32).collect();
    let batch = Batch::plain(ids, length);
    let seconds = update_seconds(trainer, repeats, |_| batch.clone())?;
    median(seconds.into_iter().map(|seconds| (rows * length) as f64 / seconds).collect())
}

fn read_speed(model: &Model, config: &Config, prompt: usize, repeats: usize) -> Result<(f64, f64)> {
    let new = NEW_TOKENS;
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
        pollster::block_on(generate(model, config, &positions, &ids, &options, observe))?;
        if repeat > 0 {
            prefill.push(prompt as f64 / (read - start).as_secs_f64());
            // Reading the prompt already gives the first token, so it does not count as decoded.
            decode.push(new as f64 / read.elapsed().as_secs_f64());
        }
    }
    Ok((median(prefill)?, median(decode)?))
}

fn median(mut values: Vec<f64>) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().context("--repeats must be at least 1")
}
