//! Tiles of queries and keys, and the matrices that their products are made of.

use pulp::Simd;

use crate::kernels::product::{Left, Sizes, multiply};

/// Queries of a tile.
pub(super) const ROWS: usize = 48;
/// Keys of a tile.
pub(super) const KEYS: usize = 64;
/// Number of rows that are transposed at once.
const TRANSPOSED_ROWS: usize = 16;

/// The place of a tile.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) batch: usize,
    pub(super) head: usize,
    /// Its first query and its number of queries.
    pub(super) query: usize,
    pub(super) rows: usize,
    /// Its first key.
    pub(super) key: usize,
}

/// Keys or values of a head, transposed tile by tile: `[tiles, head_dim, KEYS]`, of which `len` columns are filled. If each row held all
/// keys, the rows of one tile would lie a multiple of 256 bytes apart, often a large power of two, and share a few sets of the first cache.
pub(super) struct Columns {
    values: Vec<f32>,
    head_dim: usize,
    width: usize,
    pub(super) len: usize,
}

impl Columns {
    /// Transposes rows `[len, head_dim]` that are `row_stride` apart. `width` is the width of the rows that they will
    /// be multiplied with.
    pub(super) fn new((rows, row_stride): (&[f32], usize), [len, head_dim]: [usize; 2], width: usize) -> Self {
        let mut values = vec![0.0; head_dim * len.next_multiple_of(KEYS)];
        // As many rows at once as a cache line has numbers, so that whole lines are written.
        for first in (0..len).step_by(TRANSPOSED_ROWS) {
            let rows = &rows[first * row_stride..];
            let transposed = TRANSPOSED_ROWS.min(len - first);
            let tile = &mut values[first / KEYS * KEYS * head_dim..][..KEYS * head_dim];
            for (column, values) in tile.chunks_exact_mut(KEYS).enumerate() {
                for (at, value) in values[first % KEYS..][..transposed].iter_mut().enumerate() {
                    *value = rows[at * row_stride + column];
                }
            }
        }
        Self { values, head_dim, width, len }
    }

    /// Rows `[rows, width]` times the columns of a tile: `[rows, KEYS]`.
    #[inline(always)]
    pub(super) fn product<S: Simd>(&self, simd: S, tile: Tile, rows: &[f32], output: &mut [f32]) {
        let sizes = Sizes { m: tile.rows, k: self.head_dim, n: KEYS };
        let rows = Left::Rows { values: rows, stride: self.width };
        let columns = &self.values[tile.key * self.head_dim..];
        multiply::<S, false>(simd, sizes, rows, columns, KEYS, output);
    }
}

/// Copies the first `head_dim` of each row into `[batch, seq, heads, head_dim]`, from query or key `first` on.
pub(super) fn scatter(
    rows: &[f32],
    width: usize,
    output: &mut [f32],
    dims: [usize; 4],
    [batch, head, first]: [usize; 3],
) {
    let [_, heads, seq, head_dim] = dims;
    for (row, values) in rows.chunks_exact(width).enumerate() {
        let at = ((batch * seq + first + row) * heads + head) * head_dim;
        output[at..at + head_dim].copy_from_slice(&values[..head_dim]);
    }
}

/// Width of the rows that products are made of.
pub(super) fn padded(head_dim: usize) -> usize {
    head_dim.next_multiple_of(16)
}
