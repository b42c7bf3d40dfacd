//! Matrices that are kept in 16 or 8 bits, and products with them on the CPU: numbers are widened on their way into the product, so that a
//! token costs as many bytes as the weights take.

use std::fmt;

use burn::tensor::{Shape, Tensor, TensorData};
use half::{bf16, f16};
use pulp::Simd;

use super::parts::in_parts;
use super::product::{Left, Sizes, multiply};
use super::views::numbers;
use super::widening_dot::{BLOCK, brain_widened, half_widened, widening_dot};
use super::{constant, views};
use crate::names::named;

named! {
    /// How the matrices of a model are kept in memory.
    WeightType: "type of weights in memory" {
        /// 32 bits.
        F32 = "f32",
        /// 16 bits: as exact as a file of such weights.
        F16 = "f16",
        /// The upper 16 bits of 32: as exact as a file of such weights.
        Bf16 = "bf16",
        /// 8 bits, and a scale for each 32 numbers of a row.
        Q8 = "q8",
    }
}

/// Rows that are widened at once: the columns of a product.
const PANEL: usize = 64;
/// Rows that are turned into columns at once, so that whole cache lines are written.
const TURNED: usize = 16;
/// With more rows of the other factor than this, widening a panel costs less than reading its rows again.
const FEW: usize = 8;

/// A matrix `[rows, columns]`, each row a column of the weight that Burn has.
pub struct PackedMatrix {
    rows: usize,
    columns: usize,
    numbers: Numbers,
}

enum Numbers {
    F32(Vec<f32>),
    F16(Vec<u16>),
    Bf16(Vec<u16>),
    /// Rows are filled up with zeros to whole blocks.
    Q8 {
        values: Vec<i8>,
        scales: Vec<f32>,
    },
}

impl fmt::Debug for PackedMatrix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PackedMatrix [{}, {}]", self.rows, self.columns)
    }
}

impl PackedMatrix {
    /// Room for a matrix `[rows, columns]`, which [`PackedMatrix::push`] fills.
    pub fn new(kind: WeightType, rows: usize, columns: usize) -> Self {
        let size = rows * columns;
        let numbers = match kind {
            WeightType::F32 => Numbers::F32(Vec::with_capacity(size)),
            WeightType::F16 => Numbers::F16(Vec::with_capacity(size)),
            WeightType::Bf16 => Numbers::Bf16(Vec::with_capacity(size)),
            WeightType::Q8 => {
                let blocks = rows * columns.div_ceil(BLOCK);
                Numbers::Q8 { values: Vec::with_capacity(blocks * BLOCK), scales: Vec::with_capacity(blocks) }
            }
        };
        Self { rows, columns, numbers }
    }

    /// Packs the next rows, one behind the other.
    pub fn push(&mut self, rows: &[f32]) {
        match &mut self.numbers {
            Numbers::F32(values) => values.extend_from_slice(rows),
            Numbers::F16(bits) => bits.extend(rows.iter().map(|&value| f16::from_f32(value).to_bits())),
            Numbers::Bf16(bits) => bits.extend(rows.iter().map(|&value| bf16::from_f32(value).to_bits())),
            Numbers::Q8 { values, scales } => {
                for block in rows.chunks(self.columns).flat_map(|row| row.chunks(BLOCK)) {
                    let largest = block.iter().fold(0.0f32, |most, value| most.max(value.abs()));
                    let scale = largest / 127.0;
                    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
                    scales.push(scale);
                    values.extend(block.iter().map(|value| (value * inverse).round() as i8));
                    values.resize(values.len().next_multiple_of(BLOCK), 0);
                }
            }
        }
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        match &self.numbers {
            Numbers::F32(values) => 4 * values.len(),
            Numbers::F16(bits) | Numbers::Bf16(bits) => 2 * bits.len(),
            Numbers::Q8 { values, scales } => values.len() + 4 * scales.len(),
        }
    }

    /// As kernels of GPUs read it: rows that begin with a word, the lower numbers of a word first, and a block's scale before it.
    #[cfg(feature = "gpu")]
    pub(super) fn words(&self) -> Vec<u32> {
        let halves = |bits: &[u16]| {
            let of_row = |row: &[u16]| row.chunks(2).map(pair).collect::<Vec<u32>>();
            bits.chunks(self.columns).flat_map(of_row).collect()
        };
        match &self.numbers {
            Numbers::F32(values) => values.iter().map(|value| value.to_bits()).collect(),
            Numbers::F16(bits) | Numbers::Bf16(bits) => halves(bits),
            Numbers::Q8 { values, scales } => {
                let mut words = Vec::with_capacity(values.len() / 4 + scales.len());
                for (block, scale) in values.as_chunks::<4>().0.chunks(BLOCK / 4).zip(scales) {
                    words.push(scale.to_bits());
                    words.extend(block.iter().map(|four| u32::from_le_bytes(four.map(i8::cast_unsigned))));
                }
                words
            }
        }
    }

