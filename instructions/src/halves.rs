//! Floats of 16 bits, widened.

/// Widens floats of 16 bits; both slices have the same length.
pub fn widen(bits: &[u16], numbers: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { x86::widen_with_avx512(bits, numbers) };
        }
        if is_x86_feature_detected!("f16c") {
            // SAFETY: the processor has the instructions.
            return unsafe { x86::widen_with_f16c(bits, numbers) };
        }
    }
    one_by_one(bits, numbers);
}

fn one_by_one(bits: &[u16], numbers: &mut [f32]) {
    for (number, &bits) in numbers.iter_mut().zip(bits) {
        *number = widened(bits);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm256_cvtph_ps, _mm256_loadu_si256, _mm256_storeu_ps, _mm512_cvtph_ps, _mm512_storeu_ps,
    };

    use super::one_by_one;

    #[target_feature(enable = "avx512f")]
    pub(super) fn widen_with_avx512(bits: &[u16], numbers: &mut [f32]) {
        let ((bits, last_bits), (numbers, last)) = (bits.as_chunks::<16>(), numbers.as_chunks_mut::<16>());
        for (numbers, bits) in numbers.iter_mut().zip(bits) {
            // SAFETY: a vector is 16 numbers.
            unsafe {
                _mm512_storeu_ps(numbers.as_mut_ptr(), _mm512_cvtph_ps(_mm256_loadu_si256(bits.as_ptr().cast())));
            };
        }
        one_by_one(last_bits, last);
    }

    #[target_feature(enable = "f16c")]
    pub(super) fn widen_with_f16c(bits: &[u16], numbers: &mut [f32]) {
        let ((bits, last_bits), (numbers, last)) = (bits.as_chunks::<8>(), numbers.as_chunks_mut::<8>());
        for (numbers, bits) in numbers.iter_mut().zip(bits) {
            // SAFETY: a vector is eight numbers.
            unsafe {
                _mm256_storeu_ps(numbers.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(bits.as_ptr().cast())));
            };
        }
        one_by_one(last_bits, last);
    }
}

/// Widens one. A multiplication changes the exponent; it is right for subnormal numbers too.
#[inline(always)]
pub fn widened(bits: u16) -> f32 {
    /// 2¹¹²: the difference of the exponents' biases.
    const SHIFT: f32 = f32::from_bits((112 + 127) << 23);
    /// What infinity becomes by that multiplication; NaN becomes more.
    const INFINITE: f32 = 65536.0;
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * SHIFT;
    let exponent = if magnitude >= INFINITE { f32::INFINITY.to_bits() } else { 0 };
    f32::from_bits(magnitude.to_bits() | exponent | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::{widen, widened};

    #[test]
    fn every_half_is_widened_exactly() {
        // A length that is no multiple of a vector's.
        let bits: Vec<u16> = (0..=u16::MAX).chain(0..3).collect();
        let mut together = vec![0.0; bits.len()];
        widen(&bits, &mut together);
        for (&bits, together) in bits.iter().zip(together) {
            let expected = half::f16::from_bits(bits).to_f32();
            for found in [widened(bits), together] {
                assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{bits:#x}");
            }
        }
    }
}
