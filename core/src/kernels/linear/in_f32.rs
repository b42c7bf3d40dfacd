//! The product in f32; where it is large the caller's threads share it.

use drope_instructions::{Matrix, f32s};

use crate::kernels::parts::counted_if;

/// left · right, row after row.
pub(in crate::kernels) fn product(left: Matrix<'_>, right: Matrix<'_>) -> Vec<f32> {
    counted_if(is_shared(left, right), || f32s::product(left, right))
}

/// The same, written where the output's rows begin, which are `stride` numbers apart.
pub(in crate::kernels) fn write_product(left: Matrix<'_>, right: Matrix<'_>, output: &mut [f32], stride: usize) {
    counted_if(is_shared(left, right), || f32s::write_product(left, right, output, stride));
}

fn is_shared(left: Matrix<'_>, right: Matrix<'_>) -> bool {
    let ([m, k], [_, n]) = (left.shape(), right.shape());
    f32s::is_worth_threads([m, k, n])
}
