//! `core bench`: tokens a second of training, prefill and decoding, for comparison with other implementations.

mod arguments;
mod memory;
mod operations;
mod roofline;
mod speed;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use drope_core::model::{ComputeType, WeightType};
use serde::Serialize;

pub use self::arguments::BenchArgs;
use self::roofline::Measured;
use self::speed::{median, read_speed, train_speed};
use crate::files::{self, model_folder};
use crate::{allocator, device, machine, threads};

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
    let train = train.tokens_per_second;
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
    let speed = TokenizerSpeed { bytes: text.len(), tokens, megabytes_per_second: median(&speeds)? };
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
    let chosen = device::open(args.device)?;
    let types = chosen.checked(args.numbers.types())?;
    threads::with_shared_kernels(args.threads, || memory::print(args, types, &chosen.device))?
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
        let [prefill, decode] = read_speed(&model, &config, prompt, repeats)?;
        let line = if args.roofline {
            let speeds = Measured { prefill, decode, train };
            serde_json::to_string(&roofline::measure(&model, (&config, types.cache), [prompt, args.batch[1]], &speeds)?)
        } else {
            let [prefill, decode] = [prefill, decode].map(|speed| speed.tokens_per_second);
            let train = train.map(|speed| speed.tokens_per_second);
            serde_json::to_string(&Speeds { threads, train, prefill, decode })
        };
        println!("{}", line?);
        Ok(())
    };
    threads::with_shared_kernels(threads, read)?
}
