//! The loop that all measurements share: plan, look up what is known, measure what is missing, add it to the file, print it.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use drope_core::results::{ResultCell, Shard};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::partial_answers::PartialAnswers;
use super::results_file;
use crate::arguments::Sweep;
use crate::progress::Progress;
use crate::threads::Workers;
use crate::{files, interrupt};

/// What is measured at once: a cell, or the cells of all heads.
pub trait Measurement: Sync {
    /// A result.
    type Cell: ResultCell + Serialize + DeserializeOwned + Clone;
    /// The outcome of one question or text.
    type Outcome: Send + Serialize + DeserializeOwned;

    /// For the progress bar.
    fn title(&self) -> String;

    /// A cell without its results, which says what is measured.
    fn blank(&self) -> &Self::Cell;

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
    interrupt::watch();
    let json = sweep.json.as_deref();
    if let Some(path) = json {
        files::check_writable(path)?;
    }
    let known = results_file::read(json)?;
    let stopped = match json {
        Some(_) => "stopped; the same command goes on with the next question",
        None => "stopped; nothing is kept without --json",
    };
    let workers = Workers::new(threads)?;
    let mut all = Vec::new();
    for measurement in measurements {
        let mut cells = measurement.find(&known);
        if cells.is_empty() {
            let kept =
                json.map(|json| PartialAnswers::open(json, measurement.blank(), measurement.samples())).transpose()?;
            cells = measurement.cells(outcomes(measurement, &workers, stopped, kept.as_ref())?)?;
            results_file::append(json, &cells)?;
            kept.map_or(Ok(()), |kept| kept.remove())?;
        }
        measurement.print(&cells);
        all.extend(cells);
    }
    Ok(all)
}

/// What every question or text gives, in their order: what an earlier run has kept, and the rest measured now.
fn outcomes<M: Measurement>(
    measurement: &M,
    workers: &Workers,
    stopped: &str,
    kept: Option<&PartialAnswers>,
) -> Result<Vec<M::Outcome>> {
    let mut found: HashMap<usize, M::Outcome> = kept.map_or_else(|| Ok(HashMap::new()), PartialAnswers::outcomes)?;
    let samples = measurement.samples();
    let missing: Vec<usize> = samples.iter().copied().filter(|index| !found.contains_key(index)).collect();
    let bar = Progress::of_items(samples.len())?;
    bar.set_message(measurement.title());
    bar.go_on_from((samples.len() - missing.len()) as u64);
    let measured = workers.map(&missing, stopped, |&index| {
        let outcome = measurement.sample(index)?;
        // After Ctrl-C an answer may lack its end.
        if let Some(kept) = kept.filter(|_| !interrupt::requested()) {
            kept.add(index, &outcome)?;
        }
        bar.inc(1);
        Ok(outcome)
    });
    bar.finish_and_clear();
    found.extend(missing.iter().copied().zip(measured?));
    let outcomes: Option<Vec<M::Outcome>> = samples.iter().map(|index| found.remove(index)).collect();
    outcomes.context("a question was measured twice")
}