    #[cfg(feature = "gpu")]
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    #[cfg(feature = "gpu")]
    pub(super) fn kind(&self) -> WeightType {
        match self.numbers {
            Numbers::F32(_) => WeightType::F32,
            Numbers::F16(_) => WeightType::F16,
            Numbers::Bf16(_) => WeightType::Bf16,
            Numbers::Q8 { .. } => WeightType::Q8,
        }
    }

    /// Whether all numbers stayed in the range of the type.
    pub fn is_finite(&self) -> bool {
        match &self.numbers {
            Numbers::F32(values) => values.iter().all(|value| value.is_finite()),
            Numbers::F16(bits) => bits.iter().all(|&bits| f16::from_bits(bits).is_finite()),
            Numbers::Bf16(bits) => bits.iter().all(|&bits| bf16::from_bits(bits).is_finite()),
            Numbers::Q8 { scales, .. } => scales.iter().all(|scale| scale.is_finite()),
        }
    }

    /// x · matrixᵀ: `[batch, seq, columns]` to `[batch, seq, rows]`. The tensor is on the CPU.
    pub fn product(&self, x: &Tensor<3>) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let x = constant(x).to_contiguous();
        let (x, count) = (numbers(&x), batch * seq);
        let mut output = vec![0.0; count * self.rows];
        let products = count * self.rows * self.columns;
        if count <= FEW {
            let parts = in_parts(products, 0..self.rows.div_ceil(PANEL), |part| {
                let rows = part * PANEL..self.rows.min((part + 1) * PANEL);
                let mut sums = vec![0.0; rows.len() * count];
                few(self, rows.start, x, &mut sums);
                sums
            });
            for (at, sum) in parts.concat().into_iter().enumerate() {
                output[at % count * self.rows + at / count] = sum;
            }
        } else {
            let parts = in_parts(products, 0..self.rows.div_ceil(PANEL), |part| {
                let mut panel = vec![0.0; self.columns * PANEL];
                let mut sums = vec![0.0; count * PANEL];
                many(self, part * PANEL, x, &mut panel, &mut sums);
                sums
            });
            for (part, sums) in parts.iter().enumerate() {
                let width = PANEL.min(self.rows - part * PANEL);
                for (row, sums) in output.chunks_exact_mut(self.rows).zip(sums.chunks_exact(PANEL)) {
                    row[part * PANEL..][..width].copy_from_slice(&sums[..width]);
                }
            }
        }
        Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &burn::tensor::Device::flex())
    }

    /// The rows of ids `[batch, seq]`: `[batch, seq, columns]`. The ids are on the CPU and in the matrix.
    pub fn rows(&self, ids: &Tensor<2, burn::tensor::Int>) -> Tensor<3> {
        let [batch, seq] = ids.dims();
        let mut output = vec![0.0; batch * seq * self.columns];
        let ids = views::indices(ids);
        for (row, id) in output.chunks_exact_mut(self.columns).zip(ids) {
            self.widen(id, row);
        }
        let shape = Shape::from([batch, seq, self.columns]);
        Tensor::from_data(TensorData::new(output, shape), &burn::tensor::Device::flex())
    }

    /// One row · x `[columns]`.
    #[inline(always)]
    fn dot<S: Simd>(&self, simd: S, row: usize, x: &[f32]) -> f32 {
        let columns = self.columns;
        let place = row * columns..(row + 1) * columns;
        match &self.numbers {
            Numbers::F32(values) => widening_dot(simd, &values[place], x, |_, number| number),
            Numbers::F16(bits) => widening_dot(simd, &bits[place], x, |_, bits| half_widened(bits)),
            Numbers::Bf16(bits) => widening_dot(simd, &bits[place], x, |_, bits| brain_widened(bits)),
            Numbers::Q8 { values, scales } => {
                let blocks = columns.div_ceil(BLOCK);
                let (values, scales) = (&values[row * blocks * BLOCK..][..columns], &scales[row * blocks..][..blocks]);
                widening_dot(simd, values, x, |block, value| scales[block] * f32::from(value))
            }
        }
    }

    /// One row.
    #[inline(always)]
    fn widen(&self, row: usize, output: &mut [f32]) {
        match &self.numbers {
            Numbers::F32(values) => output.copy_from_slice(&values[row * self.columns..][..self.columns]),
            Numbers::F16(bits) => {
                for (output, &bits) in output.iter_mut().zip(&bits[row * self.columns..]) {
                    *output = half_widened(bits);
                }
            }
            Numbers::Bf16(bits) => {
                for (output, &bits) in output.iter_mut().zip(&bits[row * self.columns..]) {
                    *output = brain_widened(bits);
                }
            }
            Numbers::Q8 { values, scales } => {
                let blocks = self.columns.div_ceil(BLOCK);
                let (values, scales) = (&values[row * blocks * BLOCK..], &scales[row * blocks..]);
                for ((output, values), &scale) in output.chunks_mut(BLOCK).zip(values.chunks_exact(BLOCK)).zip(scales) {
                    for (output, &value) in output.iter_mut().zip(values) {
                        *output = scale * f32::from(value);
                    }
                }
            }
        }
    }
}

