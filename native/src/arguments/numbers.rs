//! How the numbers of a model are kept in memory, as arguments of commands that read it.

use clap::Args;
use drope_core::model::{ComputeType, NumberType, NumberTypes, WeightType};

#[derive(Args, Default)]
pub struct NumberArgs {
    /// How weights are kept in memory: f32, f16, bf16, q8 (8 bits), or stored (as the file has them, such as the 4 bits of a GGUF; on a GPU
    /// at least 8).
    #[arg(long, default_value_t)]
    weights: WeightType,
    /// How keys and values are kept in memory: f32, f16, bf16 or q8 (8 bits). On a GPU f32, and f16 and bf16 where it has such numbers.
    #[arg(long, default_value_t)]
    cache: NumberType,
    /// In what prompts are computed: f32 (weights of 4 to 8 bits on the CPU as integers, or with AMX in two pieces of bf16), or bf16 where the
    /// device has instructions for it (the CPU: AMX, AVX512-BF16). Answers, which are computed token by token, are computed as with f32.
    #[arg(long, default_value_t)]
    compute: ComputeType,
}

impl NumberArgs {
    pub fn types(&self) -> NumberTypes {
        NumberTypes { weights: self.weights, cache: self.cache, compute: self.compute }
    }
}
