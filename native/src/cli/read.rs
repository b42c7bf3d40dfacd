//! Arguments of the commands that read a model: `logits`, `generate`, `inspect`, `bench`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use drope_core::model::NumberType;

use super::reading::ReadingArgs;
use super::{NumberArgs, at_least_one, at_least_zero};
use crate::device::DeviceChoice;
use crate::{bench, generate, inspect, logits};

#[derive(Args)]
pub struct LogitsArgs {
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Token ids, separated by commas.
    #[arg(long, value_delimiter = ',', required = true)]
    ids: Vec<u32>,
    /// Safetensors file for the tensor `logits`, [seq, vocab] in f32.
    #[arg(long)]
    out: PathBuf,
}

impl LogitsArgs {
    pub fn execute(self) -> Result<()> {
        let config = self.reading.config()?;
        let positions = self.reading.positions(&config)?;
        logits::write(&self.reading, &config, &positions, &self.ids, &self.out)
    }
}

#[derive(Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Text to continue.
    #[arg(long)]
    prompt: String,
    /// Take the prompt as a message, and write it as the model's chat template says.
    #[arg(long)]
    chat: bool,
    /// System message, which stands before the message.
    #[arg(long, requires = "chat")]
    system: Option<String>,
    /// Maximum number of tokens to generate.
    #[arg(long, default_value_t = 64)]
    max_new_tokens: usize,
    /// Sampling temperature; 0 always takes the most likely token.
    #[arg(long, default_value_t = 0.0, value_parser = at_least_zero)]
    temperature: f64,
    /// Seed of the sampling.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Maximum number of tokens of prompt and answer together; default: the training context times --factor.
    #[arg(long)]
    context: Option<usize>,
}

impl GenerateArgs {
    pub fn execute(self) -> Result<()> {
        let config = self.reading.config()?;
        let context = config.max_position_embeddings as f64 * self.reading.factor(&config);
        generate::print_answer(&generate::GenerateOptions {
            folder: &self.reading.model,
            config: &config,
            method: self.reading.method(&config),
            positions: &self.reading.positions(&config)?,
            prompt: &self.prompt,
            is_chat: self.chat,
            system: self.system.as_deref(),
            max_new_tokens: self.max_new_tokens,
            temperature: self.temperature,
            seed: self.seed,
            context: self.context.unwrap_or(context as usize),
            types: self.reading.numbers.types(),
            device: self.reading.device,
        })
    }
}

#[derive(Args)]
pub struct InspectArgs {
    #[command(flatten)]
    reading: ReadingArgs,
}

impl InspectArgs {
    pub fn execute(self) -> Result<()> {
        let config = self.reading.config()?;
        let (method, factor) = (self.reading.method(&config), self.reading.factor(&config));
        inspect::print(&self.reading.model, &config, method, &self.reading.positions(&config)?, factor)
    }
}

#[derive(Args)]
pub struct BenchArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// CPU threads that compute: in training they share the rows of a batch, in prefill and decoding the kernels.
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

impl BenchArgs {
    pub fn execute(self) -> Result<()> {
        if self.operations {
            return bench::print_operations(&self.model, self.repeats, self.device);
        }
        if let Some(text) = &self.tokenize {
            return bench::print_tokenizer_speed(&self.model, text, self.repeats);
        }
        bench::print_speeds(&bench::Bench {
            folder: &self.model,
            threads: self.threads,
            repeats: self.repeats,
            device: self.device,
            types: self.numbers.types(),
            prompt: self.prompt,
            trains: !self.reading && self.numbers.types().weights == NumberType::F32,
        })
    }
}
