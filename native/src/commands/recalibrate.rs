//! `core recalibrate`: positions dropped from a trained model, and a little more training.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::train_args::TrainArgs;
use crate::training::{self, Engine};

/// Arguments of `core recalibrate`.
#[derive(Args)]
pub struct RecalibrateArgs {
    /// Folder of the trained model, or a GGUF.
    #[arg(long)]
    from: PathBuf,
    /// What trains: this program, or PyTorch's FSDP on several devices or machines; for it a folder is written, with the dropped model, all
    /// batches and a script.
    #[arg(long, value_enum, default_value = "core")]
    engine: Engine,
    #[command(flatten)]
    pub train: TrainArgs,
}

/// Trains.
pub fn recalibrate(args: &RecalibrateArgs) -> Result<()> {
    args.train.with_recipe(|options| training::recalibrate(&args.from, args.engine, options))
}
