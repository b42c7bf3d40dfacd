//! Products of matrices in bf16 with sums in f32, by the tile instructions of Intel's processors (AMX; Sapphire Rapids, 2023, and
//! later).
//!
//! A tile holds 16 rows of 64 bytes. One instruction adds to a tile of 16 · 16 sums the products of two tiles of 16 · 32 numbers:
//! eight times as many a second as f32's vectors compute. Intel, Software Developer's Manual, volume 1, chapter 18.
//!
//! The unsafe code is here, so that other crates need none: they check [`is_available`], pack two matrices, and multiply them.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod pack;
mod processor;
mod tiles;

pub use self::pack::{Left, Matrix, Right};
pub use self::processor::is_available;
pub use self::tiles::{PANEL, multiply};

#[cfg(test)]
mod tests;
