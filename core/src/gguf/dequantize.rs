//! The types in which ggml stores numbers, and their widening to f32, bit for bit as PyPI's `gguf` does it.

use burn::tensor::DType;
use half::{bf16, f16};

use crate::kernels::QuantizedFormat;

/// How a tensor's numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgmlType {
    /// 32 bits.
    F32,
    /// 16 bits.
    F16,
    /// The upper 16 bits of 32.
    Bf16,
    /// Few bits.
    Quantized(QuantizedFormat),
}

impl GgmlType {
    /// The name that llama.cpp gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::Quantized(format) => format.name(),
        }
    }

    /// The type of ggml's number; of one that is not read, its name.
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        Ok(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Quantized(QuantizedFormat::Q4_0),
            3 => Self::Quantized(QuantizedFormat::Q4_1),
            8 => Self::Quantized(QuantizedFormat::Q8_0),
            12 => Self::Quantized(QuantizedFormat::Q4K),
            14 => Self::Quantized(QuantizedFormat::Q6K),
            30 => Self::Bf16,
            6 => return Err("Q5_0".into()),
            7 => return Err("Q5_1".into()),
            10 => return Err("Q2_K".into()),
            11 => return Err("Q3_K".into()),
            13 => return Err("Q5_K".into()),
            other => return Err(format!("type {other}")),
        })
    }

    /// The type of numbers of 16 bits.
    pub(super) fn half_type(self) -> Option<DType> {
        match self {
            Self::F16 => Some(DType::F16),
            Self::Bf16 => Some(DType::BF16),
            Self::F32 | Self::Quantized(_) => None,
        }
    }

    /// All names.
    pub(super) fn choices() -> String {
        let wide = [Self::F32, Self::F16, Self::Bf16];
        let all: Vec<&str> =
            wide.into_iter().chain(QuantizedFormat::ALL.map(Self::Quantized)).map(Self::name).collect();
        all.join(", ")
    }

    /// Numbers of a block.
    pub(super) fn block(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Quantized(format) => format.block(),
        }
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Quantized(format) => format.block_bytes(),
        }
    }
}

/// Numbers of whole blocks.
pub(super) fn dequantize(kind: GgmlType, bytes: &[u8]) -> Vec<f32> {
    let blocks = bytes.chunks_exact(kind.block_bytes());
    match kind {
        GgmlType::F32 => blocks.map(|block| f32::from_le_bytes([block[0], block[1], block[2], block[3]])).collect(),
        GgmlType::F16 => blocks.map(|block| f16::from_le_bytes([block[0], block[1]]).to_f32()).collect(),
        GgmlType::Bf16 => blocks.map(|block| bf16::from_le_bytes([block[0], block[1]]).to_f32()).collect(),
        GgmlType::Quantized(format) => {
            blocks.flat_map(|block| format.parts(block).flat_map(move |part| part.numbers(format))).collect()
        }
    }
}
