//! VNNI in vectors of 256 bits.

use std::arch::x86_64::{
    __m256, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepi32_ps, _mm256_cvtph_ps, _mm256_dpbusd_avx_epi32,
    _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_setzero_si256, _mm256_slli_epi32, _mm256_storeu_ps,
};
use std::ops::Range;

use super::{LANES, available_with, both, floats_of_256_bits};
use crate::bytes::{
    ByteProducts, PART, Packed, ROWS, STEPS, Weights, WithByteProducts, bytes_are_loaded, high_and_low,
};

available_with! {
    /// AVX-VNNI (Intel's from 2021, AMD's from 2024 on), where AVX-512 is lacking.
    AvxVnni: "avx2", "avxvnni", "f16c", "fma"
}

impl ByteProducts for AvxVnni {
    /// Sums with high and with low bytes, each of two vectors.
    type Sums = [[__m256i; 2]; 2];

    const TILE: usize = 2;

    bytes_are_loaded!();

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        high_and_low(numbers)
    }

    #[inline(always)]
    fn zero(self) -> [[__m256i; 2]; 2] {
        // SAFETY: the processor has AVX.
        [[unsafe { _mm256_setzero_si256() }; 2]; 2]
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
            let (halves, _) = weights[step].as_chunks::<32>();
            // SAFETY: the processor has AVX, and a vector is 32 bytes.
            let weights = both!(at => unsafe { _mm256_loadu_si256(halves[at].as_ptr().cast()) });
            for (sums, numbers) in sums.iter_mut().zip(numbers) {
                for (sums, bytes) in sums.iter_mut().zip(numbers) {
                    let bytes = i32::from_le_bytes(bytes[step]);
                    for (sum, weights) in sums.iter_mut().zip(weights) {
                        // SAFETY: the processor has VNNI.
                        *sum = unsafe { _mm256_dpbusd_avx_epi32(*sum, weights, _mm256_set1_epi32(bytes)) };
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn floats(self, [high, low]: [[__m256i; 2]; 2]) -> [__m256; 2] {
        // SAFETY: the processor has AVX2.
        both!(at => unsafe { _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_slli_epi32::<8>(high[at]), low[at])) })
    }

    floats_of_256_bits!();
}
