//! Arguments that `pretrain` and `recalibrate` share.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::arguments::{at_least_one, training_tokens};
use crate::device::DeviceChoice;
use crate::threads;
use crate::training::{SAVE_EVERY, TrainOptions, recipe};

/// A run and how to train it.
#[derive(Args)]
pub struct TrainArgs {
    /// Recipe, a TOML file.
    #[arg(long)]
    recipe: PathBuf,
    /// Fields of the recipe in place of its own, such as schedule.peak=2e-3,drop.layers=[3,7]; tables are separated by points.
    #[arg(long, value_name = "FIELD=VALUE", value_parser = recipe::settings)]
    set: Vec<recipe::Settings>,
    /// Tokens to train on, such as 250k (250,000) or 1m, in place of the recipe's steps; the warm-up is then a tenth of the updates at most.
    #[arg(long, value_parser = training_tokens)]
    tokens: Option<usize>,
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
    /// NVIDIA cards of this machine that share the rows of each batch, with --device cuda. Not yet run on more than one card.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    gpus: usize,
    /// CPU threads that compute: they share the rows of a batch and the kernels; the result depends on their number in the last bits.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
    /// Updates between checkpoints; one is also written ten minutes after the last.
    #[arg(long, default_value_t = SAVE_EVERY, value_parser = at_least_one)]
    save_every: usize,
    /// Checkpoints that are kept: the last, and of those before it `checkpoint-STEP`, each a model's folder that can be read.
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    keep: usize,
    /// Pause after this update: the model so far is in the folder `checkpoint` in --out, and --resume goes on.
    #[arg(long, value_parser = at_least_one)]
    until: Option<usize>,
}

impl TrainArgs {
    /// Threads of the pool that shares batches and kernels: one for each card at least.
    pub fn pool_threads(&self) -> usize {
        self.threads.max(self.gpus)
    }

    /// Reads the recipe and trains.
    pub fn with_recipe(&self, train: impl FnOnce(&TrainOptions) -> Result<()>) -> Result<()> {
        let written = self.out.join(recipe::FILE);
        ensure!(
            written.canonicalize().ok().is_none_or(|written| self.recipe.canonicalize().ok() != Some(written)),
            "the run itself writes {}; move the recipe out of --out",
            written.display()
        );
        let mut recipe = recipe::read(&self.recipe, &self.set.concat())?;
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        if let Some(tokens) = self.tokens {
            recipe.steps = (tokens / recipe.tokens_of_update()).max(1);
            recipe.schedule.warmup = recipe.schedule.warmup.min(recipe.steps / 10);
            recipe.check()?;
        }
        train(&TrainOptions {
            recipe: &recipe,
            out: &self.out,
            resume: self.resume,
            device: self.device,
            gpus: self.gpus,
            save_every: self.save_every,
            keep: self.keep,
            until: self.until,
        })
    }
}
