//! Rows of tokens that meet quantized weights: rounded to 16 bits, with a scale for each part.

use drope_instructions::bytes::{
    ByteProducts, LARGEST, PART, Packed, STEP, STEPS, WithByteProducts, with_byte_products,
};

use crate::kernels::parts::{in_parts, rows_of_part};

/// Q6_K has a scale for each half of a part.
const HALF: usize = PART / 2;

/// Rows `[count, columns]`, each filled up with zeros to whole parts.
pub(super) struct Activations {
    pub(super) count: usize,
    /// Parts of a row.
    pub(super) parts: usize,
    /// `[count, parts]`.
    numbers: Vec<Packed>,
    /// `[count, parts]`.
    scales: Vec<f32>,
    /// Sums of the rounded numbers: `[count, parts, 2]`, one for each half of a part.
    sums: Vec<[f32; 2]>,
}

/// The parts of one row.
pub(super) struct Token<'a> {
    pub(super) numbers: &'a [Packed],
    pub(super) scales: &'a [f32],
    pub(super) sums: &'a [[f32; 2]],
}

impl Activations {
    /// Rounds rows of `columns` numbers.
    pub(super) fn new(x: &[f32], columns: usize) -> Self {
        let (count, parts) = (x.len() / columns, columns.div_ceil(PART));
        let mut rounded = Self {
            count,
            parts,
            numbers: vec![[[[0; STEP]; STEPS]; 2]; count * parts],
            scales: vec![0.0; count * parts],
            sums: vec![[0.0; 2]; count * parts],
        };
        let rows = rows_of_part(columns);
        let places = rounded.numbers.chunks_mut((rows * parts).max(1));
        let places = places.zip(rounded.scales.chunks_mut((rows * parts).max(1)));
        let places = places.zip(rounded.sums.chunks_mut((rows * parts).max(1)));
        in_parts(x.len(), x.chunks(rows * columns).zip(places), |(x, ((numbers, scales), sums))| {
            with_byte_products(Rounding { x, columns, numbers, scales, sums });
        });
        rounded
    }

    #[inline(always)]
    pub(super) fn token(&self, index: usize) -> Token<'_> {
        let parts = index * self.parts..(index + 1) * self.parts;
        Token { numbers: &self.numbers[parts.clone()], scales: &self.scales[parts.clone()], sums: &self.sums[parts] }
    }
}

/// Rounds rows of `columns` numbers into places that are 0.
struct Rounding<'a> {
    x: &'a [f32],
    columns: usize,
    numbers: &'a mut [Packed],
    scales: &'a mut [f32],
    sums: &'a mut [[f32; 2]],
}

impl WithByteProducts for Rounding<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: ByteProducts>(self, _: P) {
        let Self { x, columns, numbers, scales, sums } = self;
        let parts = x.chunks_exact(columns).flat_map(|row| row.chunks(PART));
        let places = numbers.iter_mut().zip(scales).zip(sums);
        let mut room = [0.0; PART];
        for (part, ((packed, scale), sums)) in parts.zip(places) {
            let numbers = match part.first_chunk::<PART>() {
                Some(numbers) => numbers,
                None => {
                    room.fill(0.0);
                    room[..part.len()].copy_from_slice(part);
                    &room
                }
            };
            let (most, not_finite) = largest(numbers);
            let inverse = if most > 0.0 { f32::from(LARGEST) / most } else { 0.0 };
            *scale = most / f32::from(LARGEST) + not_finite;
            let mut integers = [0; PART];
            for (integer, number) in integers.iter_mut().zip(numbers) {
                *integer = rounded_to_integer(number * inverse) as i16;
            }
            for (sum, half) in sums.iter_mut().zip(integers.as_chunks::<HALF>().0) {
                *sum = *scale * half.iter().map(|&integer| i32::from(integer)).sum::<i32>() as f32;
            }
            *packed = P::pack(&integers);
        }
    }
}

/// The largest magnitude, and 0, or NaN where a number is not finite.
#[inline(always)]
fn largest(numbers: &[f32; PART]) -> (f32, f32) {
    let mut most = numbers.map(f32::abs);
    // Neither NaN nor infinity times 0 is 0.
    let mut not_finite = numbers.map(|number| number * 0.0);
    for half in [16, 8, 4, 2, 1] {
        for at in 0..half {
            most[at] = if most[at + half] > most[at] { most[at + half] } else { most[at] };
            not_finite[at] += not_finite[at + half];
        }
    }
    (most[0], not_finite[0])
}

/// A number of at most 22 bits, rounded to even: a sum whose last bit is worth 1 does so, without the checks of a conversion.
#[inline(always)]
fn rounded_to_integer(number: f32) -> i32 {
    const LAST_BIT_IS_1: f32 = 12_582_912.0; // 1.5 · 2²³
    (number + LAST_BIT_IS_1).to_bits().wrapping_sub(LAST_BIT_IS_1.to_bits()).cast_signed()
}
