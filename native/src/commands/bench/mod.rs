//! `core bench`: tokens a second of training, prefill and decoding, for comparison with other implementations.

mod memory;
mod operations;
mod roofline;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use clap::Args;
use drope_core::config::Config;
use drope_core::generate::{Event, Flow, Options, generate};
use drope_core::kernels;
use drope_core::model::{ComputeType, Model, NumberType, WeightType};
use drope_core::positions::Method;
use drope_core::train::{Batch, Hyperparameters, Memory, OptimizerKind, Schedule, Trainer};
use serde::Serialize;

use self::roofline::Measured;
use crate::arguments::{NumberArgs, at_least_one};
use crate::device::{self, DeviceChoice};
use crate::files::{self, model_folder};
use crate::timing::update_seconds;
use crate::{allocator, machine, threads};

/// Tokens that are generated after the prompt.
const NEW_TOKENS: usize = 64;

/// What `--training` prints.
#[derive(Serialize)]
struct TrainingSpeed {
    threads: usize,
    batch: [usize; 2],
    recompute: bool,
    /// Tokens a second, the median of several updates.
    train: f64,
    /// Of the whole process; training is all that it did.
    peak_bytes: Option<u64>,
}

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
    /// Measure only training, and the most memory that it takes.
    #[arg(long, conflicts_with_all = ["reading", "operations", "tokenize", "weights", "cache"])]
    training: bool,
    /// Rows and tokens of a training batch.
    #[arg(long, value_name = "ROWSxTOKENS", default_value = "16x256", value_parser = batch_shape)]
    batch: [usize; 2],
    /// Compute blocks again in the backward pass, a quarter of the rows at a time (under CUDA all): in less memory.
    #[arg(long)]
    recompute: bool,
    /// Measure what the machine computes and reads at most, too, and print how much of it each speed takes.
    #[arg(long, conflicts_with_all = ["training", "operations", "tokenize"])]
    roofline: bool,
    /// Print where the memory goes that a prompt and an answer take, instead of speeds.
    #[arg(long, conflicts_with_all = ["training", "operations", "tokenize", "roofline"])]
    memory: bool,
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
        return print_operations(args);
    }
    if let Some(text) = &args.tokenize {
        return print_tokenizer_speed(&args.model, text, args.repeats);
    }
    if args.training {
        return print_training_speed(args);
    }
    if args.memory {
        return print_memory(args);
    }
    print_speeds(args)
}

/// `16x256`
fn batch_shape(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once('x').map(|(rows, tokens)| [rows, tokens].map(str::parse::<usize>));
    match numbers {
        Some([Ok(rows), Ok(tokens)]) if rows > 0 && tokens > 1 => Ok([rows, tokens]),
        _ => Err("a batch is given as rows x tokens, such as 16x256, of at least two tokens a row".to_owned()),
    }
}

/// Prints a line for each kind of operation of a training step.
fn print_operations(args: &BenchArgs) -> Result<()> {
    let config = model_folder::config(&args.model)?;
    let chosen = device::open(args.device)?;
    let compute = chosen.checked(args.numbers.types())?.compute;
    let device = chosen.device.autodiff();
    let print = || operations::print(&config, args.batch, (&device, compute), args.repeats);
    threads::with_shared_kernels(args.threads, print)?
}

/// Prints the speed of updates and the memory that they took, as one line of JSON.
fn print_training_speed(args: &BenchArgs) -> Result<()> {
    let &BenchArgs { threads, batch, recompute, .. } = args;
    // As the loop of a run has it.
    allocator::keep_free_memory();
    let chosen = device::open(args.device)?;
    let compute = chosen.checked(args.numbers.types())?.compute;
    let train = threads::with_shared_kernels(threads, || train_speed(args, compute, &chosen.device))??;
    let speed = TrainingSpeed { threads, batch, recompute, train, peak_bytes: machine::peak_memory() };
    println!("{}", serde_json::to_string(&speed)?);
    Ok(())
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

/// Prints what reading keeps in memory, as one line of JSON.
fn print_memory(args: &BenchArgs) -> Result<()> {
    let config = model_folder::config(&args.model)?;
    let chosen = device::open(args.device)?;
    let types = chosen.checked(args.numbers.types())?;
    threads::with_shared_kernels(args.threads, || memory::print(args, &config, types, &chosen.device))?
}

/// Prints the speeds as one line of JSON.
fn print_speeds(args: &BenchArgs) -> Result<()> {
    let &BenchArgs { model: ref folder, threads, repeats, prompt, .. } = args;
    let config = model_folder::config(folder)?;
    let chosen = device::open(args.device)?;
    let (types, device) = (chosen.checked(args.numbers.types())?, chosen.device);
    let is_measured = chosen.is_cpu && types.compute == ComputeType::F32;
    ensure!(is_measured || !args.roofline, "--roofline is about f32 on the CPU; leave out --device and --compute");
    // Training takes weights in 32 bits.
    let trains = !args.reading && types.weights == WeightType::F32;
    let train = || threads::with_shared_kernels(threads, || train_speed(args, types.compute, &device))?;
    let train = trains.then(train).transpose()?;
    let read = || -> Result<()> {
        let model = model_folder::model_as(folder, &config, types, &device)?;
        let (prefill, decode) = read_speed(&model, &config, prompt, repeats)?;
        let line = if args.roofline {
            let speeds = Measured { prefill, decode, train };
            serde_json::to_string(&roofline::measure(&model, (&config, types.cache), [prompt, args.batch[1]], &speeds)?)
        } else {
            serde_json::to_string(&Speeds { threads, train, prefill, decode })
        };
        println!("{}", line?);
        Ok(())
    };
    threads::with_shared_kernels(threads, read)?
}

fn train_speed(args: &BenchArgs, compute: ComputeType, device: &Device) -> Result<f64> {
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
    let seconds = update_seconds(trainer, repeats, |_| batch.clone())?;
    median(seconds.into_iter().map(|seconds| (rows * length) as f64 / seconds).collect())
}

fn read_speed(model: &Model, config: &Config, prompt: usize, repeats: usize) -> Result<(f64, f64)> {
    let new = NEW_TOKENS;
    let positions = Method::of(config).positions(config, (prompt / config.max_position_embeddings).max(1) as f64)?;
    let ids: Vec<u32> = (0..prompt).map(|i| ((i * 7919 + 13) % config.vocab_size) as u32).collect();
    let options = Options {
        max_new_tokens: new + 1,
        stop: vec![],
        context: prompt + new + 1,
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

/// Bytes of the keys and values of all layers.
fn cache_bytes(config: &Config, kind: NumberType, tokens: usize) -> u64 {
    let numbers = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * tokens;
    let bits = match kind {
        NumberType::F32 => 32,
        NumberType::F16 | NumberType::Bf16 => 16,
        // And a scale of 32 bits for each 32 numbers.
        NumberType::Q8 => 9,
    };
    (numbers * bits / 8) as u64
}

fn median(mut values: Vec<f64>) -> Result<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().context("--repeats must be at least 1")
}
