//! A job of a plan.

use super::command::JobCommand;

/// A job with the values of its variables.
pub struct PlannedJob {
    pub name: String,
    /// Indices of the jobs that must be done before.
    pub after: Vec<usize>,
    pub command: JobCommand,
    pub cost: f64,
    /// Hash of all that decides on its results, and of the keys of the jobs before it.
    pub key: String,
    /// Index of the first entry of `first` whose values the job has; larger than all others if there is none.
    pub(super) priority: usize,
    /// Index of the job's value of the plan's first variable; larger than all others if the job does not use it.
    pub(super) group: usize,
}
