//! Matrices of weights as kernels read them: words of 32 bits, that hold one number, two, or a part of a block of numbers.

use std::fmt;

use burn::backend::{BackendTensor, DispatchKindConversion, DispatchTensor};
use burn::nn::Linear;
use burn::tensor::{Device, Int, Shape, Tensor, TensorData};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, cubecl};

use super::{add_projection, output_like, rows, takes, tensor};
use crate::kernels::packed::{NumberType, PackedMatrix};
use crate::kernels::widening_dot::BLOCK;
use crate::kernels::{ComputeType, linear};
use cubecl::prelude::*;

/// Words of a block of 8-bit numbers: one for the scale, and one for each four numbers.
pub const BLOCK_WORDS: usize = 1 + BLOCK / 4;
/// Most bytes that are widened at once for a product with many rows.
const WIDENED: usize = 1 << 26;
const UNITS: u32 = 64;
/// The difference of the exponents' biases in 32 and 16 bits, in its place.
const EXPONENTS: u32 = 112 << 23;

/// A matrix `[rows, columns]` on a GPU, a row for each column of the output: as files have it, the transpose of Burn's weight.
#[derive(Clone)]
pub struct GpuMatrix {
    words: CubeTensor,
    pub kind: NumberType,
    pub rows: usize,
    pub columns: usize,
}

impl fmt::Debug for GpuMatrix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "GpuMatrix [{}, {}] in {}", self.rows, self.columns, self.kind.name())
    }
}

impl GpuMatrix {
    /// The weight of a projection; loaded ones are stored in this order, so that nothing is copied.
    pub fn of_linear(linear: &Linear) -> Self {
        Self::of_numbers(linear.weight.val().transpose())
    }

    /// Numbers in 32 bits.
    pub fn of_numbers(numbers: Tensor<2>) -> Self {
        let [rows_of, columns] = numbers.dims();
        Self { words: rows(numbers), kind: NumberType::F32, rows: rows_of, columns }
    }

    /// Moves a packed matrix to a GPU.
    pub fn upload(packed: &PackedMatrix, device: &Device) -> Self {
        let words: Vec<i32> = packed.words().into_iter().map(u32::cast_signed).collect();
        let shape = [words.len()];
        let words = Tensor::<1, Int>::from_data(TensorData::new(words, shape), device);
        let [rows, columns] = packed.dims();
        Self { words: integers(words), kind: packed.kind(), rows, columns }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        4 * self.words.meta.shape().num_elements()
    }

    pub(super) fn words(&self) -> CubeTensor {
        self.words.clone()
    }

    /// x · matrixᵀ: `[batch, seq, columns]` to `[batch, seq, rows]`; of few tokens in f32, whatever the type to compute in.
    pub fn product(&self, x: &Tensor<3>, compute: ComputeType) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        if takes(x) {
            let nothing = Tensor::zeros([batch, seq, self.rows], &x.device());
            return add_projection(self, x.clone(), &nothing);
        }
        let panel = (WIDENED / (4 * self.columns)).max(1);
        let panels = (0..self.rows).step_by(panel).map(|first| {
            let last = self.rows.min(first + panel);
            let ids = Tensor::arange(first as i64..last as i64, &x.device());
            let widened = self.widened(ids); // [panel, columns]
            linear(x.clone(), widened.transpose(), compute)
        });
        let mut panels: Vec<Tensor<3>> = panels.collect();
        if panels.len() == 1 { panels.remove(0) } else { Tensor::cat(panels, 2) }
    }

    /// The rows of ids `[batch, seq]`, which are in the matrix: `[batch, seq, columns]`.
    pub fn rows_of(&self, ids: &Tensor<2, Int>) -> Tensor<3> {
        let [batch, seq] = ids.dims();
        self.widened(ids.clone().reshape([batch * seq])).reshape([batch, seq, self.columns])
    }

    /// Rows in 32 bits: `[count]` to `[count, columns]`.
    fn widened(&self, ids: Tensor<1, Int>) -> Tensor<2> {
        let count = ids.dims()[0];
        let output = output_like(&self.words, Shape::new([count, self.columns]));
        widen::launch(
            &self.words.client.clone(),
            CubeCount::Static((self.columns as u32).div_ceil(UNITS), count as u32, 1),
            CubeDim::new_1d(UNITS),
            self.words().into_buffer_arg(),
            integers(ids).into_buffer_arg(),
            output.clone().into_buffer_arg(),
            self.columns,
            self.kind,
        );
        tensor(output)
    }
}

/// The buffer of integers, in row-major order.
pub fn integers(tensor: Tensor<1, Int>) -> CubeTensor {
    let tensor: Result<BackendTensor<Cube>, _> = DispatchTensor::try_into_backend(tensor.into_dispatch());
    into_contiguous(tensor.expect("the tensor is on the GPU").int())
}

#[cube(launch)]
fn widen(words: &[u32], ids: &[i32], output: &mut [f32], columns: usize, #[comptime] kind: NumberType) {
    let column = ABSOLUTE_POS_X as usize;
    let row = CUBE_POS_Y as usize;
    if column < columns {
        output[row * columns + column] = number(words, ids[row] as usize, column, columns, kind);
    }
}

/// The number at a row and column of a matrix of `columns` columns.
#[cube]
pub fn number(words: &[u32], row: usize, column: usize, columns: usize, #[comptime] kind: NumberType) -> f32 {
    match comptime!(kind) {
        NumberType::F32 => f32::reinterpret(words[row * columns + column]),
        NumberType::F16 => {
            let bits = half_word(words, row, column, columns);
            let exponent = (bits >> 10u32) & 0x1f;
            // Numbers below 2⁻¹⁴ are subnormal and are converted separately, since shaders may treat subnormal numbers
            // as 0.
            let mut magnitude = f32::reinterpret(((bits & 0x7fff) << 13u32) + EXPONENTS);
            if exponent == 0 {
                magnitude = (bits & 0x3ff) as f32 * 5.960_464_5e-8;
            }
            if bits >= 0x8000 { -magnitude } else { magnitude }
        }
        NumberType::Bf16 => f32::reinterpret(half_word(words, row, column, columns) << 16u32),
        NumberType::Q8 => {
            let block = (row * columns.div_ceil(BLOCK) + column / BLOCK) * BLOCK_WORDS;
            let place = column % BLOCK;
            let word = words[block + 1 + place / 4];
            // The shifts to the left and to the right extend the sign.
            let value = i32::reinterpret(word << (24 - 8 * (place % 4) as u32)) >> 24i32;
            f32::reinterpret(words[block]) * value as f32
        }
    }
}

/// 16 bits of a row that begins with a word.
#[cube]
fn half_word(words: &[u32], row: usize, column: usize, columns: usize) -> u32 {
    let word = words[row * columns.div_ceil(2) + column / 2];
    (word >> (16 * (column % 2) as u32)) & 0xffff
}
