//! 64-bit ARM: SDOT, which adds four products of bytes at once (Apple's processors, and nearly all of servers and phones since 2018).
//!
//! A value of the type here exists only where the processor has its instructions: that is why calling them is safe.

use std::ops::Range;

use std::arch::aarch64::{
    float32x4_t, int32x4_t, uint8x16_t, vaddq_s32, vcvtq_f32_s32, vdupq_n_f32, vdupq_n_s32, vdupq_n_u8, veorq_u8,
    vfmaq_f32, vld1q_f32, vld1q_u8, vmulq_f32, vreinterpretq_u8_s32, vshlq_n_s32, vst1q_f32,
};
use std::arch::{asm, is_aarch64_feature_detected};

use super::{ByteProducts, PART, Packed, ROWS, STEPS, Weights, WithByteProducts, bytes_are_loaded, high_and_low};
use crate::halves::widened;

/// Four rows.
const LANES: usize = 4;
const VECTORS: usize = ROWS / LANES;

/// SDOT multiplies signed bytes: weights, which have no sign, are multiplied with so much taken off.
const ZERO: u8 = 128;

/// FEAT_DotProd.
#[derive(Clone, Copy)]
pub(super) struct DotProd(());

/// Sums with one of the two bytes of numbers.
#[derive(Clone, Copy)]
pub(super) struct HalfSums {
    /// Products with weights less [`ZERO`], a vector for each four rows.
    shifted: [int32x4_t; VECTORS],
    /// The numbers alone, which all rows have in common.
    numbers: int32x4_t,
}

impl DotProd {
    pub(super) fn new() -> Option<Self> {
        is_aarch64_feature_detected!("dotprod").then_some(Self(()))
    }

    pub(super) fn run<W: WithByteProducts>(self, work: W) -> W::Output {
        #[target_feature(enable = "neon,dotprod")]
        fn compiled<W: WithByteProducts>(products: DotProd, work: W) -> W::Output {
            work.run(products)
        }
        // SAFETY: the processor has them.
        unsafe { compiled(self, work) }
    }
}

/// `sum` + four products of signed bytes in each lane; the compiler's own intrinsic for it is not stable.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn sdot(mut sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
    // SAFETY: the instruction reads and writes these registers alone.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
            sum = inout(vreg) sum, a = in(vreg) a, b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}

impl ByteProducts for DotProd {
    /// Sums with high and with low bytes.
    type Sums = [HalfSums; 2];
    type Floats = [float32x4_t; VECTORS];

    const TILE: usize = 2;

    bytes_are_loaded!();

    #[inline(always)]
    fn pack(numbers: &[i16; PART]) -> Packed {
        high_and_low(numbers)
    }

    #[inline(always)]
    fn zero(self) -> [HalfSums; 2] {
        // SAFETY: the processor has NEON.
        let zero = unsafe { vdupq_n_s32(0) };
        [HalfSums { shifted: [zero; VECTORS], numbers: zero }; 2]
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
            // SAFETY: the processor has NEON, and a vector is 16 bytes.
            let shifted: [uint8x16_t; VECTORS] =
                std::array::from_fn(|at| unsafe { veorq_u8(vld1q_u8(quarters[at].as_ptr()), vdupq_n_u8(ZERO)) });
            for (sums, bytes) in sums.iter_mut().zip(numbers).flat_map(|(sums, numbers)| sums.iter_mut().zip(numbers)) {
                // SAFETY: the processor has the instructions.
                unsafe {
                    let bytes = vreinterpretq_u8_s32(vdupq_n_s32(i32::from_le_bytes(bytes[step])));
                    for (sum, shifted) in sums.shifted.iter_mut().zip(shifted) {
                        *sum = sdot(*sum, shifted, bytes);
                    }
                    sums.numbers = sdot(sums.numbers, vdupq_n_u8(1), bytes);
                }
            }
        }
    }

    #[inline(always)]
    fn floats(self, [high, low]: [HalfSums; 2]) -> [float32x4_t; VECTORS] {
        // SAFETY: the processor has NEON.
        unsafe {
            let whole = |high, low| vaddq_s32(vshlq_n_s32::<8>(high), low);
            let taken_off = vshlq_n_s32::<{ ZERO.ilog2() as i32 }>(whole(high.numbers, low.numbers));
            std::array::from_fn(|at| vcvtq_f32_s32(vaddq_s32(whole(high.shifted[at], low.shifted[at]), taken_off)))
        }
    }

    #[inline(always)]
    fn splat(self, number: f32) -> [float32x4_t; VECTORS] {
        // SAFETY: the processor has NEON.
        [unsafe { vdupq_n_f32(number) }; VECTORS]
    }

    #[inline(always)]
    fn load(self, numbers: &[f32; ROWS]) -> [float32x4_t; VECTORS] {
        let (numbers, _) = numbers.as_chunks::<LANES>();
        // SAFETY: the processor has NEON, and a vector is four floats.
        std::array::from_fn(|at| unsafe { vld1q_f32(numbers[at].as_ptr()) })
    }

    #[inline(always)]
    fn load_halves(self, bits: &[u16; ROWS]) -> [float32x4_t; VECTORS] {
        self.load(&bits.map(widened))
    }

    #[inline(always)]
    fn store(self, floats: [float32x4_t; VECTORS]) -> [f32; ROWS] {
        let mut numbers = [0.0; ROWS];
        for (numbers, floats) in numbers.as_chunks_mut::<LANES>().0.iter_mut().zip(floats) {
            // SAFETY: the processor has NEON, and a vector is four floats.
            unsafe { vst1q_f32(numbers.as_mut_ptr(), floats) };
        }
        numbers
    }

    #[inline(always)]
    fn multiply(self, a: [float32x4_t; VECTORS], b: [float32x4_t; VECTORS]) -> [float32x4_t; VECTORS] {
        // SAFETY: the processor has NEON.
        std::array::from_fn(|at| unsafe { vmulq_f32(a[at], b[at]) })
    }

    #[inline(always)]
    fn multiply_add(
        self,
        a: [float32x4_t; VECTORS],
        b: [float32x4_t; VECTORS],
        c: [float32x4_t; VECTORS],
    ) -> [float32x4_t; VECTORS] {
        // SAFETY: the processor has NEON.
        std::array::from_fn(|at| unsafe { vfmaq_f32(c[at], a[at], b[at]) })
    }
}
