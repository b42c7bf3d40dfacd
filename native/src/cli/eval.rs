//! Arguments of `core eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use drope_core::language::Values;
use drope_core::niah::{Filler, Task};
use drope_core::positions::Method;
use drope_core::results::Shard;

use crate::device::DeviceChoice;
use crate::{evaluate, perplexity};

#[derive(Subcommand)]
pub enum Eval {
    /// Needles in a haystack, at multiples of the training context.
    Niah(Niah),
    /// Perplexity over a sliding window, at multiples of the training context.
    Ppl(Ppl),
}

#[derive(Args)]
pub struct Ppl {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Position methods, as for `eval niah`.
    #[arg(long, value_delimiter = ',', required = true)]
    method: Vec<Method>,
    /// Extension factors: windows in multiples of the training context.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8", value_parser = clap::value_parser!(u64).range(1..))]
    extension: Vec<u64>,
    /// Tokens from window to window; default: half a window.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    stride: Option<u64>,
    /// A text file to predict; default: held-out documents of the synthetic language.
    #[arg(long)]
    text: Option<PathBuf>,
    /// Texts, each as long as the longest window.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    texts: u64,
    /// Seed of the documents.
    #[arg(long, default_value_t = 20_000)]
    seed: u64,
    /// Read only this part of the texts, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long)]
    beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long)]
    cut: Option<f64>,
    /// File for the results; cells that it already holds are not run again.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
}

#[derive(Args)]
pub struct Niah {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Position methods: rope, crop, pi, ntk, dynamic-ntk, yarn, yarn-as-printed, llama3, longrope, dope-parts,
    /// dope-all, dope-gaussian, drope, p-drope, nope, alibi, rnope-swa.
    #[arg(long, value_delimiter = ',', required = true)]
    method: Vec<Method>,
    /// Tasks: single, multi-key, multi-query, multi-value, passkey.
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
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Temperature of the logits instead of the config's 1 + c·ln s.
    #[arg(long)]
    beta: Option<f64>,
    /// For p-drope: frequencies below this, in radians a token, are dropped; default: the config's, else 2π/C.
    #[arg(long)]
    cut: Option<f64>,
    /// Depths of the needle, 0 (start of the haystack) to 1 (end), a cell each; default: at random.
    #[arg(long, value_delimiter = ',', value_parser = share)]
    depth: Vec<f64>,
    /// What needles are hidden in: prose, or grass (Wang's repeated sentences); default: grass for passkey, else prose.
    #[arg(long)]
    filler: Option<Filler>,
    /// Attention-sink tokens (beginning of text) right behind each needle that is asked for: DoPE's noisy setting.
    #[arg(long, default_value_t = 0)]
    sinks: usize,
    /// For dope-*: heads that `core dope select` wrote; default: dope.json in the model's folder.
    #[arg(long)]
    heads: Option<PathBuf>,
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

impl From<Ppl> for perplexity::Request {
    fn from(ppl: Ppl) -> Self {
        Self {
            model: ppl.model,
            methods: ppl.method,
            extensions: ppl.extension.into_iter().map(|factor| factor as usize).collect(),
            stride: ppl.stride.map(|stride| stride as usize),
            text: ppl.text,
            texts: ppl.texts as usize,
            seed: ppl.seed,
            shard: ppl.shard,
            beta: ppl.beta,
            cut: ppl.cut,
            json: ppl.json,
            device: ppl.device,
        }
    }
}

impl From<Niah> for evaluate::Request {
    fn from(niah: Niah) -> Self {
        Self {
            model: niah.model,
            methods: niah.method,
            tasks: niah.task,
            values: niah.values,
            extensions: niah.extension.into_iter().map(|factor| factor as usize).collect(),
            trials: niah.trials as usize,
            seed: niah.seed,
            depths: if niah.depth.is_empty() { vec![None] } else { niah.depth.into_iter().map(Some).collect() },
            filler: niah.filler,
            sinks: niah.sinks,
            heads: niah.heads,
            shard: niah.shard,
            beta: niah.beta,
            cut: niah.cut,
            json: niah.json,
            device: niah.device,
            threads: niah.threads,
        }
    }
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| "a depth is a number from 0 to 1".to_owned())
}
