//! Commands and their arguments.

mod reading;
mod select;
mod train;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use self::reading::Reading;
use self::select::Dope;
use self::train::Train;
use crate::device::DeviceChoice;
use crate::recipe::PositionEmbedding;
use crate::{
    bench, dope, evaluate, fit_scale, generate, inspect, logits, perplexity, probe, reproduce, results_file, search,
};

/// Train language models, drop their position embeddings, and measure how far they read.
#[derive(Parser)]
#[command(name = "core", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model from random weights.
    Pretrain {
        /// Position embedding instead of the recipe's.
        #[arg(long, value_enum)]
        pe: Option<PositionEmbedding>,
        #[command(flatten)]
        train: Train,
    },
    /// Drop the positions of a trained model and train it a little more, never beyond its context.
    Recalibrate {
        /// Folder of the trained model.
        #[arg(long)]
        from: PathBuf,
        #[command(flatten)]
        train: Train,
    },
    /// Fit the temperature β = 1 + c·ln s by the perplexity of answers in held-out text, and write c into the config.
    FitScale {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// One temperature for all heads, or one for each.
        #[arg(long, value_enum, default_value = "uniform")]
        kind: fit_scale::Kind,
        /// Documents a length.
        #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
        documents: u64,
        /// Seed of the documents.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
    },
    /// Write the logits of token ids, to compare with other implementations.
    Logits {
        #[command(flatten)]
        reading: Reading,
        /// Token ids, separated by commas.
        #[arg(long, value_delimiter = ',', required = true)]
        ids: Vec<u32>,
        /// Safetensors file for the tensor `logits`, [seq, vocab] in f32.
        #[arg(long)]
        out: PathBuf,
    },
    /// Continue a prompt, to the model's end-of-text token; where its config names none, to the end of the sentence.
    Generate {
        #[command(flatten)]
        reading: Reading,
        /// Text to continue.
        #[arg(long)]
        prompt: String,
        /// Most tokens to generate.
        #[arg(long, default_value_t = 64)]
        max_new_tokens: usize,
        /// 0 takes the most likely token, above 0 samples.
        #[arg(long, default_value_t = 0.0, value_parser = at_least_zero)]
        temperature: f64,
        /// Seed of the sampling.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Tokens of prompt and answer that there is room for; default: the training context times --factor.
        #[arg(long)]
        context: Option<usize>,
    },
    /// Show the config, the number of parameters and the effective frequencies under a method.
    Inspect {
        #[command(flatten)]
        reading: Reading,
    },
    /// Time training, prefill and decoding; one line of JSON.
    Bench {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// CPU threads of training; reading uses one.
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Runs of each; the median counts.
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..))]
        repeats: u64,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "cpu")]
        device: DeviceChoice,
    },
    /// Measure a model.
    #[command(subcommand)]
    Eval(Eval),
    /// Show what each head looks at when a question has been read: needle, other needles, first token, entropy.
    Probe(probe::ProbeArgs),
    /// Denoising positional encoding (DoPE).
    #[command(subcommand)]
    Dope(Dope),
    /// Search for the parameters of a method.
    #[command(subcommand)]
    Search(Search),
    /// Make the papers' tables and figures at nano size: Markdown, JSON and SVG.
    Reproduce(reproduce::ReproduceArgs),
    /// Join the results of all shards into one file, as if they had been measured together.
    Merge {
        /// Files that `eval` wrote with --shard.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// File for the whole.
        #[arg(long)]
        json: PathBuf,
    },
}

#[derive(Subcommand)]
enum Eval {
    /// Needles in a haystack, at multiples of the training context.
    Niah(evaluate::NiahArgs),
    /// Perplexity over a sliding window, at multiples of the training context.
    Ppl(perplexity::PerplexityArgs),
}

#[derive(Subcommand)]
enum Search {
    /// Factors for LongRoPE by evolution, with critical dimension (LongRoPE2).
    Longrope2 {
        /// Folder of the model.
        #[arg(long)]
        model: PathBuf,
        /// Folder for the model with the factors in its config, and for the state of the search; a search that was stopped
        /// goes on.
        #[arg(long)]
        out: PathBuf,
        /// Extension factor.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
        factor: u64,
        /// Generations of 64 candidates.
        #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
        generations: u64,
        /// Documents that candidates are judged by.
        #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
        texts: u64,
        /// Seed of the search and of the documents.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where to compute.
        #[arg(long, value_enum, default_value = "auto")]
        device: DeviceChoice,
    },
}

/// A number that is not below 0, on the command line.
fn at_least_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{text} is not a number of at least 0"))
}

/// Runs a command.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Pretrain { pe, train } => train.run(|options| crate::train::pretrain(pe, options)),
        Command::Recalibrate { from, train } => train.run(|options| crate::train::recalibrate(&from, options)),
        Command::FitScale { model, kind, documents, seed, device } => {
            fit_scale::run(&model, kind, documents as usize, seed, device)
        }
        Command::Logits { reading, ids, out } => {
            let config = reading.config()?;
            logits::write(&reading.model, &config, &reading.positions(&config)?, &ids, &out, reading.device)
        }
        Command::Generate { reading, prompt, max_new_tokens, temperature, seed, context } => {
            let config = reading.config()?;
            let reach = config.max_position_embeddings as f64 * reading.factor(&config);
            generate::run(&generate::GenerateOptions {
                folder: &reading.model,
                config: &config,
                method: reading.method(&config),
                positions: &reading.positions(&config)?,
                prompt: &prompt,
                max_new_tokens,
                temperature,
                seed,
                context: context.unwrap_or(reach as usize),
                device: reading.device,
            })
        }
        Command::Inspect { reading } => {
            let config = reading.config()?;
            let (method, factor) = (reading.method(&config), reading.factor(&config));
            inspect::print(&reading.model, &config, method, &reading.positions(&config)?, factor)
        }
        Command::Bench { model, threads, repeats, device } => bench::run(&model, threads, repeats as usize, device),
        Command::Eval(Eval::Niah(request)) => evaluate::niah(&request).map(|_| ()),
        Command::Eval(Eval::Ppl(request)) => perplexity::run(&request).map(|_| ()),
        Command::Probe(request) => probe::run(&request).map(|_| ()),
        Command::Dope(Dope::Select(choice)) => dope::select(&choice.into()).map(|_| ()),
        Command::Search(Search::Longrope2 { model, out, factor, generations, texts, seed, device }) => {
            search::longrope2(&search::SearchOptions {
                model,
                out,
                factor: factor as usize,
                generations: generations as usize,
                texts: texts as usize,
                seed,
                device,
            })
        }
        Command::Reproduce(args) => reproduce::write_report(&args),
        Command::Merge { files, json } => results_file::merge(&files, &json),
    }
}
