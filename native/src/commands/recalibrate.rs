//! `core recalibrate`: positions dropped from a trained model, and a little more training.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::arguments::TrainArgs;
use crate::training;

/// Arguments of `core recalibrate`.
#[derive(Args)]
pub struct RecalibrateArgs {
    /// Folder of the trained model.
    #[arg(long)]
    from: PathBuf,
    #[command(flatten)]
    pub train: TrainArgs,
}

/// Trains.
pub fn recalibrate(args: &RecalibrateArgs) -> Result<()> {
    args.train.with_recipe(|options| training::recalibrate(&args.from, options))
}
