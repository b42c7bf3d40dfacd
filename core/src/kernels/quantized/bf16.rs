//! The product of many tokens with quantized weights on processors that multiply bf16: a few rows of weights are widened and rounded at a
//! time, so that the matrix stays in few bits.

use drope_instructions::Matrix;
use drope_instructions::bf16::{self, Left, Right, Tile, is_available, multiply};
use drope_instructions::bytes::{ByteProducts, ROWS, STEP, STEPS, WithByteProducts, with_byte_products};

use super::{QuantizedMatrix, STEP_BYTES};
use crate::kernels::linear::TIMES_FASTER;
use crate::kernels::parts::{in_parts, join_panels, products_of};

/// Rows of weights that a thread widens at once: what is read again for every 128 tokens then stays in the second cache.
const PANEL: usize = 4 * bf16::PANEL;
/// With fewer tokens than this, widening the weights takes longer than to multiply integers.
const FEWEST: usize = 64;

impl QuantizedMatrix {
    /// x · matrixᵀ with both factors rounded to bf16, row after row: `None` where that is not faster than integers.
    pub(super) fn product_in_bf16(&self, x: &[f32]) -> Option<Vec<f32>> {
        let count = x.len() / self.columns;
        if count < FEWEST || !is_available() {
            return None;
        }
        let left = Left::pack(Matrix::new(x, count, self.columns));
        let products = products_of(&[count, self.rows, self.columns]) / TIMES_FASTER;
        let sums = in_parts(products, 0..self.rows.div_ceil(PANEL), |panel| {
            let right = Right::from_tiles(with_byte_products(PanelTiles { matrix: self, panel }), self.columns, PANEL);
            let mut sums = vec![0.0; count * PANEL];
            multiply(&left, &right, 0, &mut sums);
            sums
        });
        Some(join_panels(&sums, PANEL, [count, self.rows]))
    }

    /// Sixteen rows of a part.
    #[inline(always)]
    fn tile<P: ByteProducts>(&self, products: P, group: usize, part: usize) -> Tile {
        let mut room = [[0; STEP_BYTES]; STEPS];
        let steps = self.steps(group, part, &mut room);
        let halves = self
            .scales_and_offsets(products, group, part)
            .map(|(scales, offsets)| [products.store(scales), products.store(offsets)]);
        let mut tile = [[0; ROWS]; 2 * STEPS];
        for (pair, words) in tile.iter_mut().enumerate() {
            let (step, _) = steps[pair / 2].as_chunks::<STEP>();
            let [scales, offsets] = &halves[pair / STEPS];
            for (row, word) in words.iter_mut().enumerate() {
                let two = u32::from_le_bytes(step[row]) >> (pair % 2 * 16);
                let number = |integer: u32| scales[row] * (integer & 0xff) as f32 + offsets[row];
                *word = bf16::pair(number(two), number(two >> 8));
            }
        }
        tile
    }
}

/// Some rows of weights as tiles of a right factor; behind the last group they are zeros.
struct PanelTiles<'a> {
    matrix: &'a QuantizedMatrix,
    panel: usize,
}

impl WithByteProducts for PanelTiles<'_> {
    type Output = Vec<Tile>;

    #[inline(always)]
    fn run<P: ByteProducts>(self, products: P) -> Vec<Tile> {
        let Self { matrix, panel } = self;
        let (groups, parts) = (matrix.rows.div_ceil(ROWS), matrix.columns.div_ceil(STEP * STEPS));
        let mut tiles = vec![[[0; ROWS]; 2 * STEPS]; PANEL / ROWS * parts];
        for (at, tile) in tiles.iter_mut().enumerate() {
            // A panel of the product has two groups, whose tiles follow each other.
            let group = panel * (PANEL / ROWS) + at / (2 * parts) * 2 + at % 2;
            if group < groups {
                *tile = matrix.tile(products, group, at / 2 % parts);
            }
        }
        tiles
    }
}
