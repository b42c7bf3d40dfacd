//! Factors, rounded to bf16 and put into the order in which tiles are loaded. Vectors read the same order.
//!
//! A panel is 32 rows of the left factor, or 32 columns of the right one, with all of their k numbers, 32 at a time: two tiles, one
//! behind the other, of each piece, the first pieces first. A word is two numbers that follow each other along k. A tile of the left
//! factor has a row of 16 words for each of its rows; one of the right factor has a row for each pair of k with a word for each column. So
//! one is the other's transpose.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::pieces::{Pieces, interleaved, pieces_of};
use super::processor::is_available;
use crate::Matrix;

/// Words along each side of a tile.
pub(crate) const SIDE: usize = 16;
/// Numbers along k in a tile.
pub(crate) const DEPTH: usize = 2 * SIDE;
/// Words of the two tiles that a panel has of a piece for 32 numbers along k.
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
    pub(crate) pieces: Pieces,
    words: Vec<u32>,
}

/// Which factor a tile is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Left {
    /// Rounds and orders some rows of a matrix.
    ///
    /// # Panics
    /// If the matrix has not all of these rows, or the processor does not multiply so many pieces.
    pub fn pack(matrix: Matrix<'_>, rows: Range<usize>, pieces: Pieces) -> Self {
        Self(Packed::new(matrix, Side::Left, rows, pieces))
    }
}

impl Right {
    /// Rounds and orders some columns of a matrix.
    ///
    /// # Panics
    /// If the matrix has not all of these columns, or the processor does not multiply so many pieces.
    pub fn pack(matrix: Matrix<'_>, columns: Range<usize>, pieces: Pieces) -> Self {
        Self(Packed::new(matrix, Side::Right, columns, pieces))
    }

    /// A factor `[k, columns]` that somebody else rounded: for each [`PANEL`] columns, each 32 numbers along k and each piece the tile of the
    /// first 16 of these columns, then that of the others; what lies outside of the matrix is zero.
    ///
    /// # Panics
    /// If the number of tiles is another.
    pub fn from_tiles(tiles: Vec<Tile>, [k, columns]: [usize; 2], pieces: Pieces) -> Self {
        assert_eq!(
            tiles.len(),
            2 * columns.div_ceil(PANEL) * k.div_ceil(DEPTH) * pieces.count(),
            "a matrix of {k} rows and {columns} columns"
        );
        Self(Packed { outer: columns, k, pieces, words: tiles.into_flattened().into_flattened() })
    }

    /// n.
    pub fn columns(&self) -> usize {
        self.0.outer
    }
}

impl Packed {
    fn new(matrix: Matrix<'_>, side: Side, outer: Range<usize>, pieces: Pieces) -> Self {
        assert!(is_available(pieces), "the processor does not multiply {pieces:?} of bf16");
        let [rows, columns] = matrix.shape();
        let (whole, k) = if side == Side::Left { (rows, columns) } else { (columns, rows) };
        assert!(outer.start <= outer.end && outer.end <= whole, "{outer:?} of {whole} rows or columns");
        let words = match pieces {
            Pieces::One => words::<1>(matrix, side, &outer),
            Pieces::Two => words::<2>(matrix, side, &outer),
            Pieces::Three => words::<3>(matrix, side, &outer),
        };
        Self { outer: outer.len(), k, pieces, words }
    }

    pub(crate) fn panels(&self) -> usize {
        self.outer.div_ceil(PANEL)
    }

    /// The words of a panel.
    pub(crate) fn panel(&self, index: usize) -> &[u32] {
        let size = self.k.div_ceil(DEPTH) * self.pieces.count() * PAIR;
        &self.words[index * size..(index + 1) * size]
    }
}

/// The tiles of all pieces of a panel for 32 numbers along k, which are to be written: of each piece two.
type Block<const P: usize> = [[[MaybeUninit<[u32; SIDE]>; SIDE]; 2]; P];

