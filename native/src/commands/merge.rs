//! `core merge`: the shards of each cell joined into one file.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;
use drope_core::benchmarks::{self, BenchmarkCell};
use drope_core::perplexity::{self, PerplexityCell};
use drope_core::results::{self, RetrievalCell};
use serde::de::DeserializeOwned;

use crate::files;

/// Arguments of `core merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// Files that `eval` wrote with --shard.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// File for the joined results.
    #[arg(long)]
    json: PathBuf,
}

/// Joins the shards of each cell, and writes all cells into one file, which must be a new one.
pub fn merge(MergeArgs { files: paths, json }: &MergeArgs) -> Result<()> {
    ensure!(!json.exists(), "{} is there already; choose another --json", json.display());
    let texts = paths.iter().map(|file| files::read_text(file)).collect::<Result<Vec<_>>>()?;
    let merged = if let Some(cells) = cells_of_all::<RetrievalCell>(&texts) {
        results::to_json(&results::merge(cells)?)
    } else if let Some(cells) = cells_of_all::<PerplexityCell>(&texts) {
        results::to_json(&perplexity::merge(cells)?)
    } else if let Some(cells) = cells_of_all::<BenchmarkCell>(&texts) {
        results::to_json(&benchmarks::merge(cells)?)
    } else {
        bail!("these files do not all hold results of one kind of `core eval`; merge one kind at a time")
    };
    files::write(json, merged?.as_bytes())
}

/// The cells of every file, if there are any and all are of this kind.
fn cells_of_all<T: DeserializeOwned>(texts: &[String]) -> Option<Vec<T>> {
    let lists: Result<Vec<Vec<T>>, _> = texts.iter().map(|text| serde_json::from_str(text)).collect();
    lists.ok().map(|lists| lists.into_iter().flatten().collect()).filter(|cells: &Vec<T>| !cells.is_empty())
}
