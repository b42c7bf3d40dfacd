//! Products in browsers.

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
