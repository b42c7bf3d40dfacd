//! Products of 16 bits, for processors without VNNI.

use std::arch::x86_64::{
    __m256, __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_cvtepi32_ps, _mm256_cvtph_ps,
    _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_mul_ps, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_si256, _mm256_srli_epi16, _mm256_storeu_ps,
};
use std::ops::Range;

use super::{LANES, available_with, both, floats_of_256_bits};
use crate::bytes::{ByteProducts, Nibbles, PART, Packed, ROWS, STEP, STEPS, Weights, WithByteProducts, in_order};

available_with! {
    /// AVX2.
    Avx2: "avx2", "f16c", "fma"
}

impl ByteProducts for Avx2 {
    /// Eight rows a vector.
    type Sums = [__m256i; 2];
    /// Two columns of all rows, in 16 bits.
    type Loaded = [[__m256i; 2]; 2 * STEPS];

    const TILE: usize = 4;

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        let mut by_pairs = *numbers;
        for [_, second, third, _] in by_pairs.as_chunks_mut::<STEP>().0 {
            std::mem::swap(second, third);
        }
        in_order(&by_pairs)
    }

    #[inline(always)]
    fn zero(self) -> [__m256i; 2] {
        // SAFETY: the processor has AVX.
        [unsafe { _mm256_setzero_si256() }; 2]
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
            let bytes = self.load_bytes(&weights[step]);
            self.add_pair(sums, both!(at => self.even::<0xff>(bytes[at])), numbers, 2 * step);
            self.add_pair(sums, both!(at => self.shifted::<8, 0xff>(bytes[at])), numbers, 2 * step + 1);
        }
    }

    #[inline(always)]
    fn add_nibbles<const M: usize>(self, sums: &mut [Self::Sums; M], weights: &Nibbles, numbers: [&Packed; M]) {
        for (step, both) in weights.iter().enumerate() {
            let bytes = self.load_bytes(both);
            let (first, last) = (2 * step, 2 * step + STEPS);
            self.add_pair(sums, both!(at => self.even::<0x0f>(bytes[at])), numbers, first);
            self.add_pair(sums, both!(at => self.shifted::<8, 0x0f>(bytes[at])), numbers, first + 1);
            self.add_pair(sums, both!(at => self.shifted::<4, 0x0f>(bytes[at])), numbers, last);
            self.add_pair(sums, both!(at => self.shifted::<12, 0x0f>(bytes[at])), numbers, last + 1);
        }
    }

    #[inline(always)]
    fn load_weights(self, weights: &[Weights; STEPS]) -> Self::Loaded {
        let mut loaded = [self.zero(); 2 * STEPS];
        for (pairs, weights) in loaded.as_chunks_mut::<2>().0.iter_mut().zip(weights) {
            let bytes = self.load_bytes(weights);
            *pairs = [both!(at => self.even::<0xff>(bytes[at])), both!(at => self.shifted::<8, 0xff>(bytes[at]))];
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
        for (&weights, pair) in weights[pairs.clone()].iter().zip(pairs) {
            self.add_pair(sums, weights, numbers, pair);
        }
    }

    #[inline(always)]
    fn floats(self, sums: [__m256i; 2]) -> [__m256; 2] {
        // SAFETY: the processor has AVX.
        both!(at => unsafe { _mm256_cvtepi32_ps(sums[at]) })
    }

    floats_of_256_bits!();
}

impl Avx2 {
    /// Four columns of all rows.
    #[inline(always)]
    fn load_bytes(self, weights: &Weights) -> [__m256i; 2] {
        let (halves, _) = weights.as_chunks::<32>();
        // SAFETY: the processor has AVX, and a vector is 32 bytes.
        both!(at => unsafe { _mm256_loadu_si256(halves[at].as_ptr().cast()) })
    }

    /// Some bits of the first and the third of four columns, in 16 bits each.
    #[inline(always)]
    fn even<const MASK: i16>(self, bytes: __m256i) -> __m256i {
        // SAFETY: the processor has AVX2.
        unsafe { _mm256_and_si256(bytes, _mm256_set1_epi16(MASK)) }
    }

    /// The same from the bit SHIFT of each two columns on.
    #[inline(always)]
    fn shifted<const SHIFT: i32, const MASK: i16>(self, bytes: __m256i) -> __m256i {
        // SAFETY: the processor has AVX2.
        let shifted = unsafe { _mm256_srli_epi16::<SHIFT>(bytes) };
        // Nothing else is left where the mask has as many bits as the shift leaves.
        if (0xffff_u16 >> SHIFT) as i16 == MASK { shifted } else { self.even::<MASK>(shifted) }
    }

    /// Adds the products of two columns.
    #[inline(always)]
    fn add_pair<const M: usize>(
        self,
        sums: &mut [[__m256i; 2]; M],
        weights: [__m256i; 2],
        numbers: [&Packed; M],
        pair: usize,
    ) {
        for (sums, numbers) in sums.iter_mut().zip(numbers) {
            let numbers = i32::from_le_bytes(numbers.as_flattened()[pair]);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                // SAFETY: the processor has AVX2.
                *sum = unsafe { _mm256_add_epi32(*sum, _mm256_madd_epi16(weights, _mm256_set1_epi32(numbers))) };
            }
        }
    }
}
