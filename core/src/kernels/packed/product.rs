//! Products with packed matrices: numbers are widened on their way into the product, so that a token costs as many bytes as the
//! weights take.

use burn::tensor::{Device, Tensor, TensorData};
#[cfg(target_arch = "x86_64")]
use drope_instructions::Matrix;
#[cfg(target_arch = "x86_64")]
use drope_instructions::bf16::{Pieces, Right};
use drope_instructions::halves;
use pulp::Simd;

use super::{Numbers, PackedMatrix};
use crate::kernels::constant;
use crate::kernels::linear::{Bf16Weights, ComputeType};
#[cfg(target_arch = "x86_64")]
use crate::kernels::linear::{is_faster_than_f32, product_by_parts};
use crate::kernels::parts::{in_parts, join_panels, products_of};
use crate::kernels::product::{Sizes, columns_at_once, multiply_tiles, tiled};
use crate::kernels::views::numbers;
use crate::kernels::widening_dot::{BLOCK, bf16_to_f32, widening_dot};

/// Rows that are widened at once: the columns of a product.
const PANEL: usize = 64;
/// Rows that are transposed at once, so that whole cache lines are written.
const TRANSPOSED_ROWS: usize = 16;
/// With more rows of the other factor than this, widening a panel costs less than reading its rows again.
const FEW: usize = 8;

impl PackedMatrix {
    /// x · matrixᵀ: `[batch, seq, columns]` to `[batch, seq, rows]`. The tensor is on the CPU.
    ///
    /// In bf16 only where the processor multiplies bf16, and for so many tokens that time goes into computing and not into reading the
    /// matrix.
    pub fn product(&self, x: &Tensor<3>, compute: ComputeType) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let x = constant(x).to_contiguous();
        let (x, count) = (numbers(&x), batch * seq);
        if compute == ComputeType::Bf16
            && count > FEW
            && let Some(weights) = self.in_bf16()
        {
            let output = weights.product(x, self.columns);
            return Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &Device::flex());
        }
        #[cfg(target_arch = "x86_64")]
        if is_faster_than_f32([count, self.columns, self.rows]) {
            let output = self.product_in_pieces(x, count);
            return Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &Device::flex());
        }
        let products = products_of(&[count, self.rows, self.columns]);
        let output = if count <= FEW {
            let parts = in_parts(products, 0..self.rows.div_ceil(PANEL), |part| {
                let rows = part * PANEL..self.rows.min((part + 1) * PANEL);
                let mut sums = vec![0.0; rows.len() * count];
                few(self, rows.start, x, &mut sums);
                sums
            });
            let mut output = vec![0.0; count * self.rows];
            for (at, sum) in parts.concat().into_iter().enumerate() {
                output[at % count * self.rows + at / count] = sum;
            }
            output
        } else {
            let (x, width) = (tiled(x, self.columns), columns_at_once(PANEL));
            let parts = in_parts(products, 0..self.rows.div_ceil(PANEL), |part| {
                let mut panel = vec![0.0; self.columns * PANEL];
                let mut sums = vec![0.0; count * PANEL];
                many(self, (part * PANEL, width), &x, &mut panel, &mut sums);
                sums
            });
            join_panels(&parts, PANEL, [count, self.rows])
        };
        Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &Device::flex())
    }

    /// x · matrixᵀ, row after row, in pieces of bf16 that are as precise as f32.
    #[cfg(target_arch = "x86_64")]
    fn product_in_pieces(&self, x: &[f32], count: usize) -> Vec<f32> {
        product_by_parts(Matrix::new(x, count, self.columns), self.rows, Pieces::Three, |rows| {
            let (count, mut room) = (rows.len(), Vec::new());
            let weights = Matrix::new(self.some_rows(rows, self.columns, &mut room), count, self.columns);
            Right::pack(weights.transpose(), 0..count, Pieces::Three)
        })
    }

    /// The matrix for products in bf16, where the processor has instructions for them: made once, since the whole matrix takes as long as some hundred tokens.
    fn in_bf16(&self) -> Option<&Bf16Weights> {
        let in_bf16 = self.in_bf16.get_or_init(|| {
            let mut room = Vec::new();
            Bf16Weights::new(self.some_rows(0..self.rows, self.columns, &mut room), self.columns)
        });
        in_bf16.as_ref()
    }

    /// One row · x `[columns]`.
    #[inline(always)]
    fn dot<S: Simd>(&self, simd: S, row: usize, x: &[f32]) -> f32 {
        let columns = self.columns;
        let place = row * columns..(row + 1) * columns;
        match &self.numbers {
            Numbers::F32(values) => widening_dot(simd, &values[place], x, |_, number| number),
            Numbers::F16(bits) => widening_dot(simd, &bits[place], x, |_, bits| halves::widened(bits)),
            Numbers::Bf16(bits) => widening_dot(simd, &bits[place], x, |_, bits| bf16_to_f32(bits)),
            Numbers::Q8 { values, scales } => {
                let blocks = columns.div_ceil(BLOCK);
                let (values, scales) = (&values[row * blocks * BLOCK..][..columns], &scales[row * blocks..][..blocks]);
                widening_dot(simd, values, x, |block, value| scales[block] * f32::from(value))
            }
        }
    }
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

/// Sums of a panel of rows from `first` on with many rows of `x`, which are tiled: `[count, PANEL]`. `panel` is room for the rows, widened
/// and transposed: `[PANEL / width, columns, width]`.
#[pulp::with_simd(many = pulp::Arch::new())]
#[inline(always)]
fn many_rows<'a, S: Simd>(
    simd: S,
    matrix: &'a PackedMatrix,
    (first, width): (usize, usize),
    x: &'a [f32],
    panel: &'a mut [f32],
    sums: &'a mut [f32],
) {
    let columns = matrix.columns;
    let written = width.min(TRANSPOSED_ROWS);
    let mut widened = vec![0.0; columns * TRANSPOSED_ROWS];
    for place in (0..PANEL.min(matrix.rows - first)).step_by(TRANSPOSED_ROWS) {
        for (row, widened) in (first + place..matrix.rows).zip(widened.chunks_exact_mut(columns)) {
            matrix.widen(row..row + 1, widened);
        }
        for (widened, row) in widened.chunks_exact(written * columns).zip((place..).step_by(written)) {
            let strip = &mut panel[row / width * width * columns..][..width * columns];
            for (column, strip) in strip.chunks_exact_mut(width).enumerate() {
                for (at, number) in strip[row % width..][..written].iter_mut().enumerate() {
                    *number = widened[at * columns + column];
                }
            }
        }
    }
    multiply_tiles(simd, Sizes { m: sums.len() / PANEL, k: columns, n: PANEL }, x, panel, sums);
}
