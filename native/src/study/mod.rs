//! `core study`: a queue of this program's own commands, which goes on where it was stopped.

mod child;
mod command;
mod expand;
mod graph;
mod plan;
mod progress;
mod queue;
mod record;

use std::path::PathBuf;

use anyhow::Result;

use self::plan::PlannedJob;
use self::record::{Records, State};
use crate::cli::StudyArgs;

/// Runs the jobs of a plan that are not done yet, or lists them.
pub fn study(args: &StudyArgs) -> Result<()> {
    // Without a slash at its end.
    let out: PathBuf = args.out.components().collect();
    let jobs = plan::read(&args.plan, &out)?;
    let mine = graph::shard(&jobs, args.shard);
    let records = Records::new(&out);
    if args.dry_run { list(&jobs, &mine, &records) } else { queue::run(&jobs, &mine, &records, args.threads) }
}

fn list(jobs: &[PlannedJob], mine: &[usize], records: &Records) -> Result<()> {
    let width = mine.iter().map(|&index| jobs[index].name.len()).max().unwrap_or_default();
    for PlannedJob { name, key, command, .. } in mine.iter().map(|&index| &jobs[index]) {
        let state = match records.state(name, key)? {
            State::New => "new",
            State::Changed => "changed",
            State::Started { .. } => "started",
            State::Done { .. } => "done",
        };
        println!("{name:width$}  {state:7}  core {}", command.words.join(" "));
    }
    Ok(())
}
