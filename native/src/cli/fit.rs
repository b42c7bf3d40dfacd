//! Arguments of the commands that fit something to held-out text: `fit-scale`, `search`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use drope_core::longrope2::Bounds;

use super::{above_zero, at_least_one};
use crate::device::DeviceChoice;
use crate::{fit_scale, search, threads};

#[derive(Args)]
pub struct FitScaleArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// One temperature for all heads, or one for each.
    #[arg(long, value_enum, default_value = "uniform")]
    kind: fit_scale::Kind,
    /// Number of documents for each length.
    #[arg(long, default_value = "16", value_parser = at_least_one)]
    documents: usize,
    /// Seed of the documents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

impl FitScaleArgs {
    pub fn execute(self) -> Result<()> {
        fit_scale::fit_and_save(&self.model, self.kind, self.documents, self.seed, self.device)
    }
}

#[derive(Subcommand)]
pub enum Search {
    /// Factors for LongRoPE by evolution, with critical dimension (LongRoPE2).
    Longrope2(SearchArgs),
}

#[derive(Args)]
pub struct SearchArgs {
    /// Folder of the model.
    #[arg(long)]
    model: PathBuf,
    /// Folder for the model with the factors in its config, and for the state of the search; a search that was stopped
    /// goes on.
    #[arg(long)]
    out: PathBuf,
    /// Extension factor.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..))]
    factor: u64,
    /// Smallest factor of the frequencies that do not rotate once within the training context, as a multiple of
    /// --factor; at most 1.
    #[arg(long, default_value_t = Bounds::default().lowest, value_parser = above_zero)]
    lowest: f64,
    /// Largest factor of the same frequencies, also as a multiple of --factor; at least 1.
    #[arg(long, default_value_t = Bounds::default().highest, value_parser = above_zero)]
    highest: f64,
    /// Generations of 64 candidates.
    #[arg(long, default_value = "40", value_parser = at_least_one)]
    generations: usize,
    /// Documents that candidates are judged by.
    #[arg(long, default_value = "4", value_parser = at_least_one)]
    texts: usize,
    /// Seed of the search and of the documents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
}

impl SearchArgs {
    pub fn execute(self) -> Result<()> {
        let Self { model, out, factor, lowest, highest, generations, texts, seed, device, threads: _ } = self;
        ensure!(
            lowest <= 1.0 && (1.0..=100.0).contains(&highest),
            "--lowest is {lowest} and --highest {highest}, but they must be at most 1 and from 1 to 100"
        );
        let (factor, bounds) = (factor as usize, Bounds { lowest, highest });
        search::longrope2(&search::SearchOptions { model, out, factor, bounds, generations, texts, seed, device })
    }
}
