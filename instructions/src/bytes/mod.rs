//! Dot products of bytes with numbers of 16 bits, exact in 32: the inner loop of a product with quantized weights.
//!
//! Numbers of 16 bits keep what activations are to about one part in 60,000, so that only weights are rounded. Instructions that multiply
//! bytes take such a number as two of them, 256 · high + low, both signed.
//!
//! What is written once for [`ByteProducts`] is compiled for every set of instructions here, and [`with_byte_products`] chooses the
//! fastest that the processor has. Integers are exact, so that all of them give the same sums.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod portable;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

use std::ops::Range;

use self::portable::Portable;

/// Rows of weights that are multiplied side by side.
pub const ROWS: usize = 16;

/// Columns that one step adds to the sums.
pub const STEP: usize = 4;

/// Columns that may have scales of their own.
pub const PART: usize = 32;

/// Steps of a part.
pub const STEPS: usize = PART / STEP;

/// Weights of a step, `[ROWS, STEP]`, without sign.
pub type Weights = [u8; ROWS * STEP];

/// Weights of a part in 4 bits: the lower halves of bytes are the first four steps, the upper halves the last four.
pub type Nibbles = [Weights; STEPS / 2];

/// A part of what weights are multiplied with, two bytes a number, in the order in which the instructions read them.
pub type Packed = [[[u8; STEP]; STEPS]; 2];

/// The largest number that weights are multiplied with: its high byte is 127.
pub const LARGEST: i16 = 127 * 256;

/// Instructions that multiply bytes. Whoever has a value of such a type may use them.
pub trait ByteProducts: Copy {
    /// A sum for each row, in 32 bits.
    type Sums: Copy;
    /// A float for each row.
    type Floats: Copy;
    /// Weights of a part in the form that [`Self::add_loaded`] reads.
    type Loaded;

    /// Tokens whose sums fit in registers.
    const TILE: usize;

    /// Numbers that weights are multiplied with, at most [`LARGEST`] and at least its negative, as the instructions read them.
    fn pack(numbers: &[i16; PART]) -> Packed;

    /// Sums of nothing.
    fn zero(self) -> Self::Sums;

    /// Adds weights · numbers of some steps of a part to the sums of each token. Sums stay in 32 bits up to 256 columns.
    fn add<const M: usize>(
        self,
        sums: &mut [Self::Sums; M],
        weights: &[Weights; STEPS],
        numbers: [&Packed; M],
        steps: Range<usize>,
    );

    /// As [`Self::add`] with all steps of a part of weights in 4 bits.
    #[inline(always)]
    fn add_nibbles<const M: usize>(self, sums: &mut [Self::Sums; M], weights: &Nibbles, numbers: [&Packed; M]) {
        let mut steps = [[0; ROWS * STEP]; STEPS];
        unpack_nibbles(weights, &mut steps);
        self.add(sums, &steps, numbers, 0..STEPS);
    }

    /// Weights of a part for [`Self::add_loaded`], so that they are widened and reordered once, and not for every tile of tokens.
    fn load_weights(self, weights: &[Weights; STEPS]) -> Self::Loaded;

    /// As [`Self::add`].
    fn add_loaded<const M: usize>(
        self,
        sums: &mut [Self::Sums; M],
        weights: &Self::Loaded,
        numbers: [&Packed; M],
        steps: Range<usize>,
    );

    /// The sums as floats.
    fn floats(self, sums: Self::Sums) -> Self::Floats;

    /// The same float for all rows.
    fn splat(self, number: f32) -> Self::Floats;

    /// A float for each row.
    fn load(self, numbers: &[f32; ROWS]) -> Self::Floats;

    /// A float of 16 bits for each row, widened.
    fn load_halves(self, bits: &[u16; ROWS]) -> Self::Floats;

    /// A float for each row.
    fn store(self, floats: Self::Floats) -> [f32; ROWS];

    /// a · b, row by row.
    fn multiply(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;

    /// a · b + c, row by row; rounded once where the processor can.
    fn multiply_add(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
}

/// Work that is compiled for every set of instructions; [`WithByteProducts::run`] has to be inlined always.
pub trait WithByteProducts {
    /// What it gives.
    type Output;

    /// Does it.
    fn run<P: ByteProducts>(self, products: P) -> Self::Output;
}

/// Does the work with the fastest instructions that the processor has.
#[inline]
pub fn with_byte_products<W: WithByteProducts>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(products) = x86::Avx512Vnni::new() {
            return products.run(work);
        }
        if let Some(products) = x86::AvxVnni::new() {
            return products.run(work);
        }
        if let Some(products) = x86::Avx2::new() {
            return products.run(work);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(products) = aarch64::DotProd::new() {
        return products.run(work);
    }
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return work.run(wasm::Simd128);
    #[allow(unreachable_code, reason = "wasm with vectors has returned")]
    work.run(Portable)
}

/// The steps of weights in 4 bits, a byte each.
#[inline(always)]
pub fn unpack_nibbles(weights: &Nibbles, steps: &mut [Weights; STEPS]) {
    let (lower, upper) = steps.split_at_mut(STEPS / 2);
    for ((lower, upper), bytes) in lower.iter_mut().zip(upper).zip(weights) {
        for ((lower, upper), byte) in lower.iter_mut().zip(upper).zip(bytes) {
            *lower = byte & 0x0f;
            *upper = byte >> 4;
        }
    }
}

/// Numbers of 16 bits, one behind another.
#[inline(always)]
fn in_order(numbers: &[i16; PART]) -> Packed {
    let mut packed = [[[0; STEP]; STEPS]; 2];
    let (bytes, _) = packed.as_flattened_mut().as_flattened_mut().as_chunks_mut();
    for (bytes, number) in bytes.iter_mut().zip(numbers) {
        *bytes = number.to_le_bytes();
    }
    packed
}

/// The bytes of a step of what [`in_order`] has packed.
#[inline(always)]
fn of_step(numbers: &Packed, step: usize) -> &[u8; 2 * STEP] {
    &numbers.as_flattened().as_flattened().as_chunks().0[step]
}

/// High bytes, then low ones, which are signed: from 128 on such a byte stands for 256 less.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
#[inline(always)]
fn high_and_low(numbers: &[i16; PART]) -> Packed {
    let mut packed = [[[0; STEP]; STEPS]; 2];
    let [high, low] = &mut packed;
    for ((high, low), &number) in high.as_flattened_mut().iter_mut().zip(low.as_flattened_mut()).zip(numbers) {
        *high = ((number + 128) >> 8) as u8;
        *low = number as u8;
    }
    packed
}

/// [`ByteProducts::Loaded`] of instructions that read bytes as they are.
macro_rules! bytes_are_loaded {
    () => {
        type Loaded = [Weights; STEPS];

        #[inline(always)]
        fn load_weights(self, weights: &[Weights; STEPS]) -> [Weights; STEPS] {
            *weights
        }

        #[inline(always)]
        fn add_loaded<const M: usize>(
            self,
            sums: &mut [Self::Sums; M],
            weights: &[Weights; STEPS],
            numbers: [&Packed; M],
            steps: Range<usize>,
        ) {
            self.add(sums, weights, numbers, steps);
        }
    };
}
use bytes_are_loaded;
