//! Arguments of `core bench`.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::{NumberArgs, at_least_one};
use crate::device::DeviceChoice;

/// Arguments of `core bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// Folder of the model, or a GGUF.
    #[arg(long)]
    pub model: PathBuf,
    /// CPU threads that compute: in training they share the rows of a batch, and everywhere the kernels.
    #[arg(long, default_value = "1", value_parser = at_least_one)]
    pub threads: usize,
    /// Number of runs of each measurement; the median is printed.
    #[arg(long, default_value = "7", value_parser = at_least_one)]
    pub repeats: usize,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "cpu")]
    pub device: DeviceChoice,
    #[command(flatten)]
    pub numbers: NumberArgs,
    /// Tokens of the prompt.
    #[arg(long, default_value = "1024", value_parser = at_least_one)]
    pub prompt: usize,
    /// Measure only prefill and decoding, and not training.
    #[arg(long)]
    pub reading: bool,
    /// Measure only training, and the most memory that it takes.
    #[arg(long, conflicts_with_all = ["reading", "operations", "tokenize", "weights", "cache"])]
    pub training: bool,
    /// Rows and tokens of a training batch.
    #[arg(long, value_name = "ROWSxTOKENS", default_value = "16x256", value_parser = batch_shape)]
    pub batch: [usize; 2],
    /// Compute blocks again in the backward pass, a quarter of the rows at a time (under CUDA all): in less memory.
    #[arg(long)]
    pub recompute: bool,
    /// Measure what the machine computes and reads at most, too, and print how much of it each speed takes.
    #[arg(long, conflicts_with_all = ["training", "operations", "tokenize"])]
    pub roofline: bool,
    /// Print where the memory goes that a prompt and an answer take, instead of speeds.
    #[arg(long, conflicts_with_all = ["training", "operations", "tokenize", "roofline"])]
    pub memory: bool,
    /// Print the milliseconds of each kind of operation in a training step, plain and fused, instead of speeds.
    #[arg(long)]
    pub operations: bool,
    /// A text file: print how many megabytes of it the tokenizer encodes a second on one thread, instead of the other speeds.
    #[arg(long, conflicts_with = "operations")]
    pub tokenize: Option<PathBuf>,
}

/// `16x256`
fn batch_shape(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once('x').map(|(rows, tokens)| [rows, tokens].map(str::parse::<usize>));
    match numbers {
        Some([Ok(rows), Ok(tokens)]) if rows > 0 && tokens > 1 => Ok([rows, tokens]),
        _ => Err("a batch is given as rows x tokens, such as 16x256, of at least two tokens a row".to_owned()),
    }
}
