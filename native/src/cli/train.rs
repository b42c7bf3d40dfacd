//! Arguments of training: `pretrain`, `recalibrate`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::at_least_one;
use crate::device::DeviceChoice;
use crate::recipe;
use crate::{threads, train};
use drope_core::train::recipe::PositionEmbedding;

#[derive(Args)]
pub struct PretrainArgs {
    /// Position embedding instead of the recipe's.
    #[arg(long)]
    pe: Option<PositionEmbedding>,
    #[command(flatten)]
    train: TrainArgs,
}

impl PretrainArgs {
    pub fn execute(self) -> Result<()> {
        self.train.with_recipe(|options| train::pretrain(self.pe, options))
    }
}

#[derive(Args)]
pub struct RecalibrateArgs {
    /// Folder of the trained model.
    #[arg(long)]
    from: PathBuf,
    #[command(flatten)]
    train: TrainArgs,
}

impl RecalibrateArgs {
    pub fn execute(self) -> Result<()> {
        self.train.with_recipe(|options| train::recalibrate(&self.from, options))
    }
}

#[derive(Args)]
struct TrainArgs {
    /// Recipe, a TOML file.
    #[arg(long)]
    recipe: PathBuf,
    /// Seed of the weights and of the documents, instead of the recipe's.
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for the model, its loss curve and, until it is done, the checkpoint.
    #[arg(long)]
    out: PathBuf,
    /// Go on from the checkpoint in --out.
    #[arg(long)]
    resume: bool,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute: they share the rows of a batch; the result depends on their number in the last bits.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
    /// Updates between checkpoints.
    #[arg(long, default_value_t = 200)]
    save_every: usize,
    /// Pause after this update: the model so far is in the folder `checkpoint` in --out, and --resume goes on.
    #[arg(long, value_parser = at_least_one)]
    until: Option<usize>,
}

impl TrainArgs {
    /// Reads the recipe and trains.
    fn with_recipe(&self, train: impl FnOnce(&train::TrainOptions) -> Result<()>) -> Result<()> {
        let mut recipe = recipe::read(&self.recipe)?;
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        train(&train::TrainOptions {
            recipe: &recipe,
            out: &self.out,
            resume: self.resume,
            device: self.device,
            threads: self.threads,
            save_every: self.save_every.max(1),
            until: self.until,
            how_to_go_on: "go on with --resume",
        })
    }
}
