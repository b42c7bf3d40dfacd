//! What DroPE needs to run: the model, the position methods, generation and the retrieval tasks.
//!
//! No I/O, no clock and no blocking read of a tensor, so that the same code runs natively and in a browser tab. Threads are those of the
//! caller's pool, with the feature `threads`. The optimizer's `to_bytes` blocks, which only a worker or a native program calls.
#![warn(missing_docs)]

#[cfg(feature = "statistics")]
pub mod benchmarks;
#[cfg(feature = "model")]
pub mod chat;
pub mod config;
#[cfg(all(feature = "model", feature = "statistics"))]
pub mod dope;
pub mod error;
pub mod export;
#[cfg(feature = "model")]
pub mod generate;
#[cfg(feature = "model")]
pub mod gguf;
#[cfg(feature = "model")]
pub mod hash;
#[cfg(feature = "model")]
pub mod kernels;
pub mod language;
mod left_out;
#[cfg(feature = "model")]
pub mod loaded_model;
pub mod longrope2;
#[cfg(feature = "model")]
pub mod model;
mod names;
pub mod niah;
pub mod perplexity;
pub mod positions;
pub mod probe;
#[cfg(feature = "model")]
mod read_back;
pub mod results;
pub mod stats;
pub mod token_shards;
#[cfg(feature = "model")]
pub mod tokenizer;
#[cfg(feature = "train")]
pub mod train;
pub mod tune;

#[cfg(feature = "model")]
pub use burn;
pub use error::{Error, Result};
