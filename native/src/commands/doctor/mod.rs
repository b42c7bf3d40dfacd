//! `core doctor`: whether a device computes what the CPU does, how fast it trains, and a report of both.

mod parity;
mod random;
mod speed;

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use burn::tensor::Device;
use clap::Args;
use drope_core::config::Config;
use drope_core::model::{ComputeType, Model};
use serde::Serialize;

use self::parity::Parity;
use self::random::random_config;
use self::speed::{Training, ten_steps};
use crate::arguments::at_least_one;
use crate::device::{self, DeviceChoice};
use crate::files::{self, model_folder};
use crate::timing::products_per_second;
use crate::{allocator, machine, threads};

/// Arguments of `core doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// What is examined.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// Folder of a model whose updates are timed; by default a random one of 30 million parameters.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Rows of a batch.
    #[arg(long, default_value = "8", value_parser = at_least_one)]
    rows: usize,
    /// Tokens of a row, 2 or more.
    #[arg(long, default_value = "256", value_parser = at_least_one)]
    context: usize,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
    /// Also write the report as JSON, to send with a question.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What was found.
#[derive(Serialize)]
struct Report {
    version: &'static str,
    system: String,
    processor: String,
    memory_bytes: u64,
    threads: usize,
    device: String,
    types: Vec<OfType>,
    /// Most memory of this process.
    peak_memory_bytes: Option<u64>,
}

/// What was found of products in one type.
#[derive(Serialize)]
struct OfType {
    compute: ComputeType,
    parity: Parity,
    /// Floating-point operations a second of products of large matrices.
    products_per_second: f64,
    training: Training,
}

/// Examines the device, prints what is found, and fails where its numbers are wrong.
pub fn doctor(args: &DoctorArgs) -> Result<()> {
    ensure!(args.context > 1, "--context is 1, but a row of one token predicts nothing; use 2 or more");
    args.json.as_deref().map_or(Ok(()), files::check_writable)?;
    allocator::keep_free_memory();
    let device = device::open(args.device)?.device;
    let model = args.model.as_deref().map(model_folder::config).transpose()?;
    let (processor, memory_bytes) = machine::processor_and_memory();
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    println!("{processor}, {system}, {:.0} GB, {} threads; device {device:?}", memory_bytes as f64 / 1e9, args.threads);
    let mut types = Vec::new();
    for compute in ComputeType::ALL {
        if compute.is_native_to(&device) {
            types
                .push(threads::with_shared_kernels(args.threads, || examine(args, model.as_ref(), compute, &device))??);
        } else {
            println!("{compute}: the device has no instructions for it");
        }
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        system,
        processor,
        memory_bytes,
        threads: args.threads,
        device: format!("{device:?}"),
        types,
        peak_memory_bytes: machine::peak_memory(),
    };
    if let Some(bytes) = report.peak_memory_bytes {
        println!("memory: {:.2} GB at most in this process", bytes as f64 / 1e9);
    }
    if let Some(path) = &args.json {
        files::write(path, &serde_json::to_vec_pretty(&report)?)?;
    }
    if report.types.iter().any(|of_type| !of_type.parity.is_right) {
        bail!(
            "the device computes other numbers than the CPU; do not train on it, and send the report of --json with the driver's version"
        );
    }
    Ok(())
}

/// Parity, products and ten updates in one type.
fn examine(args: &DoctorArgs, config: Option<&Config>, compute: ComputeType, device: &Device) -> Result<OfType> {
    let parity = parity::compare(compute, device)?;
    println!(
        "{compute}: logits differ from the CPU's f32 by {:.1e} of the largest, losses of ten updates by {:.1e}: {}",
        parity.logits,
        parity.losses,
        if parity.is_right { "right" } else { "WRONG" }
    );
    let peak = products_per_second(compute, device);
    let (config, model) = timed_model(args, config, device)?;
    let training = ten_steps(&config, model, [args.rows, args.context], compute)?;
    let of_peak = 100.0 * training.operations_per_second / peak;
    println!(
        "{compute}: products reach {:.0} GFLOP/s; updates of {} parameters, {} rows of {}: {:.0} tokens/s, {of_peak:.0} % of that",
        peak / 1e9,
        config.num_parameters(),
        args.rows,
        args.context,
        training.tokens_per_second
    );
    Ok(OfType { compute, parity, products_per_second: peak, training })
}

/// The model whose updates are timed; the user's has a config.
fn timed_model(args: &DoctorArgs, config: Option<&Config>, device: &Device) -> Result<(Config, Model)> {
    let device = device.clone().autodiff();
    if let (Some(folder), Some(config)) = (&args.model, config) {
        return Ok((config.clone(), model_folder::model(folder, config, &device)?));
    }
    let config = random_config(512, 1536, 8, 4096, args.context)?;
    let model = Model::random(&config, 1, &device);
    Ok((config, model))
}
