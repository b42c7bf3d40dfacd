//! x86: VNNI in vectors of 512 or 256 bits, which adds four products of bytes at once, or else products of 16 bits.
//!
//! A value of a type here exists only where the processor has its instructions: that is why calling them is safe.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_cvtepi32_ps,
    _mm256_cvtph_ps, _mm256_dpbusd_avx_epi32, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_mul_ps, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_si256, _mm256_slli_epi32,
    _mm256_srli_epi16, _mm256_storeu_ps, _mm512_add_epi32, _mm512_and_si512, _mm512_cvtepi32_ps, _mm512_cvtph_ps,
    _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_set1_epi32,
    _mm512_set1_ps, _mm512_setzero_si512, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_ps,
};
use std::ops::Range;

use super::{
    ByteProducts, Nibbles, PART, Packed, ROWS, STEP, STEPS, Weights, WithByteProducts, bytes_are_loaded, high_and_low,
    in_order,
};

/// Floats of 256 bits.
const LANES: usize = 8;

/// AVX512-VNNI (Intel's from 2019, AMD's from 2022 on).
#[derive(Clone, Copy)]
pub(super) struct Avx512Vnni(());

/// AVX-VNNI (Intel's from 2021, AMD's from 2024 on), where AVX-512 is lacking.
#[derive(Clone, Copy)]
pub(super) struct AvxVnni(());

/// AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx512Vnni {
    pub(super) fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        has.then_some(Self(()))
    }

    pub(super) fn run<W: WithByteProducts>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
        fn compiled<W: WithByteProducts>(products: Avx512Vnni, work: W) -> W::Output {
            work.run(products)
        }
        // SAFETY: the processor has them.
        unsafe { compiled(self, work) }
    }
}

impl AvxVnni {
    pub(super) fn new() -> Option<Self> {
        (Avx2::new().is_some() && is_x86_feature_detected!("avxvnni")).then_some(Self(()))
    }

    pub(super) fn run<W: WithByteProducts>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,avxvnni,f16c,fma")]
        fn compiled<W: WithByteProducts>(products: AvxVnni, work: W) -> W::Output {
            work.run(products)
        }
        // SAFETY: the processor has them.
        unsafe { compiled(self, work) }
    }
}

impl Avx2 {
    pub(super) fn new() -> Option<Self> {
        let has =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") && is_x86_feature_detected!("fma");
        has.then_some(Self(()))
    }

    pub(super) fn run<W: WithByteProducts>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,f16c,fma")]
        fn compiled<W: WithByteProducts>(products: Avx2, work: W) -> W::Output {
            work.run(products)
        }
        // SAFETY: the processor has them.
        unsafe { compiled(self, work) }
    }
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
