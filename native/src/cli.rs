//! Commands and their arguments.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use drope_core::language::Values;
use drope_core::niah::Task;
use drope_core::positions::Method;

use crate::device::DeviceChoice;
use crate::{evaluate, train};

/// Train language models, drop their position embeddings, and measure how far they read.
#[derive(Parser)]
#[command(name = "core", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model with rotary positions from random weights.
    Pretrain {
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
    /// Measure a model.
    #[command(subcommand)]
    Eval(Eval),
}

#[derive(Subcommand)]
enum Eval {
    /// Needles in a haystack, at multiples of the training context.
    Niah(Niah),
}

#[derive(Args)]
struct Niah {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Position methods: rope, pi, ntk, yarn, drope, p-drope.
    #[arg(long, value_delimiter = ',', required = true)]
    method: Vec<Method>,
    /// Tasks: single, multi-key, multi-query, multi-value.
    #[arg(long, value_delimiter = ',', default_value = "multi-key")]
    task: Vec<Task>,
    /// Values: numbers, words.
    #[arg(long, value_delimiter = ',', default_value = "numbers")]
    values: Vec<Values>,
    /// Extension factors: multiples of the training context.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..))]
    extension: Vec<u64>,
    /// Questions a cell.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    trials: u64,
    /// Seed of the questions.
    #[arg(long, default_value_t = 20_000)]
    seed: u64,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long)]
    beta: Option<f64>,
    /// File for the results; cells that it already holds are not run again.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads.
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, Into::into))]
    threads: usize,
}

#[derive(Args)]
struct Train {
    /// Recipe, a TOML file.
    #[arg(long)]
    recipe: PathBuf,
    /// Folder for the model, its loss curve and, until it is done, the checkpoint.
    #[arg(long)]
    out: PathBuf,
    /// Go on from the checkpoint in --out.
    #[arg(long)]
    resume: bool,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads; the result depends on it in the last bits.
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, Into::into))]
    threads: usize,
    /// Updates between checkpoints.
    #[arg(long, default_value_t = 200)]
    save_every: usize,
}

impl Train {
    fn options(&self) -> train::Options<'_> {
        train::Options {
            recipe: &self.recipe,
            out: &self.out,
            resume: self.resume,
            device: self.device,
            threads: self.threads,
            save_every: self.save_every.max(1),
        }
    }
}

/// Runs a command.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Pretrain { train } => train::pretrain(&train.options()),
        Command::Recalibrate { from, train } => train::recalibrate(&from, &train.options()),
        Command::Eval(Eval::Niah(niah)) => evaluate::niah(&evaluate::Request {
            model: niah.model,
            methods: niah.method,
            tasks: niah.task,
            values: niah.values,
            extensions: niah.extension.into_iter().map(|factor| factor as usize).collect(),
            trials: niah.trials as usize,
            seed: niah.seed,
            beta: niah.beta,
            json: niah.json,
            device: niah.device,
            threads: niah.threads,
        }),
    }
}
