//! Matrices that are kept in 32, 16 or 8 bits on the CPU.

mod product;

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use burn::tensor::{Device, FloatDType, Int, Shape, Tensor, TensorData};
use drope_instructions::halves;
use half::{bf16, f16};

use super::constant;
use super::linear::Bf16Weights;
use super::quantized::{inverse, scale_of_8_bits};
use super::views::{Heads, indices};
use super::widening_dot::{BLOCK, bf16_to_f32};
use crate::names::named;

named! {
    /// How numbers are kept in memory: matrices of weights, keys and values.
    #[derive(Default)]
    NumberType: "type of numbers in memory" {
        /// 32 bits.
        #[default]
        F32 = "f32",
        /// 16 bits: as exact as a file of such weights.
        F16 = "f16",
        /// The upper 16 bits of 32: as exact as a file of such weights.
        Bf16 = "bf16",
        /// 8 bits, and a scale for each 32 numbers of a row.
        Q8 = "q8",
    }
}

impl NumberType {
    /// As a type of tensors, where a device has tensors of such numbers.
    pub fn dtype_on(self, device: &Device) -> Option<FloatDType> {
        let dtype = match self {
            Self::F32 => FloatDType::F32,
            Self::F16 => FloatDType::F16,
            Self::Bf16 => FloatDType::BF16,
            Self::Q8 => return None,
        };
        device.supports_dtype(dtype).then_some(dtype)
    }
}

/// A matrix `[rows, columns]`: weights, where each row is a column of Burn's matrix, or the keys or values of a head,
/// with one row for each token.
pub struct PackedMatrix {
    rows: usize,
    columns: usize,
    numbers: Numbers,
    /// The same matrix for products in bf16, once there was one; `None` where the processor does not multiply bf16.
    in_bf16: OnceLock<Option<Bf16Weights>>,
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
    pub fn new(kind: NumberType, rows: usize, columns: usize) -> Self {
        let size = rows * columns;
        let numbers = match kind {
            NumberType::F32 => Numbers::F32(Vec::with_capacity(size)),
            NumberType::F16 => Numbers::F16(Vec::with_capacity(size)),
            NumberType::Bf16 => Numbers::Bf16(Vec::with_capacity(size)),
            NumberType::Q8 => {
                let blocks = rows * columns.div_ceil(BLOCK);
                Numbers::Q8 { values: Vec::with_capacity(blocks * BLOCK), scales: Vec::with_capacity(blocks) }
            }
        };
        Self { rows: 0, columns, numbers, in_bf16: OnceLock::new() }
    }

    /// Packs the next rows, one behind the other.
    pub fn push(&mut self, rows: &[f32]) {
        self.rows += rows.len() / self.columns;
        self.in_bf16.take();
        match &mut self.numbers {
            Numbers::F32(values) => values.extend_from_slice(rows),
            Numbers::F16(bits) => bits.extend(rows.iter().map(|&value| f16::from_f32(value).to_bits())),
            Numbers::Bf16(bits) => bits.extend(rows.iter().map(|&value| bf16::from_f32(value).to_bits())),
            Numbers::Q8 { values, scales } => {
                for block in rows.chunks(self.columns).flat_map(|row| row.chunks(BLOCK)) {
                    let scale = scale_of_8_bits(block).to_f32();
                    let inverse = inverse(scale);
                    scales.push(scale);
                    values.extend(block.iter().map(|value| (value * inverse).round() as i8));
                    values.resize(values.len().next_multiple_of(BLOCK), 0);
                }
            }
        }
    }

    /// Packs the next rows of the matrices of all heads, `[1, heads, seq, columns]`. The tensor is on the CPU.
    pub fn push_heads(matrices: &mut [Self], rows: &Tensor<4>) {
        let heads = Heads::new(&constant(rows));
        for (head, matrix) in matrices.iter_mut().enumerate() {
            heads.rows(0, head).for_each(|row| matrix.push(row));
        }
    }

