//! Browsers: SIMD128, whose products are of 16 bits.

use std::arch::wasm32::{
    f32x4_add, f32x4_convert_i32x4, f32x4_mul, f32x4_splat, i32x4_add, i32x4_dot_i16x8, i32x4_shuffle, i32x4_splat,
    u16x8_extend_high_u8x16, u16x8_extend_low_u8x16, v128, v128_load, v128_load64_splat, v128_store,
};

use super::{ByteProducts, PART, Packed, ROWS, Weights, in_order, of_step};
use crate::halves::widened;

/// Four rows.
const LANES: usize = 4;
const VECTORS: usize = ROWS / LANES;

/// Vectors of 128 bits; the crate is compiled with them.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

impl ByteProducts for Simd128 {
    /// Two sums a row, of even and of odd pairs of columns.
    type Sums = [v128; 2 * VECTORS];
    type Floats = [v128; VECTORS];

    const TILE: usize = 1;

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        in_order(numbers)
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [i32x4_splat(0); 2 * VECTORS]
    }

    #[inline(always)]
    fn add(self, mut sums: Self::Sums, weights: &Weights, numbers: &Packed, step: usize) -> Self::Sums {
        // SAFETY: four numbers of 16 bits are 64 bits.
        let numbers = unsafe { v128_load64_splat(of_step(numbers, step).as_ptr().cast()) };
        for (sums, weights) in sums.as_chunks_mut::<2>().0.iter_mut().zip(weights.as_chunks::<16>().0) {
            // SAFETY: a vector is 16 bytes.
            let weights = unsafe { v128_load(weights.as_ptr().cast()) };
            let halves = [u16x8_extend_low_u8x16(weights), u16x8_extend_high_u8x16(weights)];
            for (sum, half) in sums.iter_mut().zip(halves) {
                *sum = i32x4_add(*sum, i32x4_dot_i16x8(half, numbers));
            }
        }
        sums
    }

    #[inline(always)]
    fn floats(self, sums: Self::Sums) -> Self::Floats {
        std::array::from_fn(|at| {
            let [low, high] = [sums[2 * at], sums[2 * at + 1]];
            let even = i32x4_shuffle::<0, 2, 4, 6>(low, high);
            let odd = i32x4_shuffle::<1, 3, 5, 7>(low, high);
            f32x4_convert_i32x4(i32x4_add(even, odd))
        })
    }

    #[inline(always)]
    fn splat(self, number: f32) -> Self::Floats {
        [f32x4_splat(number); VECTORS]
    }

    #[inline(always)]
    fn load(self, numbers: &[f32; ROWS]) -> Self::Floats {
        std::array::from_fn(|at| {
            let four = &numbers[at * LANES..][..LANES];
            // SAFETY: a vector is four floats.
            unsafe { v128_load(four.as_ptr().cast()) }
        })
    }

    #[inline(always)]
    fn load_halves(self, bits: &[u16; ROWS]) -> Self::Floats {
        self.load(&bits.map(widened))
    }

    #[inline(always)]
    fn store(self, floats: Self::Floats) -> [f32; ROWS] {
        let mut numbers = [0.0; ROWS];
        for (four, floats) in numbers.as_chunks_mut::<LANES>().0.iter_mut().zip(floats) {
            // SAFETY: a vector is four floats.
            unsafe { v128_store(four.as_mut_ptr().cast(), floats) };
        }
        numbers
    }

    #[inline(always)]
    fn multiply(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|at| f32x4_mul(a[at], b[at]))
    }

    #[inline(always)]
    fn multiply_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats {
        std::array::from_fn(|at| f32x4_add(f32x4_mul(a[at], b[at]), c[at]))
    }
}
