//! Arguments of the commands that make something of results: `reproduce`, `merge`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::at_least_one;
use crate::device::DeviceChoice;
use crate::{reproduce, threads};

#[derive(Args)]
pub struct ReproduceArgs {
    /// Folder for the report.
    #[arg(long)]
    out: PathBuf,
    /// Minutes in place of hours: few questions, nothing trained.
    #[arg(long)]
    quick: bool,
    /// Measure and train nothing: write again what can be made from the results files.
    #[arg(long, conflicts_with = "quick")]
    render: bool,
    /// Folder of results files, which are added to; what they hold is not measured again; default: data in --out.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Folder of the shipped models; what other models a section needs is trained into models in --out.
    #[arg(long, default_value = "models")]
    models: PathBuf,
    /// Folder of the recipes.
    #[arg(long, default_value = "recipes")]
    recipes: PathBuf,
    #[arg(long, value_delimiter = ',', help = format!("Only these sections: {}", reproduce::section_names()))]
    only: Vec<String>,
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceChoice,
    /// CPU threads that compute: questions or texts at a time; training uses one.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
}

impl ReproduceArgs {
    pub fn execute(self) -> Result<()> {
        let Self { out, quick, render, data, models, recipes, only, device, threads } = self;
        let data = data.unwrap_or_else(|| out.join("data"));
        reproduce::run(&reproduce::ReproduceOptions {
            out,
            data,
            models,
            recipes,
            quick,
            render,
            only,
            device,
            threads,
        })
    }
}

#[derive(Args)]
pub struct MergeArgs {
    /// Files that `eval` wrote with --shard.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// File for the whole.
    #[arg(long)]
    pub json: PathBuf,
}
