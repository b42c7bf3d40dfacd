//! Browsers: SIMD128, whose products are of 16 bits.

use std::arch::wasm32::{
    f32x4_add, f32x4_convert_i32x4, f32x4_mul, f32x4_splat, i32x4_add, i32x4_dot_i16x8, i32x4_shuffle, i32x4_splat,
    u16x8_extend_high_u8x16, u16x8_extend_low_u8x16, v128, v128_load, v128_load32_splat, v128_load64_splat, v128_store,
};

use std::ops::Range;

use super::{ByteProducts, PART, Packed, ROWS, STEPS, Weights, in_order, of_step};
use crate::halves::widened;

/// Four rows.
const LANES: usize = 4;
const VECTORS: usize = ROWS / LANES;

/// Vectors of 128 bits; the crate is compiled with them.
#[derive(Clone, Copy)]
pub(super) struct Simd128;

impl ByteProducts for Simd128 {
    type Sums = [v128; VECTORS];
    type Floats = [v128; VECTORS];
    /// Two columns of all rows, in 16 bits.
    type Loaded = [[v128; VECTORS]; 2 * STEPS];

    const TILE: usize = 2;

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        in_order(numbers)
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [i32x4_splat(0); VECTORS]
    }

    #[inline(always)]
    fn add<const M: usize>(
        self,
        sums: &mut [Self::Sums; M],
        weights: &[Weights; STEPS],
        numbers: [&Packed; M],
        steps: Range<usize>,
    ) {
        for (sums, numbers) in sums.iter_mut().zip(numbers) {
            let mut of_pairs = [[i32x4_splat(0); 2]; VECTORS];
            for step in steps.clone() {
                // SAFETY: four numbers of 16 bits are 64 bits.
                let numbers = unsafe { v128_load64_splat(of_step(numbers, step).as_ptr().cast()) };
                for (sums, rows) in of_pairs.iter_mut().zip(widened_rows(&weights[step])) {
                    for (sum, rows) in sums.iter_mut().zip(rows) {
                        *sum = i32x4_add(*sum, i32x4_dot_i16x8(rows, numbers));
                    }
                }
            }
            for (sum, of_pairs) in sums.iter_mut().zip(of_pairs) {
                let [first, second] = by_pairs(of_pairs);
                *sum = i32x4_add(*sum, i32x4_add(first, second));
            }
        }
    }

    #[inline(always)]
    fn load_weights(self, weights: &[Weights; STEPS]) -> Self::Loaded {
        let mut loaded = [[i32x4_splat(0); VECTORS]; 2 * STEPS];
        for (pairs, weights) in loaded.as_chunks_mut::<2>().0.iter_mut().zip(weights) {
            for (at, rows) in widened_rows(weights).into_iter().enumerate() {
                [pairs[0][at], pairs[1][at]] = by_pairs(rows);
            }
        }
        loaded
    }

    #[inline(always)]
    fn add_loaded<const M: usize>(
        self,
        sums: &mut [Self::Sums; M],
        weights: &Self::Loaded,
        numbers: [&Packed; M],
        steps: Range<usize>,
    ) {
        let pairs = 2 * steps.start..2 * steps.end;
        for (weights, pair) in weights[pairs.clone()].iter().zip(pairs) {
            for (sums, numbers) in sums.iter_mut().zip(numbers) {
                // SAFETY: two numbers of 16 bits are 32 bits.
                let numbers = unsafe { v128_load32_splat(numbers.as_flattened()[pair].as_ptr().cast()) };
                for (sum, &weights) in sums.iter_mut().zip(weights) {
                    *sum = i32x4_add(*sum, i32x4_dot_i16x8(weights, numbers));
                }
            }
        }
    }

    #[inline(always)]
    fn floats(self, sums: Self::Sums) -> Self::Floats {
        sums.map(|sums| f32x4_convert_i32x4(sums))
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

/// Weights of a step in 16 bits, two rows a vector.
#[inline(always)]
fn widened_rows(weights: &Weights) -> [[v128; 2]; VECTORS] {
    let (fours, _) = weights.as_chunks::<16>();
    std::array::from_fn(|at| {
        // SAFETY: a vector is 16 bytes.
        let bytes = unsafe { v128_load(fours[at].as_ptr().cast()) };
        [u16x8_extend_low_u8x16(bytes), u16x8_extend_high_u8x16(bytes)]
    })
}

/// Two vectors of two rows each, `[row, pair of columns]`, as one with the first pair of all four rows and one with the second. Units are of
/// 32 bits: two weights, or one sum.
#[inline(always)]
fn by_pairs([low, high]: [v128; 2]) -> [v128; 2] {
    [i32x4_shuffle::<0, 2, 4, 6>(low, high), i32x4_shuffle::<1, 3, 5, 7>(low, high)]
}