/// Two halves of a word, or the last one.
#[cfg(feature = "gpu")]
fn pair(two: &[u16]) -> u32 {
    u32::from(two[0]) | two.get(1).map_or(0, |&upper| u32::from(upper) << 16)
}

/// Sums of the rows from `first` on with few rows of `x`: `[rows, count]`, as many rows as `sums` holds.
#[pulp::with_simd(few = pulp::Arch::new())]
#[inline(always)]
fn few_rows<'a, S: Simd>(simd: S, matrix: &'a PackedMatrix, first: usize, x: &'a [f32], sums: &'a mut [f32]) {
    let columns = matrix.columns;
    for (row, sums) in sums.chunks_exact_mut(x.len() / columns).enumerate() {
        for (sum, x) in sums.iter_mut().zip(x.chunks_exact(columns)) {
            *sum = matrix.dot(simd, first + row, x);
        }
    }
}

/// Sums of a panel of rows from `first` on with many rows of `x`: `[count, PANEL]`. `panel` is room for the rows, widened and
/// turned: `[columns, PANEL]`.
#[pulp::with_simd(many = pulp::Arch::new())]
#[inline(always)]
fn many_rows<'a, S: Simd>(
    simd: S,
    matrix: &'a PackedMatrix,
    first: usize,
    x: &'a [f32],
    panel: &'a mut [f32],
    sums: &'a mut [f32],
) {
    let columns = matrix.columns;
    let mut widened = vec![0.0; columns * TURNED];
    for place in (0..PANEL.min(matrix.rows - first)).step_by(TURNED) {
        for (row, widened) in (first + place..matrix.rows).zip(widened.chunks_exact_mut(columns)) {
            matrix.widen(row, widened);
        }
        for (column, panel) in panel.chunks_exact_mut(PANEL).enumerate() {
            for (row, number) in panel[place..place + TURNED].iter_mut().enumerate() {
                *number = widened[row * columns + column];
            }
        }
    }
    let sizes = Sizes { m: x.len() / columns, k: columns, n: PANEL };
    multiply::<S, false>(simd, sizes, Left::Rows { values: x, stride: columns }, panel, PANEL, sums);
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor, TensorData, Tolerance};

    use super::{PackedMatrix, WeightType};
    use crate::model::token_ids;

    fn wave(count: usize) -> Vec<f32> {
        (0..count).map(|i| (i as f32 * 0.37).sin() * (1.0 + i as f32 * 1e-3)).collect()
    }

    /// A matrix, packed piece by piece.
    fn packed(kind: WeightType, values: &[f32], columns: usize) -> PackedMatrix {
        let mut matrix = PackedMatrix::new(kind, values.len() / columns, columns);
        values.chunks(7 * columns).for_each(|rows| matrix.push(rows));
        matrix
    }

    #[test]
    fn products_and_rows_are_those_of_the_widened_matrix() {
        // A row that ends within a block, and more rows than a panel.
        let (rows, columns) = (150, 72);
        let values = wave(rows * columns);
        for (kind, bound) in
            [(WeightType::F32, 1e-9), (WeightType::F16, 1e-3), (WeightType::Bf16, 8e-3), (WeightType::Q8, 1e-2)]
        {
            let matrix = packed(kind, &values, columns);
            assert!(matrix.is_finite());
            let device = Device::flex();
            let all: Vec<u32> = (0..rows as u32).collect();
            let widened = matrix.rows(&token_ids(&all, [1, rows], &device)).reshape([rows, columns]);
            let numbers = widened.clone().into_data();
            let largest = numbers.iter::<f32>().zip(&values).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(largest < bound * 11.8, "{}: {largest}", kind.name());
            // Few rows of the other factor, and many.
            for count in [1, 3, 40] {
                let x = Tensor::<3>::from_data(TensorData::new(wave(count * columns), [1, count, columns]), &device);
                let expected = x.clone().reshape([count, columns]).matmul(widened.clone().transpose());
                let found = matrix.product(&x).reshape([count, rows]);
                let tolerance = Tolerance::<f32>::absolute(2e-4);
                found.into_data().assert_approx_eq(&expected.into_data(), tolerance);
            }
        }
        let eight = packed(WeightType::Q8, &values, columns);
        assert_eq!(eight.bytes(), rows * 96 + rows * 3 * 4);
        assert!(!packed(WeightType::F16, &[1e6, 0.0], 2).is_finite());
    }
}
