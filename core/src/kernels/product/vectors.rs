//! Products by the vectors that pulp has for the processor.

use pulp::Simd;

use super::{Left, Sizes};

/// Rows whose sums are in registers at the same time.
const ROWS: usize = 6;

/// Vectors of each of these rows: as many as there are registers for, beside the factors.
const fn vectors_at_once<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 4 } else { 2 }
}

/// output = left · right, or output += left · right. Rows of `right` (`[k, n]`) are `stride` apart, those of `output`
/// (`[m, n]`) n.
#[inline(always)]
pub(in crate::kernels) fn multiply<S: Simd, const ADD: bool>(
    simd: S,
    sizes: Sizes,
    left: Left,
    right: &[f32],
    stride: usize,
    output: &mut [f32],
) {
    let lanes = S::F32_LANES;
    let mut column = 0;
    while column < sizes.n {
        let rest = (sizes.n - column) / lanes;
        let step = if vectors_at_once::<S>() == 4 && rest >= 4 {
            columns::<S, ROWS, 4, ADD>(simd, sizes, left, right, stride, column, output);
            4
        } else if rest >= 2 {
            columns::<S, ROWS, 2, ADD>(simd, sizes, left, right, stride, column, output);
            2
        } else {
            columns::<S, 8, 1, ADD>(simd, sizes, left, right, stride, column, output);
            1
        };
        column += step * lanes;
    }
}

/// V vectors of every row.
#[inline(always)]
fn columns<S: Simd, const M: usize, const V: usize, const ADD: bool>(
    simd: S,
    sizes: Sizes,
    left: Left,
    right: &[f32],
    stride: usize,
    column: usize,
    output: &mut [f32],
) {
    let mut row = 0;
    while row + M <= sizes.m {
        block::<S, M, V, ADD>(simd, sizes, left, right, stride, [row, column], output);
        row += M;
    }
    while row + 2 <= sizes.m {
        block::<S, 2, V, ADD>(simd, sizes, left, right, stride, [row, column], output);
        row += 2;
    }
    if row < sizes.m {
        block::<S, 1, V, ADD>(simd, sizes, left, right, stride, [row, column], output);
    }
}

/// M rows of V vectors, summed in registers.
#[inline(always)]
fn block<S: Simd, const M: usize, const V: usize, const ADD: bool>(
    simd: S,
    Sizes { k, n, .. }: Sizes,
    left: Left,
    right: &[f32],
    stride: usize,
    [row, column]: [usize; 2],
    output: &mut [f32],
) {
    let width = V * S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); V]; M];
    if ADD {
        for (i, sums) in sums.iter_mut().enumerate() {
            let (held, _) = S::as_simd_f32s(&output[(row + i) * n + column..][..width]);
            sums.copy_from_slice(held);
        }
    }
    match left {
        Left::Rows { values, stride: left_stride } => {
            let mut rows = [&values[..0]; M];
            for (i, values_of_row) in rows.iter_mut().enumerate() {
                *values_of_row = &values[(row + i) * left_stride..][..k];
            }
            for (at, right) in right.chunks(stride).take(k).enumerate() {
                let (right, _) = S::as_simd_f32s(&right[column..column + width]);
                for (sums, row) in sums.iter_mut().zip(&rows) {
                    let factor = simd.splat_f32s(row[at]);
                    for (sum, &right) in sums.iter_mut().zip(right) {
                        *sum = simd.mul_add_e_f32s(factor, right, *sum);
                    }
                }
            }
        }
        #[cfg(feature = "train")]
        Left::Transposed { values, stride: left_stride } => {
            for (left, right) in values.chunks(left_stride).zip(right.chunks(stride)).take(k) {
                let (right, _) = S::as_simd_f32s(&right[column..column + width]);
                for (sums, &left) in sums.iter_mut().zip(&left[row..row + M]) {
                    let factor = simd.splat_f32s(left);
                    for (sum, &right) in sums.iter_mut().zip(right) {
                        *sum = simd.mul_add_e_f32s(factor, right, *sum);
                    }
                }
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        let (out, _) = S::as_mut_simd_f32s(&mut output[(row + i) * n + column..][..width]);
        out.copy_from_slice(sums);
    }
}
