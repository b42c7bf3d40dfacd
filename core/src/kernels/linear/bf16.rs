//! The product on processors that multiply bf16.

use std::ops::Range;

use drope_instructions::Matrix;
use drope_instructions::bf16::{Left, Pieces, Right, is_available, multiply_by_columns, multiply_by_rows};

use crate::kernels::parts::counted_if;

/// To split one number into pieces takes as long as so many multiplications save.
const MULTIPLICATIONS_TO_SPLIT: usize = 128;

/// Whether a product `[m, k] · [k, n]` takes less time in pieces that are as precise as f32.
pub(in crate::kernels) fn is_faster_than_f32([m, _, n]: [usize; 3]) -> bool {
    // Of m · k and k · n numbers each.
    m.saturating_mul(n) >= MULTIPLICATIONS_TO_SPLIT * (m + n) && is_available(Pieces::Three)
}

/// left · right, rounded to bf16, row after row. The smaller factor is packed as a whole and the larger one part by part, as threads take them, so
/// that packed numbers take little memory.
pub(super) fn product(left: Matrix<'_>, right: Matrix<'_>) -> Vec<f32> {
    let ([rows, _], [_, columns]) = (left.shape(), right.shape());
    if rows >= columns {
        return product_with_packed(left, &Right::pack(right, 0..columns, Pieces::One));
    }
    product_by_parts(left, columns, Pieces::One, |part| Right::pack(right, part, Pieces::One))
}

/// left · right, row after row, where the right factor has so many columns, of which a thread packs some at a time.
pub(in crate::kernels) fn product_by_parts(
    left: Matrix<'_>,
    columns: usize,
    pieces: Pieces,
    right: impl Fn(Range<usize>) -> Right + Sync,
) -> Vec<f32> {
    let [rows, k] = left.shape();
    counted_if(pieces.is_worth_threads([rows, k, columns]), || {
        multiply_by_columns(&Left::pack(left, 0..rows, pieces), columns, right)
    })
}

/// The same, where the right factor is in order already.
pub(super) fn product_with_packed(left: Matrix<'_>, right: &Right) -> Vec<f32> {
    let [rows, k] = left.shape();
    counted_if(Pieces::One.is_worth_threads([rows, k, right.columns()]), || {
        multiply_by_rows(rows, |part| Left::pack(left, part, Pieces::One), right)
    })
}
