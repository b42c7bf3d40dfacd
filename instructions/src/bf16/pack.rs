//! Factors, rounded to bf16 and put into the order in which tiles are loaded. Vectors read the same order.
//!
//! A panel is 32 rows of the left factor, or 32 columns of the right one, with all of their k numbers, 32 at a time: two tiles, one
//! behind the other. A word is two numbers that follow each other along k. A tile of the left factor has a row of 16 words for each of
//! its rows; one of the right factor has a row for each pair of k with a word for each column. So one is the other's transpose.

use std::ops::Range;

use super::processor::is_available;
use crate::Matrix;

/// Words along each side of a tile.
pub(crate) const SIDE: usize = 16;
/// Numbers along k in a tile.
pub(crate) const DEPTH: usize = 2 * SIDE;
/// Words of the two tiles of a panel.
pub(crate) const PAIR: usize = 2 * SIDE * SIDE;

/// Rows or columns of a panel: two tiles, so that four tiles of sums share four tiles of factors.
pub const PANEL: usize = 2 * SIDE;

/// Words of a tile. One of a right factor has a row for each pair of numbers along k, and in it a word for each of 16 columns.
pub type Tile = [[u32; SIDE]; SIDE];

/// Sums of a panel of the left factor with one of the right.
pub(crate) type Sums = [[f32; PANEL]; PANEL];

/// A left factor `[m, k]`.
#[derive(Debug)]
pub struct Left(pub(crate) Packed);

/// A right factor `[k, n]`.
#[derive(Debug)]
pub struct Right(pub(crate) Packed);

/// Panels of a factor.
#[derive(Debug)]
pub(crate) struct Packed {
    /// Rows of the left factor, columns of the right one.
    pub(crate) outer: usize,
    pub(crate) k: usize,
    words: Vec<u32>,
}

/// Which factor a tile is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Left {
    /// Rounds and orders a matrix.
    pub fn pack(matrix: Matrix<'_>) -> Self {
        Self(Packed::new(matrix, Side::Left))
    }
}

impl Right {
    /// Rounds and orders a matrix.
    pub fn pack(matrix: Matrix<'_>) -> Self {
        Self(Packed::new(matrix, Side::Right))
    }

    /// A factor `[k, columns]` that somebody else rounded: for each [`PANEL`] columns and each 32 numbers along k the tile of the first 16 of
    /// these columns, then that of the others; what lies outside of the matrix is zero.
    ///
    /// # Panics
    /// If the number of tiles is another.
    pub fn from_tiles(tiles: Vec<Tile>, k: usize, columns: usize) -> Self {
        assert_eq!(
            tiles.len(),
            2 * columns.div_ceil(PANEL) * k.div_ceil(DEPTH),
            "a matrix of {k} rows and {columns} columns"
        );
        Self(Packed { outer: columns, k, words: tiles.into_flattened().into_flattened() })
    }

    /// n.
    pub fn columns(&self) -> usize {
        self.0.outer
    }
}

impl Packed {
    fn new(matrix: Matrix<'_>, side: Side) -> Self {
        assert!(is_available(), "the processor multiplies no bf16");
        let [rows, columns] = matrix.shape();
        let (outer, k) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
        let tiles = k.div_ceil(DEPTH) * 2;
        let count = outer.div_ceil(PANEL) * tiles;
        let tile_at = |at: usize| {
            let (panel, tile_of_panel) = (at / tiles, at % tiles);
            let first = outer.min(panel * PANEL + tile_of_panel % 2 * SIDE);
            let first_k = tile_of_panel / 2 * DEPTH;
            let place = Place { outer: first..outer.min(first + SIDE), k: first_k..k.min(first_k + DEPTH) };
            // SAFETY: where bf16 is multiplied, the instructions are available that this function is compiled for.
            unsafe { tile(matrix, &place, side) }
        };
        Self { outer, k, words: tiles_of(count, tile_at).into_flattened().into_flattened() }
    }

    pub(crate) fn panels(&self) -> usize {
        self.outer.div_ceil(PANEL)
    }

    /// The words of a panel.
    pub(crate) fn panel(&self, index: usize) -> &[u32] {
        let size = self.k.div_ceil(DEPTH) * PAIR;
        &self.words[index * size..(index + 1) * size]
    }
}

/// The tiles in order, by the threads of the caller's pool.
#[cfg(feature = "threads")]
fn tiles_of(count: usize, tile_at: impl Fn(usize) -> Tile + Send + Sync) -> Vec<Tile> {
    use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
    /// A thread with fewer would be done before another begins.
    const FEWEST: usize = 256;
    (0..count).into_par_iter().with_min_len(FEWEST).map(tile_at).collect()
}

/// The tiles in order.
#[cfg(not(feature = "threads"))]
fn tiles_of(count: usize, tile_at: impl Fn(usize) -> Tile) -> Vec<Tile> {
    (0..count).map(tile_at).collect()
}

/// What a tile holds of a factor.
struct Place {
    outer: Range<usize>,
    k: Range<usize>,
}

/// One tile; what lies outside of the matrix is zero.
#[target_feature(enable = "avx512f,avx512bw")]
fn tile(matrix: Matrix<'_>, place: &Place, side: Side) -> Tile {
    // Along the rows of the matrix runs k for one of the factors, and for the transpose of the other.
    let k_along_rows = (side == Side::Left) != matrix.transposed;
    let mut words: Tile = [[0; SIDE]; SIDE];
    if k_along_rows {
        for (words, row) in words.iter_mut().zip(place.outer.clone()) {
            let numbers: [f32; DEPTH] = filled_up(&matrix.values[row * matrix.columns..][place.k.clone()]);
            for (word, two) in words.iter_mut().zip(numbers.as_chunks::<2>().0) {
                *word = pair(two[0], two[1]);
            }
        }
    } else {
        let row = |row: usize| match matrix.values.get(row * matrix.columns..) {
            Some(values) if row < place.k.end => filled_up(&values[place.outer.clone()]),
            _ => [0.0; SIDE],
        };
        for (words, first) in words.iter_mut().zip(place.k.clone().step_by(2)) {
            for ((word, first), second) in words.iter_mut().zip(row(first)).zip(row(first + 1)) {
                *word = pair(first, second);
            }
        }
    }
    if k_along_rows == (side == Side::Left) { words } else { transpose(&words) }
}

/// The values, and zeros behind them.
#[inline(always)]
fn filled_up<const N: usize>(values: &[f32]) -> [f32; N] {
    // Most tiles are full, and a copy of known length is two instructions.
    if let Ok(all) = values.try_into() {
        return all;
    }
    let mut numbers = [0.0; N];
    numbers[..values.len()].copy_from_slice(values);
    numbers
}

#[inline(always)]
fn transpose(words: &Tile) -> Tile {
    let mut turned = [[0; SIDE]; SIDE];
    for (row, turned) in turned.iter_mut().enumerate() {
        for (turned, words) in turned.iter_mut().zip(words) {
            *turned = words[row];
        }
    }
    turned
}

/// Two numbers that follow each other along k, as a word of a tile.
#[inline(always)]
pub fn pair(first: f32, second: f32) -> u32 {
    to_bf16(first) | to_bf16(second) << 16
}

/// The upper 16 bits, rounded to nearest, ties to even; NaN stays NaN.
#[inline(always)]
fn to_bf16(number: f32) -> u32 {
    let bits = number.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if number.is_nan() { bits >> 16 | 0x40 } else { rounded }
}
