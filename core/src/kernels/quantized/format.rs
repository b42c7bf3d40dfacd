//! The formats in which ggml keeps quantized numbers (ggml-quants.c): integers of few bits, in blocks that share scales.

use drope_instructions::bytes::PART;
use half::f16;

use crate::names::named;

/// Numbers of a block of the K formats.
const K: usize = 256;

named! {
    /// How quantized numbers are kept.
    #[allow(non_camel_case_types, reason = "ggml's names")]
    QuantizedFormat: "format of quantized numbers" {
        /// Blocks of 32 numbers of 4 bits and a scale.
        Q4_0 = "Q4_0",
        /// Blocks of 32 numbers of 4 bits, a scale and a minimum.
        Q4_1 = "Q4_1",
        /// Blocks of 32 numbers of 8 bits and a scale.
        Q8_0 = "Q8_0",
        /// Blocks of 256 numbers of 4 bits, with scales and minima of 6 bits for each 32.
        Q4K = "Q4_K",
        /// Blocks of 256 numbers of 6 bits, with scales of 8 bits for each 16.
        Q6K = "Q6_K",
    }
}

/// A part of a row: 32 numbers, which share their scales except in Q6_K. A number is scale · (integer − zero) − minimum, with the zero of
/// its format.
pub(crate) struct Part {
    /// Without sign.
    pub(super) integers: [u8; PART],
    /// Bits of an f16: the block's scale.
    pub(super) scale: u16,
    /// Bits of an f16: the minimum of a Q4_1, what minima of a Q4_K are multiplied by, else 0.
    pub(super) minimum: u16,
    /// What the block's scale and minimum are multiplied by in a Q4_K; what its scale is in each half of the part in a Q6_K, signed.
    pub(super) factors: [u8; 2],
}

impl QuantizedFormat {
    /// Numbers of a block.
    pub fn block(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q8_0 => PART,
            Self::Q4K | Self::Q6K => K,
        }
    }

    /// Bytes of a block.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::Q4_0 => 2 + 16,
            Self::Q4_1 => 2 + 2 + 16,
            Self::Q8_0 => 2 + 32,
            Self::Q4K => 2 + 2 + 12 + K / 2,
            Self::Q6K => K / 2 + K / 4 + K / 16 + 2,
        }
    }

    /// Bits of an integer.
    pub(super) fn bits(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q4K => 4,
            Self::Q6K => 6,
            Self::Q8_0 => 8,
        }
    }

    /// The integer that stands for 0, minima aside.
    pub(super) fn zero(self) -> u8 {
        match self {
            Self::Q4_1 | Self::Q4K => 0,
            Self::Q4_0 => 8,
            Self::Q6K => 32,
            Self::Q8_0 => 128,
        }
    }

    /// Whether a block has a minimum.
    pub(super) fn has_minima(self) -> bool {
        matches!(self, Self::Q4_1 | Self::Q4K)
    }

    /// How many f16 values a block has: 1, its scale, or 2, its scale and its minimum.
    pub(super) fn scales_per_block(self) -> usize {
        1 + usize::from(self.has_minima())
    }

    /// Whether a part has factors of its block's scale.
    pub(super) fn has_factors(self) -> bool {
        matches!(self, Self::Q4K | Self::Q6K)
    }

    /// The parts of a block.
    pub(crate) fn parts(self, block: &[u8]) -> impl Iterator<Item = Part> + '_ {
        let half = |at: usize| u16::from_le_bytes([block[at], block[at + 1]]);
        (0..self.block() / PART).map(move |part| match self {
            Self::Q4_0 => plain(nibbles(&block[2..]), half(0), 0),
            Self::Q4_1 => plain(nibbles(&block[4..]), half(0), half(2)),
            Self::Q8_0 => plain(std::array::from_fn(|at| block[2 + at] ^ 0x80), half(0), 0),
            Self::Q4K => {
                let bytes = &block[16 + part / 2 * PART..][..PART];
                let integers = std::array::from_fn(|at| if part % 2 == 0 { bytes[at] & 0x0f } else { bytes[at] >> 4 });
                Part { integers, scale: half(0), minimum: half(2), factors: q4_k_factors(&block[4..16], part) }
            }
            Self::Q6K => {
                let scales = &block[K / 2 + K / 4..];
                Part {
                    integers: q6_k_integers(block, part),
                    scale: half(K / 2 + K / 4 + K / 16),
                    minimum: 0,
                    factors: [scales[2 * part], scales[2 * part + 1]],
                }
            }
        })
    }
}

