//! Benchmarks of others, for real models: RULER, LongBench and multiple choice.

#[cfg(feature = "benchmarks")]
pub mod choice;
#[cfg(feature = "benchmarks")]
pub mod longbench;
mod results;
#[cfg(feature = "benchmarks")]
pub mod ruler;

pub use self::results::{Answer, Benchmark, BenchmarkCell, merge};
