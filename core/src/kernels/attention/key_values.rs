//! Keys and values that attention reads: tensors, or the matrices of a cache.

use std::ops::Range;

use burn::tensor::{Device, FloatDType, Tensor, TensorData};

use crate::kernels::packed::PackedMatrix;
use crate::kernels::views::Heads;
use crate::kernels::{constant, is_on_cpu};

/// Keys or values, `[batch, kv_heads, keys, head_dim]`, in the type in which they are kept.
#[allow(clippy::large_enum_variant, reason = "one of a layer at a time lives on the stack")]
pub enum KeysOrValues<'a> {
    /// A tensor.
    Tensor(Tensor<4>),
    /// Matrices of a cache on the CPU, of one sequence.
    Packed(PackedRows<'a>),
}

/// A matrix `[tokens, head_dim]` of each kv head, and the tokens that take part.
pub struct PackedRows<'a> {
    heads: &'a [PackedMatrix],
    tokens: Range<usize>,
}

impl<'a> PackedRows<'a> {
    /// All matrices have the same number of rows.
    pub fn new(heads: &'a [PackedMatrix], tokens: Range<usize>) -> Self {
        Self { heads, tokens }
    }
}

impl From<Tensor<4>> for KeysOrValues<'_> {
    fn from(tensor: Tensor<4>) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a> KeysOrValues<'a> {
    /// As a tensor in f32.
    pub fn tensor(self) -> Tensor<4> {
        match self {
            Self::Tensor(tensor) => tensor.cast(FloatDType::F32),
            Self::Packed(PackedRows { heads, tokens }) => {
                let head_dim = heads[0].dims()[1];
                let shape = [1, heads.len(), tokens.len(), head_dim];
                let values: Vec<Vec<f32>> = heads.iter().map(|head| head.widened(tokens.clone(), head_dim)).collect();
                Tensor::from_data(TensorData::new(values.concat(), shape), &Device::flex())
            }
        }
    }

    /// Whether the fused form can read them.
    pub(super) fn is_on_cpu(&self) -> bool {
        match self {
            Self::Tensor(tensor) => is_on_cpu(tensor),
            Self::Packed(_) => true,
        }
    }

    /// The rows as the fused form reads them, without gradients.
    pub(super) fn rows(self) -> Rows<'a> {
        match self {
            Self::Tensor(tensor) => Rows::Tensor(Heads::new(&constant(&tensor))),
            Self::Packed(rows) => Rows::Packed(rows),
        }
    }
}

/// Keys or values as the fused form reads them.
#[allow(clippy::large_enum_variant, reason = "one of a layer at a time lives on the stack")]
pub(super) enum Rows<'a> {
    Tensor(Heads),
    Packed(PackedRows<'a>),
}

impl Rows<'_> {
    /// `[kv_heads, keys]`
    pub(super) fn dims(&self) -> [usize; 2] {
        match self {
            Self::Tensor(tensor) => [tensor.dims[1], tensor.dims[2]],
            Self::Packed(PackedRows { heads, tokens }) => [heads.len(), tokens.len()],
        }
    }

    /// Some rows of a head, each filled up with zeros to `width`, and their stride: where they lie, or in `room`.
    #[inline(always)]
    pub(super) fn some_rows<'a>(
        &'a self,
        [batch, head]: [usize; 2],
        rows: Range<usize>,
        width: usize,
        room: &'a mut Vec<f32>,
    ) -> (&'a [f32], usize) {
        match self {
            Self::Tensor(tensor) if width == tensor.dims[3] => {
                let (values, stride) = tensor.head(batch, head);
                (&values[rows.start * stride..], stride)
            }
            Self::Tensor(tensor) => {
                *room = tensor.some_rows(batch, head, rows, width);
                (room, width)
            }
            Self::Packed(PackedRows { heads, tokens }) => {
                let rows = tokens.start + rows.start..tokens.start + rows.end;
                (heads[head].some_rows(rows, width, room), width)
            }
        }
    }

    /// All rows of a head, each filled up with zeros to `width`: `[keys, width]`.
    pub(super) fn matrix(&self, [batch, head]: [usize; 2], width: usize) -> Vec<f32> {
        match self {
            Self::Tensor(tensor) => tensor.matrix(batch, head, width),
            Self::Packed(PackedRows { heads, tokens }) => heads[head].widened(tokens.clone(), width),
        }
    }
}
