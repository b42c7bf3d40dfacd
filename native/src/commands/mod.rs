//! Commands, a file each with its arguments.

mod bench;
mod benchmarks;
mod completions;
mod convert;
mod data;
mod doctor;
mod dope;
mod fit_scale;
mod generate;
mod gradients;
mod inspect;
mod logits;
mod merge;
mod niah;
mod patch;
mod perplexity;
mod plan;
mod pretrain;
mod probe;
mod recalibrate;
mod reproduce;
mod search;
mod study;
mod train_args;
mod tune;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use crate::arguments::NiahArgs;
use crate::threads;

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
    Pretrain(pretrain::PretrainArgs),
    /// Drop the positions of a trained model and train it a little more, on texts no longer than its training context.
    Recalibrate(recalibrate::RecalibrateArgs),
    /// Fit the temperature β = 1 + c·ln s by the perplexity of answers in held-out documents of the synthetic language, and write c into the
    /// config.
    FitScale(fit_scale::FitScaleArgs),
    /// Say what a recipe needs before it is run: memory by part, operations and hours, on this machine or on cards.
    Plan(plan::PlanArgs),
    /// Examine a device: whether it computes what the CPU does, how fast it multiplies and trains, and how much memory it takes.
    Doctor(doctor::DoctorArgs),
    /// Write the logits of token ids, to compare with other implementations.
    Logits(logits::LogitsArgs),
    /// Continue a prompt, to the model's end-of-text token; where its config names none, to the end of the sentence.
    Generate(generate::GenerateArgs),
    /// Write a model, a folder or a GGUF, as a Hugging Face folder with one weights file, or as a GGUF for llama.cpp.
    Convert(convert::ConvertArgs),
    /// Text as shards of tokens, which recalibration reads.
    #[command(subcommand)]
    Data(data::Data),
    /// Show the config, the number of parameters and the effective frequencies under a method.
    Inspect(inspect::InspectArgs),
    /// Time training, prefill and decoding; one line of JSON.
    Bench(bench::BenchArgs),
    /// Measure a model.
    #[command(subcommand)]
    Eval(Eval),
    /// Show what each head attends to when a question has been read: needle, other needles, first token, entropy.
    Probe(probe::ProbeArgs),
    /// Ask questions in long texts with the attention of one head replaced by what it is in a short text with the same needles.
    Patch(patch::PatchArgs),
    /// Measure the gradients of the positional biases at random weights, with rotary positions and without positions.
    Gradients(gradients::GradientsArgs),
    /// Denoising positional encoding (DoPE).
    #[command(subcommand)]
    Dope(dope::Dope),
    /// Search for the parameters of a method.
    #[command(subcommand)]
    Search(search::Search),
    Tune(tune::TuneArgs),
    /// Make the papers' tables and figures at nano size: train and measure what they need, and write them as Markdown and SVG.
    Reproduce(reproduce::ReproduceArgs),
    /// Run a plan of these commands, several at once, resumably: training, evaluation, whatever a study consists of.
    Study(study::StudyArgs),
    /// Join the results of all shards into one file, as if they had been measured together.
    Merge(merge::MergeArgs),
    /// Print what a shell needs to complete these commands; `core completions bash > ~/.local/share/bash-completion/completions/core`.
    Completions(completions::CompletionsArgs),
}

#[derive(Subcommand)]
enum Eval {
    /// Needles in a haystack, at multiples of the training context.
    Niah(NiahArgs),
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
    /// Number of threads of the pool that shares kernels, and in training rows: 1 if `--threads` distributes samples instead.
    fn kernel_threads(&self) -> usize {
        match self {
            Self::FitScale(args) => args.threads,
            Self::Logits(args) => args.reading.threads,
            Self::Generate(args) => args.reading.threads,
            Self::Dope(dope::Dope::Select(args)) => args.threads,
            Self::Search(search::Search::Longrope2(args)) => args.threads,
            Self::Pretrain(args) => args.train.pool_threads(),
            Self::Recalibrate(args) => args.train.pool_threads(),
            Self::Eval(_)
            | Self::Probe(_)
            | Self::Patch(_)
            | Self::Tune(_)
            | Self::Convert(_)
            | Self::Data(_)
            | Self::Gradients(_)
            | Self::Reproduce(_)
            | Self::Inspect(_)
            | Self::Plan(_)
            | Self::Doctor(_)
            | Self::Bench(_)
            | Self::Study(_)
            | Self::Merge(_)
            | Self::Completions(_) => 1,
        }
    }
}

/// Executes a command.
pub fn execute(cli: Cli) -> Result<()> {
    threads::share_kernels(cli.command.kernel_threads())?;
    match cli.command {
        Command::Pretrain(args) => pretrain::pretrain(&args),
        Command::Recalibrate(args) => recalibrate::recalibrate(&args),
        Command::FitScale(args) => fit_scale::fit_and_save(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Logits(args) => logits::logits(&args),
        Command::Generate(args) => generate::print_answer(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Data(data) => data::execute(&data),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Eval(Eval::Niah(args)) => niah::niah(&args),
        Command::Eval(Eval::Ppl(args)) => perplexity::perplexities(&args),
        Command::Eval(Eval::Ruler(args)) => benchmarks::ruler(&args),
        Command::Eval(Eval::Longbench(args)) => benchmarks::longbench(&args),
        Command::Eval(Eval::Choice(args)) => benchmarks::choice(&args),
        Command::Probe(args) => probe::probe(&args),
        Command::Patch(args) => patch::patch(&args),
        Command::Gradients(args) => gradients::gradients(&args),
        Command::Dope(dope::Dope::Select(args)) => dope::select(&args),
        Command::Search(search::Search::Longrope2(args)) => search::longrope2(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args, &Cli::command()),
        Command::Study(args) => study::study(&args, &Cli::command()),
        Command::Merge(args) => merge::merge(&args),
        Command::Completions(args) => completions::completions(&args, Cli::command()),
    }
}
