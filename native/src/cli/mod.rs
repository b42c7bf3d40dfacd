//! Commands and their arguments.

mod arguments;
mod difficulty;
mod fit;
mod numbers;
mod parameters;
mod read;
mod reading;
mod select;
mod study;
mod train;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};
use drope_core::model::StoredType;

pub use self::arguments::{above_zero, at_least_one, at_least_zero, depth, method_names, tokens};
pub use self::difficulty::DifficultyArgs;
pub use self::numbers::NumberArgs;
pub use self::parameters::{ParameterArgs, axis};
pub use self::reading::ReadingArgs;
pub use self::study::StudyArgs;
use crate::{benchmarks, evaluate, perplexity, probe, reproduce, results_file, threads, tune};

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
    Pretrain(train::PretrainArgs),
    /// Drop the positions of a trained model and train it a little more, on texts no longer than its training context.
    Recalibrate(train::RecalibrateArgs),
    /// Fit the temperature β = 1 + c·ln s by the perplexity of answers in held-out text, and write c into the config.
    FitScale(fit::FitScaleArgs),
    /// Write the logits of token ids, to compare with other implementations.
    Logits(read::LogitsArgs),
    /// Continue a prompt, to the model's end-of-text token; where its config names none, to the end of the sentence.
    Generate(read::GenerateArgs),
    /// Write a model, a folder or a GGUF, as a Hugging Face folder with one weights file, or as a GGUF for llama.cpp.
    Convert {
        /// Folder of the model, or a GGUF.
        #[arg(long)]
        from: PathBuf,
        /// Folder for the result, or a file that ends in .gguf.
        #[arg(long)]
        to: PathBuf,
        /// Type of the weights: f32, f16 or bf16.
        #[arg(long, default_value = "f32")]
        dtype: StoredType,
    },
    /// Show the config, the number of parameters and the effective frequencies under a method.
    Inspect(read::InspectArgs),
    /// Time training, prefill and decoding; one line of JSON.
    Bench(read::BenchArgs),
    /// Measure a model.
    #[command(subcommand)]
    Eval(Eval),
    /// Show what each head attends to when a question has been read: needle, other needles, first token, entropy.
    Probe(probe::ProbeArgs),
    /// Denoising positional encoding (DoPE).
    #[command(subcommand)]
    Dope(select::Dope),
    /// Search for the parameters of a method.
    #[command(subcommand)]
    Search(fit::Search),
    Tune(tune::TuneArgs),
    /// Make the papers' tables and figures at nano size: Markdown, JSON and SVG.
    Reproduce(reproduce::ReproduceArgs),
    /// Run a plan of these commands, several at once, resumably: training, evaluation, whatever a study consists of.
    Study(StudyArgs),
    /// Join the results of all shards into one file, as if they had been measured together.
    Merge {
        /// Files that `eval` wrote with --shard.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// File for the joined results.
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
    /// RULER's thirteen tasks, with RULER's own prompts.
    Ruler(benchmarks::RulerArgs),
    /// LongBench's English datasets, from your own files.
    Longbench(benchmarks::LongBenchArgs),
    /// Multiple-choice questions, from your own file.
    Choice(benchmarks::ChoiceArgs),
}

impl Command {
    /// Number of threads that share a kernel: 1 if `--threads` distributes samples or rows of a batch instead.
    fn kernel_threads(&self) -> usize {
        match self {
            Self::FitScale(args) => args.threads,
            Self::Logits(args) => args.reading.threads,
            Self::Generate(args) => args.reading.threads,
            Self::Dope(select::Dope::Select(args)) => args.threads,
            Self::Search(fit::Search::Longrope2(args)) => args.threads,
            Self::Pretrain(_) | Self::Recalibrate(_) | Self::Eval(_) | Self::Probe(_) | Self::Tune(_) => 1,
            Self::Convert { .. }
            | Self::Reproduce(_)
            | Self::Inspect(_)
            | Self::Bench(_)
            | Self::Study(_)
            | Self::Merge { .. } => 1,
        }
    }
}

/// Executes a command.
pub fn execute(cli: Cli) -> Result<()> {
    threads::share_kernels(cli.command.kernel_threads())?;
    match cli.command {
        Command::Pretrain(args) => args.execute(),
        Command::Recalibrate(args) => args.execute(),
        Command::FitScale(args) => args.execute(),
        Command::Logits(args) => args.execute(),
        Command::Generate(args) => args.execute(),
        Command::Convert { from, to, dtype } => crate::convert::convert(&from, &to, dtype),
        Command::Inspect(args) => args.execute(),
        Command::Bench(args) => args.execute(),
        Command::Eval(Eval::Niah(args)) => evaluate::niah(&args).map(|_| ()),
        Command::Eval(Eval::Ppl(args)) => perplexity::perplexities(&args).map(|_| ()),
        Command::Eval(Eval::Ruler(args)) => benchmarks::ruler(&args),
        Command::Eval(Eval::Longbench(args)) => benchmarks::longbench(&args),
        Command::Eval(Eval::Choice(args)) => benchmarks::choice(&args),
        Command::Probe(args) => probe::probe(&args).map(|_| ()),
        Command::Dope(select::Dope::Select(args)) => crate::dope::select(&args.into()).map(|_| ()),
        Command::Search(fit::Search::Longrope2(args)) => args.execute(),
        Command::Tune(args) => tune::tune(&args),
        Command::Reproduce(args) => reproduce::write_report(&args),
        Command::Study(args) => crate::study::study(&args),
        Command::Merge { files, json } => results_file::merge(&files, &json),
    }
}
