//! The product of two panels by vectors of pairs (AVX512-BF16).
//!
//! One instruction adds to 16 sums two products each. AMD's processors do it as often as they add one product in f32, so that it is
//! twice as fast; Intel's half as often. AMD64 Architecture Programmer's Manual, volume 4, VDPBF16PS.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_ps,
    _mm512_storeu_ps,
};

use super::pack::{PAIR, PANEL, SIDE, Sums};

/// Rows of sums that are in registers at once, two vectors each. With fewer than four the processor waits for its own sums; with
/// more than 14 there are too few registers.
const ROWS: usize = 8;
/// Blocks along k that are read for all rows before the next: 16 KiB of the right factor, which stay in the first cache.
const BLOCKS: usize = 8;

/// Sums of two panels of the same k.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(crate) fn multiply(left: &[u32], right: &[u32], sums: &mut Sums) {
    sums.as_flattened_mut().fill(0.0);
    for (left, right) in left.chunks(BLOCKS * PAIR).zip(right.chunks(BLOCKS * PAIR)) {
        for (part, sums) in sums.as_chunks_mut().0.iter_mut().enumerate() {
            add_rows(left, right, part * ROWS, sums);
        }
    }
}

/// Adds what some blocks contribute to the sums of the rows from `first` on.
#[target_feature(enable = "avx512f,avx512bf16")]
fn add_rows(left: &[u32], right: &[u32], first: usize, sums: &mut [[f32; PANEL]; ROWS]) {
    let mut added = [[_mm512_setzero_ps(); 2]; ROWS];
    for (added, sums) in added.iter_mut().zip(&*sums) {
        for (added, sums) in added.iter_mut().zip(sums.as_chunks::<SIDE>().0) {
            // SAFETY: a vector is 16 numbers.
            *added = unsafe { _mm512_loadu_ps(sums.as_ptr()) };
        }
    }
    for (left, right) in left.as_chunks::<PAIR>().0.iter().zip(right.as_chunks::<PAIR>().0) {
        // Left [row, pair], right [half of the columns, pair, column].
        let left: &[[u32; SIDE]; ROWS] = left.as_chunks().0[first..].first_chunk().expect("rows of the panel");
        let right: &[[u32; SIDE]; 2 * SIDE] = right.as_chunks().0.first_chunk().expect("two tiles");
        for pair in 0..SIDE {
            let columns = [load_pairs(&right[pair]), load_pairs(&right[SIDE + pair])];
            for (added, row) in added.iter_mut().zip(left) {
                let number = pairs(_mm512_set1_epi32(row[pair].cast_signed()));
                added[0] = _mm512_dpbf16_ps(added[0], number, columns[0]);
                added[1] = _mm512_dpbf16_ps(added[1], number, columns[1]);
            }
        }
    }
    for (sums, added) in sums.iter_mut().zip(added) {
        for (sums, added) in sums.as_chunks_mut::<SIDE>().0.iter_mut().zip(added) {
            // SAFETY: a vector is 16 numbers.
            unsafe { _mm512_storeu_ps(sums.as_mut_ptr(), added) };
        }
    }
}

#[target_feature(enable = "avx512f")]
fn load_pairs(words: &[u32; SIDE]) -> __m512bh {
    // SAFETY: a vector is 16 words.
    pairs(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
}

/// The same bits as pairs of bf16.
fn pairs(words: __m512i) -> __m512bh {
    // SAFETY: both are 512 bits, of which all values are valid.
    unsafe { std::mem::transmute(words) }
}
