//! The loop that `core eval niah`, `core eval ppl` and `core probe` share: plan, look up what is known, measure what is
//! missing, add it to the file, print it.

use anyhow::{Result, ensure};
use drope_core::results::{ResultCell, Shard};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::results_file;
use crate::arguments::Sweep;
use crate::threads::Workers;
use crate::{files, interrupt};

/// What is measured at once: a cell, or the cells of all heads.
pub trait Measurement: Sync {
    /// A result.
    type Cell: ResultCell + Serialize + DeserializeOwned + Clone;
    /// The outcome of one question or text.
    type Outcome: Send;

    /// For the progress bar.
    fn title(&self) -> String;

    /// Numbers of the questions or texts.
    fn samples(&self) -> &[usize];

    /// The results of this measurement among the known ones; empty if it was not measured yet.
    fn find(&self, known: &[Self::Cell]) -> Vec<Self::Cell>;

    /// Measures one question or text.
    fn sample(&self, index: usize) -> Result<Self::Outcome>;

    /// Computes the results from the outcomes, which are in the order of the samples.
    fn cells(&self, outcomes: Vec<Self::Outcome>) -> Result<Vec<Self::Cell>>;

    /// Prints a line of results.
    fn print(&self, cells: &[Self::Cell]);
}

/// Numbers of the questions or texts of a shard.
///
/// # Errors
/// If the shard has none.
pub fn samples_of(shard: Shard, count: usize, what: &str) -> Result<Vec<usize>> {
    let samples: Vec<usize> = shard.trials(count).collect();
    ensure!(!samples.is_empty(), "this shard has none of the {count} {what}; use fewer shards");
    Ok(samples)
}

/// Makes the measurements that the file does not hold, and writes the file after each, so that a stopped command goes on where
/// it was. Returns the results of all.
pub fn measure<M: Measurement>(sweep: &Sweep, threads: usize, measurements: &[M]) -> Result<Vec<M::Cell>> {
    interrupt::watch()?;
    let json = sweep.json.as_deref();
    if let Some(path) = json {
        files::check_writable(path)?;
    }
    let known = results_file::read(json)?;
    let stopped = match json {
        Some(_) => "stopped; the same command goes on with the next cell",
        None => "stopped; nothing is kept without --json",
    };
    let workers = Workers::new(threads)?;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {eta} left")?;
    let mut all = Vec::new();
    for measurement in measurements {
        let mut cells = measurement.find(&known);
        if cells.is_empty() {
            let bar = ProgressBar::new(measurement.samples().len() as u64).with_style(style.clone());
            bar.set_message(measurement.title());
            let outcomes =
                workers.map(measurement.samples(), stopped, |&index| measurement.sample(index).inspect(|_| bar.inc(1)));
            bar.finish_and_clear();
            cells = measurement.cells(outcomes?)?;
            results_file::append(json, &cells)?;
        }
        measurement.print(&cells);
        all.extend(cells);
    }
    Ok(all)
}
