//! The product of many tokens with quantized weights on processors that multiply bf16: a few rows of weights are widened and rounded at a
//! time, so that the matrix stays in few bits.

use std::ops::Range;

use drope_instructions::Matrix;
use drope_instructions::bf16::{self, Pieces, Right, Tile, is_available, piece_of_two};
use drope_instructions::bytes::{ByteProducts, ROWS, STEP, STEPS, WithByteProducts, with_byte_products};

use super::{QuantizedMatrix, STEP_BYTES};
use crate::kernels::linear::{ComputeType, product_by_parts};

/// With fewer tokens than this, widening the weights takes longer than to multiply integers.
const FEWEST: usize = 64;

impl QuantizedMatrix {
    /// x · matrixᵀ with both factors in bf16, row after row: `None` where that is not faster than integers. In f32 numbers are split into
    /// two pieces of bf16, which have the 16 bits that tokens are rounded to for products of integers.
    pub(super) fn product_in_bf16(&self, x: &[f32], compute: ComputeType) -> Option<Vec<f32>> {
        let count = x.len() / self.columns;
        let pieces = match compute {
            ComputeType::Bf16 => Pieces::One,
            ComputeType::F32 => Pieces::Two,
        };
        if count < FEWEST || !is_available(pieces) {
            return None;
        }
        let x = Matrix::new(x, count, self.columns);
        Some(product_by_parts(x, self.rows, pieces, |rows| {
            let tiles = match pieces {
                Pieces::One => with_byte_products(RowsAsTiles::<1> { matrix: self, rows: rows.clone() }),
                _ => with_byte_products(RowsAsTiles::<2> { matrix: self, rows: rows.clone() }),
            };
            Right::from_tiles(tiles, [self.columns, rows.len()], pieces)
        }))
    }

    /// Sixteen rows of a part in N pieces.
    #[inline(always)]
    fn tiles<P: ByteProducts, const N: usize>(&self, products: P, group: usize, part: usize) -> [Tile; N] {
        let mut room = [[0; STEP_BYTES]; STEPS];
        let steps = self.steps(group, part, &mut room);
        let halves = self
            .scales_and_offsets(products, group, part)
            .map(|(scales, offsets)| [products.store(scales), products.store(offsets)]);
        let mut tiles = [[[0; ROWS]; 2 * STEPS]; N];
        for pair in 0..2 * STEPS {
            let (step, _) = steps[pair / 2].as_chunks::<STEP>();
            let [scales, offsets] = &halves[pair / STEPS];
            for row in 0..ROWS {
                let two = u32::from_le_bytes(step[row]) >> (pair % 2 * 16);
                let number = |integer: u32| scales[row] * (integer & 0xff) as f32 + offsets[row];
                let numbers = [number(two), number(two >> 8)];
                tiles[0][pair][row] = piece_of_two::<0>(numbers);
                if N == 2 {
                    tiles[1][pair][row] = piece_of_two::<1>(numbers);
                }
            }
        }
        tiles
    }
}

/// Some rows of weights, from the first of a panel on, as tiles of a right factor in N pieces; behind the last group they are zeros.
struct RowsAsTiles<'a, const N: usize> {
    matrix: &'a QuantizedMatrix,
    rows: Range<usize>,
}

impl<const N: usize> WithByteProducts for RowsAsTiles<'_, N> {
    type Output = Vec<Tile>;

    #[inline(always)]
    fn run<P: ByteProducts>(self, products: P) -> Vec<Tile> {
        let Self { matrix, rows } = self;
        let (groups, parts) = (matrix.rows.div_ceil(ROWS), matrix.columns.div_ceil(STEP * STEPS));
        let mut tiles = vec![[[[[0; ROWS]; 2 * STEPS]; 2]; N]; rows.len().div_ceil(bf16::PANEL) * parts];
        for (at, block) in tiles.iter_mut().enumerate() {
            // A panel of the product has two groups, whose tiles of a piece follow each other.
            for half in 0..2 {
                let group = rows.start / ROWS + at / parts * 2 + half;
                if group < groups {
                    for (block, tile) in block.iter_mut().zip(matrix.tiles::<P, N>(products, group, at % parts)) {
                        block[half] = tile;
                    }
                }
            }
        }
        tiles.into_flattened().into_flattened()
    }
}

// A group of weights is half a panel, and a part of the product is whole panels.
const _: () = assert!(2 * ROWS == bf16::PANEL && bf16::PART.is_multiple_of(bf16::PANEL));
