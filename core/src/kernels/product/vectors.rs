//! Products by the vectors that pulp has for the processor.

use std::borrow::Cow;

use pulp::Simd;

use super::{Left, Sizes};
use crate::kernels::parts::rows_in_parts;

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

/// Of so many columns of a right factor, those that lie in one piece for [`multiply_tiles`].
pub(in crate::kernels) fn columns_at_once(columns: usize) -> usize {
    columns.min(columns_of_a_strip())
}

#[pulp::with_simd(columns_of_a_strip = pulp::Arch::new())]
#[inline(always)]
fn columns_by_vectors<S: Simd>(_: S) -> usize {
    vectors_at_once::<S>() * S::F32_LANES
}

/// A left factor `[m, k]` as [`multiply_tiles`] reads it: `[tiles, k, ROWS]`, the last tile filled up with zeros.
pub(in crate::kernels) fn tiled(values: &[f32], k: usize) -> Cow<'_, [f32]> {
    let tile = ROWS * k;
    let mut tiles = vec![0.0; (values.len() / k).div_ceil(ROWS) * tile];
    rows_in_parts(&mut tiles, tile, |first, tiles| {
        for (tile, rows) in tiles.chunks_exact_mut(tile).zip(values[first * tile..].chunks(tile)) {
            for (place, row) in rows.chunks_exact(k).enumerate() {
                for (column, &number) in tile.as_chunks_mut::<ROWS>().0.iter_mut().zip(row) {
                    column[place] = number;
                }
            }
        }
    });
    Cow::Owned(tiles)
}

/// output = left · right: `[m, k]`, tiled, and `[n / width, k, width]` to `[m, n]`, where the width is that of [`columns_at_once`]. Since
/// each step reads what lies next, no bounds are checked in it: with 12 sums in registers, checks took a large part of the time.
#[inline(always)]
pub(in crate::kernels) fn multiply_tiles<S: Simd>(
    simd: S,
    sizes: Sizes,
    left: &[f32],
    right: &[f32],
    output: &mut [f32],
) {
    if vectors_at_once::<S>() == 4 {
        strips::<S, 4>(simd, sizes, left, right, output);
    } else {
        strips::<S, 2>(simd, sizes, left, right, output);
    }
}

/// The same, where a strip of the right factor has V vectors.
#[inline(always)]
fn strips<S: Simd, const V: usize>(simd: S, Sizes { m, k, n }: Sizes, left: &[f32], right: &[f32], output: &mut [f32]) {
    let width = V * S::F32_LANES;
    let (right, _) = S::as_simd_f32s(right);
    for (strip, right) in right.as_chunks::<V>().0.chunks_exact(k).enumerate() {
        for (tile, left) in left.as_chunks::<ROWS>().0.chunks_exact(k).enumerate() {
            let mut sums = [[simd.splat_f32s(0.0); V]; ROWS];
            for (left, right) in left.iter().zip(right) {
                for (sums, &factor) in sums.iter_mut().zip(left) {
                    let factor = simd.splat_f32s(factor);
                    for (sum, &right) in sums.iter_mut().zip(right) {
                        *sum = simd.mul_add_e_f32s(factor, right, *sum);
                    }
                }
            }
            for (row, sums) in (tile * ROWS..m).zip(&sums) {
                let (output, _) = S::as_mut_simd_f32s(&mut output[row * n + strip * width..][..width]);
                output.copy_from_slice(sums);
            }
        }
    }
}
