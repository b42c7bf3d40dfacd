//! Numbers of f32 as sums of numbers of bf16.

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm256_loadu_si256, _mm512_castsi512_ps, _mm512_cvtepu16_epi32, _mm512_cvtne2ps_pbh,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_permutexvar_epi16, _mm512_slli_epi32, _mm512_storeu_si512,
    _mm512_sub_ps,
};

use super::pack::SIDE;

/// How many numbers of bf16 stand for one of f32, the largest first: one has 8 of its 24 bits, two have 16, three have all.
///
/// Products of pieces that are too small to count are left out: with two pieces 3 of 4 are computed, with three 6 of 9 (Henry, Tang and
/// Heinecke 2019, arXiv 1904.06376; BF16x2 and BF16x3 in oneMKL).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Rounded to bf16.
    One = 1,
    /// 16 bits: as precise as products of integers of 16 bits.
    Two = 2,
    /// As precise as products in f32.
    Three = 3,
}

impl Pieces {
    pub(crate) const fn count(self) -> usize {
        self as usize
    }

    /// Whether the caller's threads share a product `[m, k] · [k, n]`; with fewer multiplications it would be done before another begins.
    pub fn is_worth_threads(self, [m, k, n]: [usize; 3]) -> bool {
        const FEW: usize = 1 << 21;
        let products = self.count() * (self.count() + 1) / 2;
        m.saturating_mul(k).saturating_mul(n).saturating_mul(products) >= FEW
    }
}

/// The pieces of 32 numbers, the largest first: of the first 16 numbers as 8 words of two, then of the others.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(crate) fn pieces_of<const P: usize>(numbers: &[[f32; SIDE]; 2]) -> [[u32; SIDE]; P] {
    // SAFETY: a vector is 16 numbers.
    let mut left: [__m512; 2] = numbers.each_ref().map(|numbers| unsafe { _mm512_loadu_ps(numbers.as_ptr()) });
    let mut pieces = [[0; SIDE]; P];
    for piece in &mut pieces {
        // SAFETY: both are 512 bits, of which all values are valid.
        *piece = unsafe { std::mem::transmute::<__m512bh, [u32; SIDE]>(_mm512_cvtne2ps_pbh(left[1], left[0])) };
        for (left, words) in left.iter_mut().zip(piece.as_chunks::<{ SIDE / 2 }>().0) {
            // SAFETY: 8 words are 256 bits.
            let halves = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
            *left = _mm512_sub_ps(*left, _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves))));
        }
    }
    pieces
}

/// Words of one number of the first 16 and one of the others.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn interleaved(words: &[u32; SIDE]) -> [u32; SIDE] {
    const ORDER: [u16; 2 * SIDE] = {
        let mut order = [0; 2 * SIDE];
        let mut at = 0;
        while at < SIDE {
            order[2 * at] = at as u16;
            order[2 * at + 1] = (SIDE + at) as u16;
            at += 1;
        }
        order
    };
    let load = |pointer: *const __m512i| -> __m512i {
        // SAFETY: the callers give 512 bits.
        unsafe { _mm512_loadu_si512(pointer) }
    };
    let turned = _mm512_permutexvar_epi16(load(ORDER.as_ptr().cast()), load(words.as_ptr().cast()));
    let mut output = [0; SIDE];
    // SAFETY: a vector is 16 words.
    unsafe { _mm512_storeu_si512(output.as_mut_ptr().cast(), turned) };
    output
}

/// A piece, counted from 0, of two numbers that follow each other along k, as a word of a tile.
#[inline(always)]
pub fn piece_of_two<const PIECE: usize>(numbers: [f32; 2]) -> u32 {
    let [first, second] = numbers.map(piece::<PIECE>);
    first | second << 16
}

/// What the pieces before leave over, rounded.
#[inline(always)]
fn piece<const PIECE: usize>(number: f32) -> u32 {
    let left = (0..PIECE).fold(number, |left, _| left - f32::from_bits(to_bf16(left) << 16));
    to_bf16(left)
}

/// The upper 16 bits, rounded to nearest, ties to even; NaN stays NaN.
#[inline(always)]
fn to_bf16(number: f32) -> u32 {
    let bits = number.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if number.is_nan() { bits >> 16 | 0x40 } else { rounded }
}
