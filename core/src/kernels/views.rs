//! Tensors of the CPU backend as rows of numbers.

use std::ops::Range;

use burn::backend::{BackendTensor, DispatchKindConversion, DispatchTensor, Flex};
use burn::tensor::{Bytes, DType, Int, Shape, Tensor};
use burn_flex::{FlexTensor, Layout};

#[cfg(feature = "train")]
use super::primitive;

/// Numbers of a tensor that [`FlexTensor::to_contiguous`] has made.
pub(super) fn numbers(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("the tensor is contiguous f32")
}

/// A tensor's numbers in row-major order. The tensor is dropped here, so that its memory has one owner less.
#[cfg(feature = "train")]
pub(super) fn owned<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    primitive(tensor.into_dispatch()).to_contiguous()
}

/// Numbers of a tensor that [`owned`] has made, to be written; copied where another tensor shares them.
#[cfg(feature = "train")]
pub(super) fn mutable(tensor: &mut FlexTensor) -> &mut [f32] {
    let (start, end) = tensor.layout().contiguous_offsets().expect("the tensor is contiguous");
    &mut tensor.storage_mut::<f32>()[start..end]
}

/// Ids of a tensor on the CPU.
pub(super) fn indices(ids: &Tensor<2, Int>) -> Vec<usize> {
    let ids: Result<BackendTensor<Flex>, _> = DispatchTensor::try_into_backend(ids.clone().into_dispatch());
    let ids = ids.expect("the tensor is on the CPU").int().to_contiguous();
    match ids.dtype() {
        DType::I32 => ids.storage::<i32>().iter().map(|&id| id as usize).collect(),
        _ => ids.storage::<i64>().iter().map(|&id| id as usize).collect(),
    }
}

/// A tensor of `values` in row-major order.
pub(super) fn tensor(values: Vec<f32>, shape: Shape) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(values), Layout::contiguous(shape), DType::F32)
}

/// A tensor `[batch, heads, seq, width]` whose values are stored as `[batch, seq, heads, width]`, as a projection gives them
/// and as the next one reads them.
pub(super) fn heads_inside(values: Vec<f32>, [batch, heads, seq, width]: [usize; 4]) -> FlexTensor {
    let stored = Layout::contiguous(Shape::from([batch, seq, heads, width]));
    FlexTensor::new(Bytes::from_elems(values), stored.permute(&[0, 2, 1, 3]), DType::F32)
}

/// `[batch, heads, seq, width]` in which each row of `width` numbers is contiguous, in whatever order rows are stored.
pub(super) struct Heads {
    tensor: FlexTensor,
    pub(super) dims: [usize; 4],
    strides: [usize; 3],
}

impl Heads {
    pub(super) fn new(tensor: &FlexTensor) -> Self {
        let strides = tensor.layout().strides();
        let is_in_rows = strides[3] == 1 && strides.iter().all(|&stride| stride >= 0);
        let tensor = if is_in_rows { tensor.clone() } else { tensor.to_contiguous() };
        let (shape, strides) = (tensor.layout().shape(), tensor.layout().strides());
        let dims = [shape[0], shape[1], shape[2], shape[3]];
        let strides = [strides[0] as usize, strides[1] as usize, strides[2] as usize];
        Self { dims, strides, tensor }
    }

    /// One head: its numbers from the first on, and the distance of its rows.
    #[inline(always)]
    pub(super) fn head(&self, batch: usize, head: usize) -> (&[f32], usize) {
        let start = self.tensor.layout().start_offset() + batch * self.strides[0] + head * self.strides[1];
        (&self.tensor.storage::<f32>()[start..], self.strides[2].max(self.dims[3]))
    }

    /// The rows of one head.
    #[inline(always)]
    pub(super) fn rows(&self, batch: usize, head: usize) -> impl Iterator<Item = &[f32]> {
        let (values, stride) = self.head(batch, head);
        values.chunks(stride).take(self.dims[2]).map(|row| &row[..self.dims[3]])
    }

    /// One row.
    #[inline(always)]
    pub(super) fn row(&self, batch: usize, head: usize, at: usize) -> &[f32] {
        let (values, stride) = self.head(batch, head);
        &values[at * stride..][..self.dims[3]]
    }

    /// The rows of one head, each filled up with zeros to `width`: `[seq, width]`.
    pub(super) fn matrix(&self, batch: usize, head: usize, width: usize) -> Vec<f32> {
        self.some_rows(batch, head, 0..self.dims[2], width)
    }

    /// Some of the rows of one head, each filled up with zeros to `width`: `[rows, width]`.
    pub(super) fn some_rows(&self, batch: usize, head: usize, rows: Range<usize>, width: usize) -> Vec<f32> {
        let mut matrix = vec![0.0; rows.len() * width];
        for (filled, row) in matrix.chunks_exact_mut(width).zip(self.rows(batch, head).skip(rows.start)) {
            filled[..row.len()].copy_from_slice(row);
        }
        matrix
    }
}
