//! `core pretrain`: a model from random weights.

use anyhow::Result;
use clap::Args;
use drope_core::train::recipe::PositionEmbedding;

use super::train_args::TrainArgs;
use crate::training;

/// Arguments of `core pretrain`.
#[derive(Args)]
pub struct PretrainArgs {
    /// Position embedding instead of the recipe's.
    #[arg(long)]
    pe: Option<PositionEmbedding>,
    #[command(flatten)]
    pub train: TrainArgs,
}

/// Trains.
pub fn pretrain(args: &PretrainArgs) -> Result<()> {
    args.train.with_recipe(|options| training::pretrain(args.pe, options))
}
