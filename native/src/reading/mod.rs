//! Models read under position methods: which ones, the loop that measures them, and the files of results.

mod answer;
pub mod bias_norms;
pub mod held_out;
mod measure;
mod model;
mod partial_answers;
pub mod results_file;
pub mod retrieval;

pub use self::measure::{Measurement, measure, samples_of};
pub use self::model::{MeasuredModel, PlannedReading, load, positions_at, readings};
