//! Benchmarks of others, for real models: RULER, LongBench and multiple choice.

pub mod choice;
pub mod longbench;
mod results;
pub mod ruler;

pub use self::results::{Answer, Benchmark, BenchmarkCell, merge};
