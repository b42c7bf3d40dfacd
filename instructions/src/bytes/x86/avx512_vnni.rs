//! VNNI in vectors of 512 bits.

use std::arch::x86_64::{
    __m512, __m512i, _mm256_loadu_si256, _mm512_add_epi32, _mm512_and_si512, _mm512_cvtepi32_ps, _mm512_cvtph_ps,
    _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_set1_epi32,
    _mm512_set1_ps, _mm512_setzero_si512, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_ps,
};
use std::ops::Range;

use super::available_with;
use crate::bytes::{
    ByteProducts, Nibbles, PART, Packed, ROWS, STEPS, Weights, WithByteProducts, bytes_are_loaded, high_and_low,
};

available_with! {
    /// AVX512-VNNI (Intel's from 2019, AMD's from 2022 on).
    Avx512Vnni: "avx512f", "avx512bw", "avx512vl", "avx512vnni"
}

impl ByteProducts for Avx512Vnni {
    /// Sums with high and with low bytes.
    type Sums = [__m512i; 2];
    type Floats = __m512;

    const TILE: usize = 8;

    bytes_are_loaded!();

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        high_and_low(numbers)
    }

    #[inline(always)]
    fn zero(self) -> [__m512i; 2] {
        // SAFETY: the processor has AVX-512.
        [unsafe { _mm512_setzero_si512() }; 2]
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
            // SAFETY: the processor has AVX-512, and a vector is 64 bytes.
            let weights = unsafe { _mm512_loadu_si512(weights[step].as_ptr().cast()) };
            for (sums, numbers) in sums.iter_mut().zip(numbers) {
                for (sum, bytes) in sums.iter_mut().zip(numbers) {
                    let bytes = i32::from_le_bytes(bytes[step]);
                    // SAFETY: the processor has VNNI.
                    *sum = unsafe { _mm512_dpbusd_epi32(*sum, weights, _mm512_set1_epi32(bytes)) };
                }
            }
        }
    }

    #[inline(always)]
    fn add_nibbles<const M: usize>(self, sums: &mut [Self::Sums; M], weights: &Nibbles, numbers: [&Packed; M]) {
        for (step, both) in weights.iter().enumerate() {
            // SAFETY: the processor has AVX-512, and a vector is 64 bytes.
            let halves = unsafe {
                let (both, nibble) = (_mm512_loadu_si512(both.as_ptr().cast()), _mm512_set1_epi32(0x0f0f_0f0f));
                [_mm512_and_si512(both, nibble), _mm512_and_si512(_mm512_srli_epi32::<4>(both), nibble)]
            };
            for (step, half) in [step, step + STEPS / 2].into_iter().zip(halves) {
                for (sums, numbers) in sums.iter_mut().zip(numbers) {
                    for (sum, bytes) in sums.iter_mut().zip(numbers) {
                        let bytes = i32::from_le_bytes(bytes[step]);
                        // SAFETY: the processor has VNNI.
                        *sum = unsafe { _mm512_dpbusd_epi32(*sum, half, _mm512_set1_epi32(bytes)) };
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn floats(self, [high, low]: [__m512i; 2]) -> __m512 {
        // SAFETY: the processor has AVX-512.
        unsafe { _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32::<8>(high), low)) }
    }

    #[inline(always)]
    fn splat(self, number: f32) -> __m512 {
        // SAFETY: the processor has AVX-512.
        unsafe { _mm512_set1_ps(number) }
    }

    #[inline(always)]
    fn load(self, numbers: &[f32; ROWS]) -> __m512 {
        // SAFETY: the processor has AVX-512, and a vector is 16 floats.
        unsafe { _mm512_loadu_ps(numbers.as_ptr()) }
    }

    #[inline(always)]
    fn load_halves(self, bits: &[u16; ROWS]) -> __m512 {
        // SAFETY: the processor has AVX-512, and a vector of halves is 16 of them.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(bits.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, floats: __m512) -> [f32; ROWS] {
        let mut numbers = [0.0; ROWS];
        // SAFETY: the processor has AVX-512, and a vector is 16 floats.
        unsafe { _mm512_storeu_ps(numbers.as_mut_ptr(), floats) };
        numbers
    }

    #[inline(always)]
    fn multiply(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the processor has AVX-512.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn multiply_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the processor has AVX-512.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
}
