//! Arguments of training.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::device::DeviceChoice;
use crate::recipe::Recipe;
use crate::sweep::at_least_one;
use crate::train;

#[derive(Args)]
pub struct Train {
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
    /// Pause after this update: the model so far is in the folder `checkpoint` in --out, and --resume goes on.
    #[arg(long, value_parser = at_least_one)]
    until: Option<usize>,
}

impl Train {
    /// Reads the recipe and trains.
    pub fn run(&self, train: impl FnOnce(&train::TrainOptions) -> Result<()>) -> Result<()> {
        train(&train::TrainOptions {
            recipe: &Recipe::read(&self.recipe)?,
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
