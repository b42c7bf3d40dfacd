//! What `core eval niah` and `core tune` ask.

use std::path::PathBuf;

use clap::Args;
use drope_core::language::Values;
use drope_core::niah::{Filler, Task};
use drope_core::results::Shard;

use super::{DifficultyArgs, Sweep, at_least_one, share};

/// Arguments of `core eval niah`.
#[derive(Args)]
pub struct NiahArgs {
    #[command(flatten)]
    pub sweep: Sweep,
    /// Tasks: single, multi-key, multi-query, multi-value, variable-tracking, latest-value, passkey.
    #[arg(long = "task", value_delimiter = ',', default_value = "multi-key")]
    pub tasks: Vec<Task>,
    /// Values: numbers, words.
    #[arg(long, value_delimiter = ',', default_value = "numbers")]
    pub values: Vec<Values>,
    /// Number of questions for each cell.
    #[arg(long, default_value = "500", value_parser = at_least_one)]
    pub trials: usize,
    /// Ask only this part of the questions, such as 3/16; `core merge` joins the parts.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
    /// Depths of the needle, 0 (start of the haystack) to 1 (end); each depth is a cell. Default: random depths.
    #[arg(long = "depth", value_delimiter = ',', value_parser = share)]
    pub depths: Vec<f64>,
    /// What needles are hidden in: prose, decoys (prose with words of keys and values), repeated-decoys (a few sentences of
    /// them again and again), needles (nothing else), or grass (Wang's repeated sentences); default: grass for passkey, else prose.
    #[arg(long)]
    pub filler: Option<Filler>,
    #[command(flatten)]
    pub difficulty: DifficultyArgs,
    /// Attention-sink tokens (beginning of text) right after each queried needle: DoPE's noisy setting.
    #[arg(long, default_value_t = 0)]
    pub sinks: usize,
    /// For dope-*: heads that `core dope select` wrote; default: those in the model's config.
    #[arg(long)]
    pub heads: Option<PathBuf>,
}
