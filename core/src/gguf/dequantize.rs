//! The types in which ggml stores numbers, and their widening to f32 (ggml-quants.c), bit for bit as PyPI's `gguf` does it.

use half::{bf16, f16};

/// Numbers of a block of the K types.
const K: usize = 256;

/// How a tensor's numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgmlType {
    /// 32 bits.
    F32,
    /// 16 bits.
    F16,
    /// The upper 16 bits of 32.
    Bf16,
    /// Blocks of 32 numbers of 4 bits and a scale.
    Q4_0,
    /// Blocks of 32 numbers of 4 bits, a scale and a minimum.
    Q4_1,
    /// Blocks of 32 numbers of 8 bits and a scale.
    Q8_0,
    /// Blocks of 256 numbers of 4 bits, with scales and minima of 6 bits for each 32.
    Q4K,
    /// Blocks of 256 numbers of 6 bits, with scales of 8 bits for each 16.
    Q6K,
}

impl GgmlType {
    const ALL: [Self; 8] = [Self::F32, Self::F16, Self::Bf16, Self::Q4_0, Self::Q4_1, Self::Q8_0, Self::Q4K, Self::Q6K];

    /// The name that llama.cpp gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q8_0 => "Q8_0",
            Self::Q4K => "Q4_K",
            Self::Q6K => "Q6_K",
        }
    }

    /// The type of ggml's number; of one that is not read, its name.
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        Ok(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            8 => Self::Q8_0,
            12 => Self::Q4K,
            14 => Self::Q6K,
            30 => Self::Bf16,
            6 => return Err("Q5_0".into()),
            7 => return Err("Q5_1".into()),
            10 => return Err("Q2_K".into()),
            11 => return Err("Q3_K".into()),
            13 => return Err("Q5_K".into()),
            other => return Err(format!("type {other}")),
        })
    }

    /// All names.
    pub(super) fn choices() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Numbers of a block.
    pub(super) fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q8_0 => 32,
            Self::Q4K | Self::Q6K => K,
        }
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => 2 + 16,
            Self::Q4_1 => 2 + 2 + 16,
            Self::Q8_0 => 2 + 32,
            Self::Q4K => 2 + 2 + 12 + K / 2,
            Self::Q6K => K / 2 + K / 4 + K / 16 + 2,
        }
    }
}

/// Numbers of whole blocks.
pub(super) fn dequantize(kind: GgmlType, bytes: &[u8]) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(bytes.len() / kind.block_bytes() * kind.block());
    for block in bytes.chunks_exact(kind.block_bytes()) {
        match kind {
            GgmlType::F32 => numbers.push(f32::from_le_bytes([block[0], block[1], block[2], block[3]])),
            GgmlType::F16 => numbers.push(half_at(block, 0)),
            GgmlType::Bf16 => numbers.push(bf16::from_le_bytes([block[0], block[1]]).to_f32()),
            GgmlType::Q4_0 => {
                let scale = half_at(block, 0);
                let number = |nibble: u8| scale * f32::from(nibble as i8 - 8);
                numbers.extend(low_then_high(&block[2..]).map(number));
            }
            GgmlType::Q4_1 => {
                let (scale, least) = (half_at(block, 0), half_at(block, 2));
                numbers.extend(low_then_high(&block[4..]).map(|nibble| scale * f32::from(nibble) + least));
            }
            GgmlType::Q8_0 => {
                let scale = half_at(block, 0);
                numbers.extend(block[2..].iter().map(|&byte| scale * f32::from(byte as i8)));
            }
            GgmlType::Q4K => q4_k(block, &mut numbers),
            GgmlType::Q6K => q6_k(block, &mut numbers),
        }
    }
    numbers
}

fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// The lower halves of all bytes, then the upper ones.
fn low_then_high(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    bytes.iter().map(|byte| byte & 0x0f).chain(bytes.iter().map(|byte| byte >> 4))
}

/// Eight parts of 32 numbers: d·scale·q − dmin·min.
fn q4_k(block: &[u8], numbers: &mut Vec<f32>) {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    let (packed, nibbles) = block[4..].split_at(12);
    for part in 0..8 {
        // Six bits each: the first four parts in bytes of their own, the others in what these leave free.
        let [factor, minimum] = if part < 4 {
            [packed[part] & 63, packed[part + 4] & 63]
        } else {
            [
                (packed[part + 4] & 0x0f) | ((packed[part - 4] >> 6) << 4),
                (packed[part + 4] >> 4) | ((packed[part] >> 6) << 4),
            ]
        };
        let (factor, minimum) = (scale * f32::from(factor), least * f32::from(minimum));
        let bytes = &nibbles[part / 2 * 32..][..32];
        let nibble = |byte: u8| if part % 2 == 0 { byte & 0x0f } else { byte >> 4 };
        numbers.extend(bytes.iter().map(|&byte| factor * f32::from(nibble(byte)) - minimum));
    }
}

/// Sixteen parts of 16 numbers of six bits, four in `low` and two in `high`: d·scale·(q − 32).
fn q6_k(block: &[u8], numbers: &mut Vec<f32>) {
    let (low, rest) = block.split_at(K / 2);
    let (high, rest) = rest.split_at(K / 4);
    let (scales, scale) = rest.split_at(K / 16);
    let scale = half_at(scale, 0);
    for place in 0..K {
        // Two halves of 128, in each of which 32 bytes of `high` hold the upper bits of four rows of 32.
        let (half, row, column) = (place / 128, place % 128 / 32, place % 32);
        let nibbles = low[half * 64 + row % 2 * 32 + column];
        let nibble = if row < 2 { nibbles & 0x0f } else { nibbles >> 4 };
        let bits = (high[half * 32 + column] >> (2 * row)) & 3;
        let number = (nibble | (bits << 4)) as i8 - 32;
        numbers.push(scale * f32::from(scales[place / 16] as i8) * f32::from(number));
    }
}
