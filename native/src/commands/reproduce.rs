//! `core reproduce`: runs the plan of the papers' tables and figures, then writes them and the documents from its results.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Command};
use drope_core::results::Shard;

use crate::arguments::at_least_one;
use crate::queue::{self, PlanRun};
use crate::threads;

/// Arguments of `core reproduce`.
#[derive(Args)]
pub struct ReproduceArgs {
    /// Plan that trains and measures.
    #[arg(long, default_value = "recipes/reproduction.toml")]
    plan: PathBuf,
    /// Folder for the report, and for what the plan trains and measures; the same command goes on with a run that was stopped.
    #[arg(long)]
    out: PathBuf,
    /// Jobs at once, each with one thread.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    threads: usize,
    /// Train and measure nothing: write the report from the results files.
    #[arg(long)]
    render: bool,
    /// Folder of the results files for --render; default: results in --out.
    #[arg(long, requires = "render")]
    data: Option<PathBuf>,
    /// Also write the tables and findings of README.md, docs/findings.md, docs/results/README.md, the study and the real models in
    /// this folder.
    #[arg(long)]
    documents: Option<PathBuf>,
}

/// Runs the jobs of the plan that are not done yet, and writes what there are results for; `parser` is that of the command line.
pub fn reproduce(args: &ReproduceArgs, parser: &Command) -> Result<()> {
    let ReproduceArgs { plan, out, threads, .. } = args;
    if !args.render {
        queue::run_plan(&PlanRun { plan, out, threads: *threads, shard: Shard::WHOLE, parser })?;
    }
    let data = args.data.clone().unwrap_or_else(|| out.join("results"));
    drope_report::write_reproduction(&data, out)?;
    if let Some(root) = &args.documents {
        drope_report::write_documents(&data, root)?;
    }
    println!("\nthe report is {}", out.join("README.md").display());
    Ok(())
}
