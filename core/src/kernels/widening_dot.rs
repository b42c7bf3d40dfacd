//! The product of a row of a matrix, packed or not, with a vector: most of the work for a decoded token.

use pulp::Simd;

/// Numbers that share a scale.
pub(super) const BLOCK: usize = 32;

/// a · b, where `widen(block, number)` converts a number of `a` to 32 bits.
///
/// A block is widened at once and added to the sums by vectors of the machine's whole width: left to the compiler, the same loop is three
/// times slower in 8 bits.
#[inline(always)]
pub(super) fn widening_dot<S: Simd, T: Copy>(simd: S, a: &[T], b: &[f32], widen: impl Fn(usize, T) -> f32) -> f32 {
    let mut sums = [simd.splat_f32s(0.0); 2];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<BLOCK>(), b.as_chunks::<BLOCK>());
    for (block, (a, b)) in a.iter().zip(b).enumerate() {
        let mut widened = [0.0; BLOCK];
        for (widened, &number) in widened.iter_mut().zip(a) {
            *widened = widen(block, number);
        }
        add_block(simd, &widened, b, &mut sums);
    }
    if !a_rest.is_empty() {
        let (mut widened, mut filled_up) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (widened, &number) in widened.iter_mut().zip(a_rest) {
            *widened = widen(a.len(), number);
        }
        filled_up[..b_rest.len()].copy_from_slice(b_rest);
        add_block(simd, &widened, &filled_up, &mut sums);
    }
    simd.reduce_sum_f32s(simd.add_f32s(sums[0], sums[1]))
}

/// Adds a · b to the lanes of two sums, so that an addition does not wait for the one before. Where the machine has no fused
/// multiplication and addition (`mul_add_e`), as browsers do not, an exact one would be computed number by number.
#[inline(always)]
fn add_block<S: Simd>(simd: S, a: &[f32; BLOCK], b: &[f32; BLOCK], sums: &mut [S::f32s; 2]) {
    let ((a, _), (b, _)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    let ((a, _), (b, _)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    for (a, b) in a.iter().zip(b) {
        sums[0] = simd.mul_add_e_f32s(a[0], b[0], sums[0]);
        sums[1] = simd.mul_add_e_f32s(a[1], b[1], sums[1]);
    }
}

/// Widens a bf16 to f32.
#[inline(always)]
pub(super) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}
