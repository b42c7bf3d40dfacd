//! The product of matrices in f32, by the crate gemm.

use gemm::Parallelism;

use crate::Matrix;

/// From so many multiplications on, several threads take less time than one.
#[cfg(feature = "threads")]
const MANY: usize = 1 << 22;

/// left · right, row after row. Panics where the columns of the left factor are not as many as the rows of the right one.
pub fn product(left: Matrix<'_>, right: Matrix<'_>) -> Vec<f32> {
    let ([m, k], [depth, n]) = (left.shape(), right.shape());
    assert_eq!(k, depth, "a product of [{m}, {k}] and [{depth}, {n}]");
    if k == 0 {
        return vec![0.0; m * n];
    }
    let mut output = Vec::with_capacity(m * n);
    let ([left_row, left_column], [right_row, right_column]) = (left.strides(), right.strides());
    // SAFETY: the factors have a number at each place that their strides lead to, since a matrix has rows · columns values, and
    // the output has room for m · n. All of it is written, and nothing of it is read before, as `read_dst` is false and k is above 0.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            output.as_mut_ptr(),
            1,
            n as isize,
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
            parallelism(m * n * k),
        );
        output.set_len(m * n);
    }
    output
}

/// Whether the caller's threads share a product of so many multiplications.
#[cfg(feature = "threads")]
pub fn is_worth_threads(multiplications: usize) -> bool {
    multiplications >= MANY
}

#[cfg(feature = "threads")]
fn parallelism(multiplications: usize) -> Parallelism {
    let is_shared = is_worth_threads(multiplications) && rayon::current_num_threads() > 1;
    if is_shared { Parallelism::Rayon(0) } else { Parallelism::None }
}

#[cfg(not(feature = "threads"))]
fn parallelism(_: usize) -> Parallelism {
    Parallelism::None
}

#[cfg(test)]
mod tests {
    use super::product;
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
                }
            }
        }
    }
}
