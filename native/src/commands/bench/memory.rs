//! `core bench --memory`: what a prompt and the answer behind it keep in memory, part by part.

use anyhow::{Context, Result};
use burn::tensor::Device;
use drope_core::model::NumberTypes;
use serde::Serialize;

use super::arguments::BenchArgs;
use super::speed::{NEW_TOKENS, cache_bytes, read_speed};
use crate::files::model_folder;
use crate::machine::{forget_peak_memory, peak_memory, resident_memory};

/// What is printed, in bytes.
#[derive(Serialize)]
struct MemoryUse {
    threads: usize,
    prompt: usize,
    /// Of the program before anything is loaded: its code and its libraries' data, as far as they were touched.
    program: u64,
    /// Of the matrices of weights, by count.
    weights: u64,
    /// What the process took beside both when the model was loaded: rounding by the allocator, and what loading left.
    loaded: u64,
    /// Of keys and values of the prompt and the answer, by count.
    cache: u64,
    /// What reading the prompt and writing the answer takes at its peak beside all that: activations, logits, and memory that is free
    /// but not handed back.
    reading: u64,
    /// The most that the process took at once.
    peak: u64,
}

/// Loads the model, reads and writes, and prints one line of JSON.
pub fn print(args: &BenchArgs, types: NumberTypes, device: &Device) -> Result<()> {
    let peak = || peak_memory().context("this system does not say how much memory a process takes");
    let resident = || resident_memory().context("this system does not say how much memory a process takes now");
    let program = resident()?;
    forget_peak_memory();
    let config = model_folder::config(&args.model)?;
    let model = model_folder::model_as(&args.model, &config, types, device)?;
    let weights = model.weight_bytes_per_token() as u64
        + if config.tie_word_embeddings { 0 } else { model.bytes_of_embedding() as u64 };
    let (at_most, after) = (peak()?, resident()?);
    forget_peak_memory();
    read_speed(&model, &config, args.prompt, 1)?;
    let reading = peak()?;
    let cache = cache_bytes(&config, types.cache, args.prompt + NEW_TOKENS);
    let beside = |bytes: u64, parts: &[u64]| bytes.saturating_sub(parts.iter().sum());
    let used = MemoryUse {
        threads: args.threads,
        prompt: args.prompt,
        program,
        weights,
        loaded: beside(after, &[program, weights]),
        cache,
        reading: beside(reading, &[after, cache]),
        peak: at_most.max(reading),
    };
    println!("{}", serde_json::to_string(&used)?);
    Ok(())
}