/// The words of all panels.
fn words<const P: usize>(matrix: Matrix<'_>, side: Side, outer: &Range<usize>) -> Vec<u32> {
    let [rows, columns] = matrix.shape();
    let k = if side == Side::Left { columns } else { rows };
    let blocks = k.div_ceil(DEPTH);
    let count = outer.len().div_ceil(PANEL) * blocks;
    let mut words: Vec<[u32; SIDE]> = Vec::with_capacity(count * P * 2 * SIDE);
    let (room, _) = words.spare_capacity_mut().as_chunks_mut::<SIDE>();
    let room: &mut [Block<P>] = room.as_chunks_mut().0.as_chunks_mut().0;
    for_each(&mut room[..count], |at, block| {
        let first = outer.start + at / blocks * PANEL;
        let middle = outer.end.min(first + SIDE);
        let k = at % blocks * DEPTH..k.min((at % blocks + 1) * DEPTH);
        for (half, outer) in [first..middle, middle..outer.end.min(first + PANEL)].into_iter().enumerate() {
            let place = Place { outer, k: k.clone() };
            // SAFETY: where bf16 is multiplied, the instructions are available that this function is compiled for.
            unsafe { write_tiles(matrix, &place, side, block, half) };
        }
    });
    // SAFETY: there is room for as many, and every row of both halves of every block was written.
    unsafe { words.set_len(count * P * 2 * SIDE) };
    words.into_flattened()
}

/// Calls `work` for each block, by the threads of the caller's pool where there are many.
fn for_each<T: Send>(blocks: &mut [T], work: impl Fn(usize, &mut T) + Send + Sync) {
    /// A thread with fewer would be done before another begins.
    #[cfg(feature = "threads")]
    const FEWEST: usize = 128;
    #[cfg(feature = "threads")]
    if blocks.len() >= 2 * FEWEST {
        use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
        blocks.par_iter_mut().with_min_len(FEWEST).enumerate().for_each(|(at, block)| work(at, block));
        return;
    }
    blocks.iter_mut().enumerate().for_each(|(at, block)| work(at, block));
}

/// What a tile holds of a factor.
struct Place {
    outer: Range<usize>,
    k: Range<usize>,
}

/// Writes one tile of each piece; what lies outside of the matrix is zero.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn write_tiles<const P: usize>(matrix: Matrix<'_>, place: &Place, side: Side, block: &mut Block<P>, half: usize) {
    // Along the rows of the matrix runs k for one of the factors, and for the transpose of the other.
    let k_along_rows = (side == Side::Left) != matrix.transposed;
    let row_at = |at: usize| -> [[u32; SIDE]; P] {
        if k_along_rows {
            let row = place.outer.start + at;
            if row >= place.outer.end {
                return [[0; SIDE]; P];
            }
            let numbers: [f32; DEPTH] = filled_up(&matrix.values[row * matrix.columns..][place.k.clone()]);
            return pieces_of(numbers.as_chunks().0.first_chunk().expect("two vectors"));
        }
        let row = |row: usize| match matrix.values.get(row * matrix.columns..) {
            Some(values) if row < place.k.end => filled_up(&values[place.outer.clone()]),
            _ => [0.0; SIDE],
        };
        let first = place.k.start + 2 * at;
        pieces_of(&[row(first), row(first + 1)]).map(|words| interleaved(&words))
    };
    if k_along_rows == (side == Side::Left) {
        for at in 0..SIDE {
            for (tiles, words) in block.iter_mut().zip(row_at(at)) {
                tiles[half][at].write(words);
            }
        }
        return;
    }
    let mut tiles: [Tile; P] = [[[0; SIDE]; SIDE]; P];
    for at in 0..SIDE {
        for (tile, words) in tiles.iter_mut().zip(row_at(at)) {
            tile[at] = words;
        }
    }
    for (block, tile) in block.iter_mut().zip(&tiles) {
        for (row, words) in block[half].iter_mut().zip(transpose(tile)) {
            row.write(words);
        }
    }
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
