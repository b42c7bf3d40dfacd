//! `core study`: runs a plan of this program's commands, several at once, resumably.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Command};
use drope_core::results::Shard;

use crate::arguments::at_least_one;
use crate::queue::{self, PlanRun};
use crate::threads;

/// Arguments of `core study`.
#[derive(Args)]
pub struct StudyArgs {
    /// Plan, a TOML file of jobs: commands of this program.
    #[arg(long)]
    pub plan: PathBuf,
    /// Folder for logs and records, and what {out} stands for in commands; the same command goes on with a study that was
    /// stopped.
    #[arg(long)]
    pub out: PathBuf,
    /// Jobs at once, each with one thread.
    #[arg(long, default_value_t = threads::available(), value_parser = at_least_one)]
    pub threads: usize,
    /// Run only this part of the jobs, such as 1/2; jobs that depend on each other stay together.
    #[arg(long, default_value = "1/1")]
    pub shard: Shard,
    /// Print the jobs in their order, and which of them are done, and run nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs the jobs of the plan that are not done yet, or lists them; `parser` is that of the command line.
pub fn study(args: &StudyArgs, parser: &Command) -> Result<()> {
    let run = PlanRun { plan: &args.plan, out: &args.out, threads: args.threads, shard: args.shard, parser };
    if args.dry_run { queue::list_plan(&run) } else { queue::run_plan(&run) }
}
