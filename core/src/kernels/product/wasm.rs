//! Products in browsers.

use std::borrow::Cow;

use drope_instructions::small::{Factor, product};
use pulp::Simd;

use super::{Left, Sizes};

/// output = left · right, or output += left · right. Rows of `right` (`[k, n]`) are `stride` apart, those of `output`
/// (`[m, n]`) n.
///
/// Pulp says that WebAssembly has 32 registers. Browsers use 16 on x86, and would store and load sums that do not fit at each step.
#[inline(always)]
pub(in crate::kernels) fn multiply<S: Simd, const ADD: bool>(
    _: S,
    Sizes { m, k, n }: Sizes,
    left: Left,
    right: &[f32],
    stride: usize,
    output: &mut [f32],
) {
    let left = match left {
        Left::Rows { values, stride } => Factor { values, steps: [stride, 1] },
        #[cfg(feature = "train")]
        Left::Transposed { values, stride } => Factor { values, steps: [1, stride] },
    };
    product::<ADD>([m, k, n], left, Factor { values: right, steps: [stride, 1] }, output);
}

/// Of so many columns of a right factor, those that lie in one piece: here all of them.
pub(in crate::kernels) fn columns_at_once(columns: usize) -> usize {
    columns
}

/// A left factor `[m, k]` as [`multiply_tiles`] reads it.
pub(in crate::kernels) fn tiled(values: &[f32], _: usize) -> Cow<'_, [f32]> {
    Cow::Borrowed(values)
}

/// output = left · right: `[m, k]`, tiled, and `[k, n]` to `[m, n]`.
#[inline(always)]
pub(in crate::kernels) fn multiply_tiles<S: Simd>(
    simd: S,
    sizes: Sizes,
    left: &[f32],
    right: &[f32],
    output: &mut [f32],
) {
    multiply::<S, false>(simd, sizes, Left::Rows { values: left, stride: sizes.k }, right, sizes.n, output);
}
