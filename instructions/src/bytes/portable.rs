//! For processors whose instructions are not used here: loops that the compiler makes vectors of.

use std::ops::Range;

use super::{ByteProducts, PART, Packed, ROWS, STEP, STEPS, Weights, bytes_are_loaded, in_order, of_step};
use crate::halves::widened;

/// No instructions but those that every processor has.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl ByteProducts for Portable {
    type Sums = [i32; ROWS];
    type Floats = [f32; ROWS];

    const TILE: usize = 2;

    bytes_are_loaded!();

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        in_order(numbers)
    }

    #[inline(always)]
    fn zero(self) -> Self::Sums {
        [0; ROWS]
    }

    #[inline(always)]
    fn add<const M: usize>(
        self,
        sums: &mut [Self::Sums; M],
        weights: &[Weights; STEPS],
        numbers: [&Packed; M],
        steps: Range<usize>,
    ) {
        for step in steps {
            for (sums, numbers) in sums.iter_mut().zip(numbers) {
                for (sum, weights) in sums.iter_mut().zip(weights[step].as_chunks::<STEP>().0) {
                    for (&weight, &number) in weights.iter().zip(of_step(numbers, step).as_chunks().0) {
                        *sum += i32::from(weight) * i32::from(i16::from_le_bytes(number));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn floats(self, sums: Self::Sums) -> Self::Floats {
        sums.map(|sum| sum as f32)
    }

    #[inline(always)]
    fn splat(self, number: f32) -> Self::Floats {
        [number; ROWS]
    }

    #[inline(always)]
    fn load(self, numbers: &[f32; ROWS]) -> Self::Floats {
        *numbers
    }

    #[inline(always)]
    fn load_halves(self, bits: &[u16; ROWS]) -> Self::Floats {
        bits.map(widened)
    }

    #[inline(always)]
    fn store(self, floats: Self::Floats) -> [f32; ROWS] {
        floats
    }

    #[inline(always)]
    fn multiply(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        std::array::from_fn(|row| a[row] * b[row])
    }

    #[inline(always)]
    fn multiply_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats {
        std::array::from_fn(|row| a[row] * b[row] + c[row])
    }
}
