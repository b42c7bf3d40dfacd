//! Products of matrices in bf16 with sums in f32, by the instructions that processors have for them: the tiles of Intel's (AMX;
//! Sapphire Rapids, 2023, and later), or vectors of 512 bits (AVX512-BF16; AMD's from Zen 4, 2022, on).
//!
//! Other crates check [`is_available`], pack two matrices (or round a right one to tiles of bf16 themselves), and multiply them. Where tiles
//! are, numbers can be split into [`Pieces`], so that products have the precision of f32 and still take less time than by f32's vectors.

mod pack;
mod pieces;
mod processor;
mod product;
mod tiles;
mod vectors;

pub use self::pack::{Left, PANEL, Right, Tile};
pub use self::pieces::{Pieces, piece_of_two};
pub use self::processor::is_available;
pub use self::product::{PART, Part, multiply_by_columns, multiply_by_rows, multiply_part};

#[cfg(test)]
mod tests;
