//! Products by the instructions that processors have for them: matrices in f32 and in bf16, and dot products of bytes.
//!
//! The unsafe code is here, so that other crates need none.

#[cfg(target_arch = "x86_64")]
pub mod bf16;
pub mod bytes;
pub mod f32s;
pub mod halves;
mod matrix;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub mod small;

pub use self::matrix::Matrix;
