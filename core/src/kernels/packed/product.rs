//! Products with packed matrices: numbers are widened on their way into the product, so that a token costs as many bytes as the
//! weights take.

use burn::tensor::{Device, Tensor, TensorData};
#[cfg(target_arch = "x86_64")]
use drope_instructions::bf16::{Pieces, Right};
use drope_instructions::{Matrix, halves};
use pulp::Simd;

use super::{Numbers, PackedMatrix};
use crate::kernels::constant;
use crate::kernels::linear::{Bf16Weights, ComputeType, product_in_f32, write_product_in_f32};
#[cfg(target_arch = "x86_64")]
use crate::kernels::linear::{is_faster_than_f32, product_by_parts};
use crate::kernels::parts::{in_parts, products_of, rows_in_parts};
use crate::kernels::views::numbers;
use crate::kernels::widening_dot::{BLOCK, bf16_to_f32, widening_dot};

/// Rows that a thread multiplies at once with few rows of the other factor.
const PANEL: usize = 64;
/// Rows that are widened at once for many rows of the other factor.
const WIDENED_ROWS: usize = 1024;
/// With more rows of the other factor than this, widening the matrix costs less than reading its rows again.
const FEW: usize = 8;

impl PackedMatrix {
    /// x · matrixᵀ: `[batch, seq, columns]` to `[batch, seq, rows]`. The tensor is on the CPU.
    ///
    /// In bf16 only where the processor multiplies bf16, and for so many tokens that time goes into computing and not into reading the
    /// matrix.
    pub fn product(&self, x: &Tensor<3>, compute: ComputeType) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let x = constant(x).to_contiguous();
        let output = self.product_of_rows(numbers(&x), batch * seq, compute);
        Tensor::from_data(TensorData::new(output, [batch, seq, self.rows]), &Device::flex())
    }

    /// x · matrixᵀ: `[count, columns]` to `[count, rows]`, row after row.
    fn product_of_rows(&self, x: &[f32], count: usize, compute: ComputeType) -> Vec<f32> {
        if count <= FEW {
            return self.product_with_few(x, count);
        }
        if compute == ComputeType::Bf16
            && let Some(weights) = self.in_bf16()
        {
            return weights.product(x, self.columns);
        }
        #[cfg(target_arch = "x86_64")]
        if is_faster_than_f32([count, self.columns, self.rows]) {
            return self.product_in_pieces(x, count);
        }
        self.product_with_many(x, count)
    }

    /// x · matrixᵀ for few rows of x.
    fn product_with_few(&self, x: &[f32], count: usize) -> Vec<f32> {
        let products = products_of(&[count, self.rows, self.columns]);
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
    }

    /// x · matrixᵀ for many rows of x. So much work goes into it that numbers are widened first, some rows at a time.
    fn product_with_many(&self, x: &[f32], count: usize) -> Vec<f32> {
        let (x, columns) = (Matrix::new(x, count, self.columns), self.columns);
        if let Numbers::F32(values) = &self.numbers {
            return product_in_f32(x, Matrix::new(values, self.rows, columns).transpose());
        }
        let (mut output, mut widened) = (vec![0.0; count * self.rows], Vec::new());
        for first in (0..self.rows).step_by(WIDENED_ROWS) {
            let rows = WIDENED_ROWS.min(self.rows - first);
            widened.resize(rows * columns, 0.0);
            rows_in_parts(&mut widened, columns, |row, widened| {
                self.widen(first + row..first + row + widened.len() / columns, widened);
            });
            let weights = Matrix::new(&widened, rows, columns).transpose();
            write_product_in_f32(x, weights, &mut output[first..], self.rows);
        }
        output
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
