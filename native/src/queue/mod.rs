//! A queue of this program's own commands, which goes on where it was stopped.

mod child;
mod command;
mod expand;
mod graph;
mod job;
mod plan;
mod progress;
mod record;
mod runner;

use std::path::{Path, PathBuf};

use anyhow::Result;
use drope_core::results::Shard;

use self::job::PlannedJob;
use self::record::{Records, State};

/// What a run of a plan needs.
pub struct PlanRun<'a> {
    /// The plan, a TOML file.
    pub plan: &'a Path,
    /// Folder for logs and records, and what {out} stands for in commands.
    pub out: &'a Path,
    /// Jobs at once, each with one thread.
    pub threads: usize,
    /// Which of the jobs.
    pub shard: Shard,
    /// The parser of the command line, by which commands are checked before anything runs.
    pub parser: &'a clap::Command,
}

/// Runs the jobs of a plan that are not done yet.
pub fn run_plan(run: &PlanRun) -> Result<()> {
    let (jobs, mine, records) = read(run)?;
    runner::run(&jobs, &mine, &records, run.threads)
}

/// Prints the jobs in their order, and which of them are done.
pub fn list_plan(run: &PlanRun) -> Result<()> {
    let (jobs, mine, records) = read(run)?;
    list(&jobs, &mine, &records)
}

fn read(run: &PlanRun) -> Result<(Vec<PlannedJob>, Vec<usize>, Records)> {
    // Without a slash at its end.
    let out: PathBuf = run.out.components().collect();
    let jobs = plan::read(run.plan, &out, run.parser)?;
    let mine = graph::shard(&jobs, run.shard);
    let records = Records::new(&out);
    Ok((jobs, mine, records))
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
