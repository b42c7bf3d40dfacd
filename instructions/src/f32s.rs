//! The product of matrices in f32, by the crate gemm.

use gemm::Parallelism;

use crate::Matrix;

/// left · right, row after row. Panics where the columns of the left factor are not as many as the rows of the right one.
pub fn product(left: Matrix<'_>, right: Matrix<'_>) -> Vec<f32> {
    let [m, n] = [left.shape()[0], right.shape()[1]];
    if left.shape()[1] == 0 {
        return vec![0.0; m * n];
    }
    let mut output = Vec::with_capacity(m * n);
    // SAFETY: the output has room for m · n numbers, and all of them are written.
    unsafe {
        write(left, right, output.as_mut_ptr(), n);
        output.set_len(m * n);
    }
    output
}

/// The same, written where the output's rows begin, which are `stride` numbers apart. Panics too where the output has not so many.
pub fn write_product(left: Matrix<'_>, right: Matrix<'_>, output: &mut [f32], stride: usize) {
    let [m, n] = [left.shape()[0], right.shape()[1]];
    assert!(n <= stride && m.saturating_sub(1) * stride + n <= output.len(), "[{m}, {n}] in {} numbers", output.len());
    if left.shape()[1] == 0 {
        output.chunks_mut(stride).take(m).for_each(|row| row[..n].fill(0.0));
        return;
    }
    // SAFETY: the output's last row ends within it.
    unsafe { write(left, right, output.as_mut_ptr(), stride) };
}

/// Writes every number of left · right, and reads none of them.
///
/// # Safety
///
/// The output has room for rows as those of the left factor, `stride` apart, of numbers as the right one has columns. The left factor
/// has a column.
unsafe fn write(left: Matrix<'_>, right: Matrix<'_>, output: *mut f32, stride: usize) {
    let ([m, k], [depth, n]) = (left.shape(), right.shape());
    assert_eq!(k, depth, "a product of [{m}, {k}] and [{depth}, {n}]");
    let ([left_row, left_column], [right_row, right_column]) = (left.strides(), right.strides());
    // SAFETY: the factors have a number at each place that their strides lead to, since a matrix has rows · columns values. The output
    // is not read, as `read_dst` is false and k is above 0.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            output,
            1,
            stride as isize,
            false,
            left.values.as_ptr(),
            left_column,
            left_row,
            right.values.as_ptr(),
            right_column,
            right_row,
            0.0f32,
            1.0f32,
            false,
            false,
            false,
            parallelism([m, k, n]),
        );
    }
}

/// Whether the caller's threads share a product `[m, k] · [k, n]`; with fewer multiplications one takes less time.
pub fn is_worth_threads([m, k, n]: [usize; 3]) -> bool {
    const MANY: usize = 1 << 22;
    m.saturating_mul(k).saturating_mul(n) >= MANY
}

#[cfg(feature = "threads")]
fn parallelism(sizes: [usize; 3]) -> Parallelism {
    let is_shared = is_worth_threads(sizes) && rayon::current_num_threads() > 1;
    if is_shared { Parallelism::Rayon(0) } else { Parallelism::None }
}

#[cfg(not(feature = "threads"))]
fn parallelism(_: [usize; 3]) -> Parallelism {
    Parallelism::None
}

#[cfg(test)]
mod tests {
    use super::{product, write_product};
    use crate::Matrix;

    #[test]
    fn every_order_of_the_factors_gives_the_sums() {
        // Small integers, whose products are exact; one product is large enough for several threads.
        for [m, k, n] in [[1, 1, 1], [3, 5, 2], [17, 40, 33], [130, 200, 260], [4, 0, 3]] {
            let number = |row: usize, column: usize, step: usize| ((row * step + column * 7) % 9) as f32 - 4.0;
            let matrix = |rows: usize, columns: usize, step: usize| -> Vec<f32> {
                (0..rows * columns).map(|at| number(at / columns, at % columns, step)).collect()
            };
            let turned = |rows: usize, columns: usize, step: usize| -> Vec<f32> {
                (0..rows * columns).map(|at| number(at % rows, at / rows, step)).collect()
            };
            let (a, a_turned) = (matrix(m, k.max(1), 3)[..m * k].to_vec(), turned(m, k, 3));
            let (b, b_turned) = (matrix(k, n, 5), turned(k, n, 5));
            let expected: Vec<f32> =
                (0..m * n).map(|at| (0..k).map(|i| number(at / n, i, 3) * number(i, at % n, 5)).sum()).collect();
            for left in [Matrix::new(&a, m, k), Matrix::new(&a_turned, k, m).transpose()] {
                for right in [Matrix::new(&b, k, n), Matrix::new(&b_turned, n, k).transpose()] {
                    assert_eq!(product(left, right), expected, "[{m}, {k}] · [{k}, {n}]");
                    // As the middle columns of a wider matrix, of which nothing else changes.
                    let mut wider = vec![0.5; m * (n + 3)];
                    write_product(left, right, &mut wider[2..], n + 3);
                    for (row, expected) in wider.chunks(n + 3).zip(expected.chunks(n)) {
                        assert_eq!([&row[..2], &row[2..n + 2], &row[n + 2..]], [&[0.5; 2], expected, &[0.5]]);
                    }
                }
            }
        }
    }
}
