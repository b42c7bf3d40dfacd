//! x86: VNNI in vectors of 512 or 256 bits, which adds four products of bytes at once, or else products of 16 bits.
//!
//! A value of a type here exists only where the processor has its instructions: that is why calling them is safe.

mod avx2;
mod avx512_vnni;
mod avx_vnni;

pub(super) use self::avx_vnni::AvxVnni;
pub(super) use self::avx2::Avx2;
pub(super) use self::avx512_vnni::Avx512Vnni;

/// A type whose values exist only where the processor has all of some instructions; what it runs is compiled for the same ones.
macro_rules! available_with {
    ($(#[$doc:meta])* $name:ident: $($feature:tt),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(in crate::bytes) struct $name(());

        impl $name {
            pub(in crate::bytes) fn new() -> Option<Self> {
                let has = $(is_x86_feature_detected!($feature))&&+;
                has.then_some(Self(()))
            }

            pub(in crate::bytes) fn run<W: WithByteProducts>(self, work: W) -> W::Output {
                $(#[target_feature(enable = $feature)])+
                fn compiled<W: WithByteProducts>(products: $name, work: W) -> W::Output {
                    work.run(products)
                }
                // SAFETY: the processor has them.
                unsafe { compiled(self, work) }
            }
        }
    };
}

/// Floats of 256 bits.
const LANES: usize = 8;

/// A value for each of two vectors. The compiler calls, as functions, what closures use of instructions that not every processor has.
macro_rules! both {
    ($at:ident => $value:expr) => {{
        let first = {
            let $at = 0;
            $value
        };
        let $at = 1;
        [first, $value]
    }};
}

/// Floats of two vectors of 256 bits.
macro_rules! floats_of_256_bits {
    () => {
        type Floats = [__m256; 2];

        #[inline(always)]
        fn splat(self, number: f32) -> [__m256; 2] {
            // SAFETY: the processor has AVX.
            [unsafe { _mm256_set1_ps(number) }; 2]
        }

        #[inline(always)]
        fn load(self, numbers: &[f32; ROWS]) -> [__m256; 2] {
            let (numbers, _) = numbers.as_chunks::<LANES>();
            // SAFETY: the processor has AVX, and a vector is eight floats.
            both!(at => unsafe { _mm256_loadu_ps(numbers[at].as_ptr()) })
        }

        #[inline(always)]
        fn load_halves(self, bits: &[u16; ROWS]) -> [__m256; 2] {
            let (bits, _) = bits.as_chunks::<LANES>();
            // SAFETY: the processor has F16C, and a vector of halves is eight of them.
            both!(at => unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bits[at].as_ptr().cast())) })
        }

        #[inline(always)]
        fn store(self, floats: [__m256; 2]) -> [f32; ROWS] {
            let mut numbers = [0.0; ROWS];
            for (numbers, floats) in numbers.as_chunks_mut::<LANES>().0.iter_mut().zip(floats) {
                // SAFETY: the processor has AVX, and a vector is eight floats.
                unsafe { _mm256_storeu_ps(numbers.as_mut_ptr(), floats) };
            }
            numbers
        }

        #[inline(always)]
        fn multiply(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
            // SAFETY: the processor has AVX.
            both!(at => unsafe { _mm256_mul_ps(a[at], b[at]) })
        }

        #[inline(always)]
        fn multiply_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
            // SAFETY: the processor has FMA.
            both!(at => unsafe { _mm256_fmadd_ps(a[at], b[at], c[at]) })
        }
    };
}

use {available_with, both, floats_of_256_bits};
