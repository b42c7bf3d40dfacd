//! x86: VNNI in vectors of 512 or 256 bits, which adds four products of bytes at once, or else products of 16 bits.
//!
//! A value of a type here exists only where the processor has its instructions: that is why calling them is safe.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, _mm_loadu_si128, _mm256_add_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi16,
    _mm256_cvtph_ps, _mm256_dpbusd_avx_epi32, _mm256_fmadd_ps, _mm256_hadd_epi32, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_mul_ps, _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_set1_ps,
    _mm256_setzero_si256, _mm256_slli_epi32, _mm256_storeu_ps, _mm512_add_epi32, _mm512_and_si512, _mm512_cvtepi32_ps,
    _mm512_cvtph_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_si512, _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_ps,
};
use std::ops::Range;

use super::{
    ByteProducts, Nibbles, PART, Packed, ROWS, STEPS, Weights, WithByteProducts, bytes_are_loaded, high_and_low,
    in_order, of_step,
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
                [both, _mm512_srli_epi32::<4>(both)].map(|half| _mm512_and_si512(half, nibble))
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
            [0, 1].map(|at| unsafe { _mm256_loadu_ps(numbers[at].as_ptr()) })
        }

        #[inline(always)]
        fn load_halves(self, bits: &[u16; ROWS]) -> [__m256; 2] {
            let (bits, _) = bits.as_chunks::<LANES>();
            // SAFETY: the processor has F16C, and a vector of halves is eight of them.
            [0, 1].map(|at| unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bits[at].as_ptr().cast())) })
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
            [0, 1].map(|at| unsafe { _mm256_mul_ps(a[at], b[at]) })
        }

        #[inline(always)]
        fn multiply_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
            // SAFETY: the processor has FMA.
            [0, 1].map(|at| unsafe { _mm256_fmadd_ps(a[at], b[at], c[at]) })
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
            let weights = [0, 1].map(|at| unsafe { _mm256_loadu_si256(halves[at].as_ptr().cast()) });
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
        [0, 1].map(|at| unsafe { _mm256_cvtepi32_ps(_mm256_add_epi32(_mm256_slli_epi32::<8>(high[at]), low[at])) })
    }

    floats_of_256_bits!();
}

impl ByteProducts for Avx2 {
    /// Two sums a row, of the first and of the last two columns of each step.
    type Sums = [__m256i; 4];

    const TILE: usize = 2;

    bytes_are_loaded!();

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        in_order(numbers)
    }

    #[inline(always)]
    fn zero(self) -> [__m256i; 4] {
        // SAFETY: the processor has AVX.
        [unsafe { _mm256_setzero_si256() }; 4]
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
            let (quarters, _) = weights[step].as_chunks::<16>();
            // SAFETY: the processor has AVX2, and half a vector is 16 bytes.
            let weights: [__m256i; 4] = std::array::from_fn(|at| unsafe {
                _mm256_cvtepu8_epi16(_mm_loadu_si128(quarters[at].as_ptr().cast()))
            });
            for (sums, numbers) in sums.iter_mut().zip(numbers) {
                let numbers = i64::from_le_bytes(*of_step(numbers, step));
                for (sum, weights) in sums.iter_mut().zip(weights) {
                    // SAFETY: the processor has AVX2.
                    *sum = unsafe { _mm256_add_epi32(*sum, _mm256_madd_epi16(weights, _mm256_set1_epi64x(numbers))) };
                }
            }
        }
    }

    #[inline(always)]
    fn floats(self, sums: [__m256i; 4]) -> [__m256; 2] {
        /// Rows 0, 1, 4, 5, 2, 3, 6 and 7, two by two, in their order.
        const IN_ORDER: i32 = 0b11_01_10_00;
        // SAFETY: the processor has AVX2.
        [0, 2].map(|at| unsafe {
            let rows = _mm256_hadd_epi32(sums[at], sums[at + 1]);
            _mm256_cvtepi32_ps(_mm256_permute4x64_epi64::<IN_ORDER>(rows))
        })
    }

    floats_of_256_bits!();
}