impl Part {
    /// Its numbers, bit for bit as ggml computes them.
    pub(crate) fn numbers(&self, format: QuantizedFormat) -> [f32; PART] {
        let [scale, minimum] = [self.scale, self.minimum].map(|bits| f16::from_bits(bits).to_f32());
        let [first, second] = self.factors;
        let (scales, minimum) = match format {
            QuantizedFormat::Q4K => ([scale * f32::from(first); 2], minimum * f32::from(second)),
            QuantizedFormat::Q6K => ([first, second].map(|factor| scale * f32::from(factor.cast_signed())), 0.0),
            QuantizedFormat::Q4_1 => ([scale; 2], -minimum),
            QuantizedFormat::Q4_0 | QuantizedFormat::Q8_0 => ([scale; 2], 0.0),
        };
        let integer = |at: usize| f32::from(i16::from(self.integers[at]) - i16::from(format.zero()));
        std::array::from_fn(|at| scales[at / (PART / 2)] * integer(at) - minimum)
    }

    /// Rounds numbers to a part of a Q8_0. What is not finite gives a scale that is not.
    pub(super) fn rounded(numbers: &[f32]) -> Self {
        let scale = scale_of_8_bits(numbers);
        let inverse = inverse(scale.to_f32());
        let mut integers = [128; PART];
        for (integer, number) in integers.iter_mut().zip(numbers) {
            *integer = (128 + (number * inverse).round() as i32) as u8;
        }
        Self { integers, scale: scale.to_bits(), minimum: 0, factors: [0; 2] }
    }
}

/// What the 8 bits of some numbers are multiplied by. It is NaN or infinite if one of the numbers is.
pub(in crate::kernels) fn scale_of_8_bits(numbers: &[f32]) -> f16 {
    // NaN stays NaN.
    let most = |most: f32, &number: &f32| if number.abs() > most || number.is_nan() { number.abs() } else { most };
    let most = numbers.iter().fold(0.0, most);
    let nearest = f16::from_f32(most / 127.0);
    // Rounded up, so that the largest number has 127 steps, however small it is.
    let is_below = nearest.is_finite() && nearest.to_f32() * 127.0 < most;
    if is_below { f16::from_bits(nearest.to_bits() + 1) } else { nearest }
}

/// 1 / scale, or 0 where all numbers are 0.
pub(in crate::kernels) fn inverse(scale: f32) -> f32 {
    if scale > 0.0 { 1.0 / scale } else { 0.0 }
}

fn plain(integers: [u8; PART], scale: u16, minimum: u16) -> Part {
    Part { integers, scale, minimum, factors: [0; 2] }
}

/// The lower halves of 16 bytes, then the upper ones.
fn nibbles(bytes: &[u8]) -> [u8; PART] {
    std::array::from_fn(|at| if at < PART / 2 { bytes[at] & 0x0f } else { bytes[at - PART / 2] >> 4 })
}

/// Factors of scale and minimum, of six bits each: the first four parts in bytes of their own, the others in what these leave free.
fn q4_k_factors(packed: &[u8], part: usize) -> [u8; 2] {
    if part < 4 {
        return [packed[part] & 63, packed[part + 4] & 63];
    }
    [(packed[part + 4] & 0x0f) | ((packed[part - 4] >> 6) << 4), (packed[part + 4] >> 4) | ((packed[part] >> 6) << 4)]
}

/// Four bits of each number are in the first half of the block, two in the next quarter.
fn q6_k_integers(block: &[u8], part: usize) -> [u8; PART] {
    // Two halves of 128, in each of which 32 bytes hold the upper bits of four parts.
    let (half, row) = (part / 4, part % 4);
    let low = &block[half * 64 + row % 2 * PART..][..PART];
    let high = &block[K / 2 + half * PART..][..PART];
    std::array::from_fn(|at| {
        let nibble = if row < 2 { low[at] & 0x0f } else { low[at] >> 4 };
        nibble | ((high[at] >> (2 * row)) & 3) << 4
    })
}
