//! Models read under position methods: which ones, the loop that measures them, and the files of results.

mod answer;
pub mod held_out;
mod kept;
mod measure;
mod model;
pub mod results_file;

pub use self::answer::{answer, question_seed};
pub use self::measure::{Measurement, measure, samples_of};
pub use self::model::{MeasuredModel, PlannedReading, load, positions_at, readings};
