//! How the numbers of a model are kept in memory, as arguments of commands that read it.

use clap::Args;
use drope_core::model::{NumberType, NumberTypes};

#[derive(Args)]
pub struct NumberArgs {
    /// How weights are kept in memory: f32, f16, bf16 or q8 (8 bits); other than f32 not with CUDA.
    #[arg(long, default_value = "f32")]
    weights: NumberType,
    /// How keys and values are kept in memory: f32, f16, bf16 or q8 (8 bits); other than f32 on the CPU alone.
    #[arg(long, default_value = "f32")]
    cache: NumberType,
}

impl Default for NumberArgs {
    fn default() -> Self {
        Self { weights: NumberType::F32, cache: NumberType::F32 }
    }
}

impl NumberArgs {
    pub fn types(&self) -> NumberTypes {
        NumberTypes { weights: self.weights, cache: self.cache }
    }
}
