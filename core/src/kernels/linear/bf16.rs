//! The product on processors that multiply bf16.

use drope_instructions::Matrix;
use drope_instructions::bf16::{Left, PANEL, Right, multiply};

use crate::kernels::parts::in_parts;

/// Panels of rows that a thread takes at once.
const PANELS_OF_PART: usize = 4;
/// How much longer f32 takes than bf16 by tiles, roughly; by vectors it is twice as long.
pub(in crate::kernels) const TIMES_FASTER: usize = 8;

/// left · right, row after row.
pub(super) fn product(left: Matrix<'_>, right: &Right) -> Vec<f32> {
    let ([rows, k], columns) = (left.shape(), right.columns());
    let left = Left::pack(left);
    let mut output = vec![0.0; rows * columns];
    let parts = output.chunks_mut((PANELS_OF_PART * PANEL * columns).max(1)).enumerate();
    in_parts(rows * k * columns / TIMES_FASTER, parts, |(part, output)| {
        multiply(&left, right, part * PANELS_OF_PART, output);
    });
    output
}