    /// Drops all rows after the first `rows`.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.in_bf16.take();
        let (numbers, blocks) = (rows * self.columns, rows * self.columns.div_ceil(BLOCK));
        match &mut self.numbers {
            Numbers::F32(values) => values.truncate(numbers),
            Numbers::F16(bits) | Numbers::Bf16(bits) => bits.truncate(numbers),
            Numbers::Q8 { values, scales } => {
                values.truncate(blocks * BLOCK);
                scales.truncate(blocks);
            }
        }
    }

    /// Drops the first `unseen` rows, and reserves memory for `rows` rows in total.
    pub fn make_room(&mut self, unseen: usize, rows: usize) {
        fn move_up<T>(numbers: &mut Vec<T>, unseen: usize, all: usize) {
            numbers.drain(..unseen);
            numbers.reserve_exact(all - numbers.len());
        }
        self.rows -= unseen;
        self.in_bf16.take();
        let (columns, blocks) = (self.columns, self.columns.div_ceil(BLOCK));
        match &mut self.numbers {
            Numbers::F32(values) => move_up(values, unseen * columns, rows * columns),
            Numbers::F16(bits) | Numbers::Bf16(bits) => move_up(bits, unseen * columns, rows * columns),
            Numbers::Q8 { values, scales } => {
                move_up(values, unseen * blocks * BLOCK, rows * blocks * BLOCK);
                move_up(scales, unseen * blocks, rows * blocks);
            }
        }
    }

    /// Some rows, each filled up with zeros to `width`: a view where they need no change, or else a copy in `room`.
    #[inline(always)]
    pub(super) fn some_rows<'a>(&'a self, rows: Range<usize>, width: usize, room: &'a mut Vec<f32>) -> &'a [f32] {
        if let Numbers::F32(values) = &self.numbers
            && width == self.columns
        {
            return &values[rows.start * width..rows.end * width];
        }
        self.widen_into(rows, width, room);
        room
    }

    /// As [`Self::some_rows`], in a new vector.
    pub(super) fn widened(&self, rows: Range<usize>, width: usize) -> Vec<f32> {
        let mut widened = Vec::new();
        self.widen_into(rows, width, &mut widened);
        widened
    }

    #[inline(always)]
    fn widen_into(&self, rows: Range<usize>, width: usize, room: &mut Vec<f32>) {
        // The padding has to be zero; the rest is overwritten.
        if width > self.columns {
            room.clear();
        }
        room.resize(rows.len() * width, 0.0);
        if width == self.columns {
            self.widen(rows, room);
        } else {
            for (row, widened) in rows.zip(room.chunks_exact_mut(width)) {
                self.widen(row..row + 1, &mut widened[..self.columns]);
            }
        }
    }

    /// Size in bytes.
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

    pub(super) fn dims(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    #[cfg(feature = "gpu")]
    pub(super) fn kind(&self) -> NumberType {
        match self.numbers {
            Numbers::F32(_) => NumberType::F32,
            Numbers::F16(_) => NumberType::F16,
            Numbers::Bf16(_) => NumberType::Bf16,
            Numbers::Q8 { .. } => NumberType::Q8,
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

    /// The rows of ids `[batch, seq]`: `[batch, seq, columns]`. The ids are on the CPU and in the matrix.
    pub fn rows(&self, ids: &Tensor<2, Int>) -> Tensor<3> {
        let [batch, seq] = ids.dims();
        let mut output = vec![0.0; batch * seq * self.columns];
        let ids = indices(ids);
        for (row, id) in output.chunks_exact_mut(self.columns).zip(ids) {
            self.widen(id..id + 1, row);
        }
        let shape = Shape::from([batch, seq, self.columns]);
        Tensor::from_data(TensorData::new(output, shape), &Device::flex())
    }

    /// Some rows, `[rows, columns]`.
    #[inline(always)]
    fn widen(&self, rows: Range<usize>, output: &mut [f32]) {
        let columns = self.columns;
        let place = rows.start * columns..rows.end * columns;
        match &self.numbers {
            Numbers::F32(values) => output.copy_from_slice(&values[place]),
            Numbers::F16(bits) => halves::widen(&bits[place], output),
            Numbers::Bf16(bits) => {
                for (output, &bits) in output.iter_mut().zip(&bits[place]) {
                    *output = bf16_to_f32(bits);
                }
            }
            Numbers::Q8 { values, scales } => {
                let blocks = columns.div_ceil(BLOCK);
                let values = values[rows.start * blocks * BLOCK..].chunks_exact(BLOCK);
                let mut blocks = values.zip(&scales[rows.start * blocks..]);
                for output in output.chunks_exact_mut(columns).flat_map(|row| row.chunks_mut(BLOCK)) {
                    let Some((values, &scale)) = blocks.next() else { break };
                    for (output, &value) in output.iter_mut().zip(values) {
                        *output = scale * f32::from(value);
                    }
                }
            }
        }
    }
}

/// A word of two numbers of 16 bits, or of the last one alone.
#[cfg(feature = "gpu")]
fn pair(two: &[u16]) -> u32 {
    u32::from(two[0]) | two.get(1).map_or(0, |&upper| u32::from(upper) << 16)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor, TensorData, Tolerance};

    use super::{NumberType, PackedMatrix};
    use crate::kernels::ComputeType;
    use crate::model::token_ids;

    fn wave(count: usize) -> Vec<f32> {
        (0..count).map(|i| (i as f32 * 0.37).sin() * (1.0 + i as f32 * 1e-3)).collect()
    }

    /// A matrix, packed piece by piece.
    fn packed(kind: NumberType, values: &[f32], columns: usize) -> PackedMatrix {
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
            [(NumberType::F32, 1e-9), (NumberType::F16, 1e-3), (NumberType::Bf16, 8e-3), (NumberType::Q8, 1e-2)]
        {
            let matrix = packed(kind, &values, columns);
            assert!(matrix.is_finite());
            let device = Device::flex();
            let all: Vec<u32> = (0..rows as u32).collect();
            let widened = matrix.rows(&token_ids(&all, [1, rows], &device)).reshape([rows, columns]);
            let numbers = widened.clone().into_data();
            let largest = numbers.iter::<f32>().zip(&values).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(largest < bound * 11.8, "{}: {largest}", kind.name());
            // Few rows of the other factor, many, and so many that processors with tiles multiply pieces of bf16.
            for count in [1, 3, 40, 900] {
                let x = Tensor::<3>::from_data(TensorData::new(wave(count * columns), [1, count, columns]), &device);
                let expected = x.clone().reshape([count, columns]).matmul(widened.clone().transpose());
                let found = matrix.product(&x, ComputeType::F32).reshape([count, rows]);
                let largest: f32 = expected.clone().abs().max().into_scalar();
                let tolerance = Tolerance::<f32>::absolute(2e-6 * largest);
                found.into_data().assert_approx_eq(&expected.clone().into_data(), tolerance);
                // Both factors are rounded to 8 bits.
                let rounded = matrix.product(&x, ComputeType::Bf16).reshape([count, rows]);
                let tolerance = Tolerance::<f32>::absolute(0.01 * largest);
                rounded.into_data().assert_approx_eq(&expected.into_data(), tolerance);
            }
        }
        let eight = packed(NumberType::Q8, &values, columns);
        assert_eq!(eight.bytes(), rows * 96 + rows * 3 * 4);
        assert!(!packed(NumberType::F16, &[1e6, 0.0], 2).is_finite());
    }

    /// A cache has to keep NaN and infinity, so that generation ends with an error message.
    #[test]
    fn what_is_not_finite_stays_so() {
        for kind in NumberType::ALL {
            for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let matrix = packed(kind, &[1.0, number, 2.0], 3);
                assert!(!matrix.widened(0..1, 3)[1].is_finite() && !matrix.is_finite(), "{number} in {}", kind.name());
            }
        }
    }
}
