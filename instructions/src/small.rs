//! Products of small matrices of f32 that stay in the first caches, in browsers: vectors of 128 bits, whose sums fit in 16 registers.

use std::arch::wasm32::{f32x4_add, f32x4_mul, f32x4_splat, v128, v128_load, v128_load32_splat, v128_store};

/// Floats of a vector.
const LANES: usize = 4;
/// Vectors of a row that are summed beside each other.
const VECTORS: usize = 2;
const WIDTH: usize = VECTORS * LANES;

/// A factor: its values, and how many of them lie from one row to the next and from one column to the next.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    /// At least as many as lead to the last row and column.
    pub values: &'a [f32],
    /// From row to row, from column to column.
    pub steps: [usize; 2],
}

impl Factor<'_> {
    fn has(&self, rows: usize, columns: usize) -> bool {
        let last = |count: usize, step: usize| (count - 1).checked_mul(step);
        let place = || last(rows, self.steps[0])?.checked_add(last(columns, self.steps[1])?);
        rows == 0 || columns == 0 || place().is_some_and(|last| last < self.values.len())
    }
}

/// output = left · right, or output += left · right: `[m, k]` and `[k, n]` to `[m, n]`, row after row. Panics where n is no multiple of
/// 8, a row of the right factor does not lie in one piece, or values are missing.
pub fn product<const ADD: bool>([m, k, n]: [usize; 3], left: Factor<'_>, right: Factor<'_>, output: &mut [f32]) {
    assert!(n.is_multiple_of(WIDTH) && right.steps[1] == 1, "rows of {n} columns, {} apart", right.steps[1]);
    assert!(
        left.has(m, k) && right.has(k, n) && m.checked_mul(n).is_some_and(|size| size <= output.len()),
        "a product of [{m}, {k}] and [{k}, {n}]"
    );
    for column in (0..n).step_by(WIDTH) {
        let mut row = 0;
        while row < m {
            // SAFETY: the factors have a value at each place that their steps lead to, and the output has m · n of them. These are M of
            // m rows from `row` on and WIDTH of n columns from `column` on.
            row += unsafe {
                match m - row {
                    4.. => block::<4, ADD>([row, column], k, left, right, (output, n)),
                    2.. => block::<2, ADD>([row, column], k, left, right, (output, n)),
                    _ => block::<1, ADD>([row, column], k, left, right, (output, n)),
                }
            };
        }
    }
}

/// M rows of VECTORS vectors, from a row and a column on, summed in registers; returns M.
///
/// # Safety
///
/// The factors and the output, whose rows are n apart, have these rows and columns.
#[inline(always)]
unsafe fn block<const M: usize, const ADD: bool>(
    [row, column]: [usize; 2],
    k: usize,
    left: Factor<'_>,
    right: Factor<'_>,
    (output, n): (&mut [f32], usize),
) -> usize {
    // SAFETY: the caller has checked the places.
    unsafe {
        let output = output.as_mut_ptr().add(row * n + column);
        let place = |i: usize, at: usize| output.add(i * n + at * LANES).cast::<v128>();
        let mut sums = [[f32x4_splat(0.0); VECTORS]; M];
        if ADD {
            sums = std::array::from_fn(|i| std::array::from_fn(|at| v128_load(place(i, at))));
        }
        // Where k is 0 the factors may have no values, and the last step leads out of them.
        let mut factors = left.values.as_ptr().wrapping_add(row * left.steps[0]);
        let mut columns = right.values.as_ptr().wrapping_add(column);
        for _ in 0..k {
            let vectors: [v128; VECTORS] = std::array::from_fn(|at| v128_load(columns.add(at * LANES).cast()));
            for (i, sums) in sums.iter_mut().enumerate() {
                let factor = v128_load32_splat(factors.add(i * left.steps[0]).cast());
                for (sum, &vector) in sums.iter_mut().zip(&vectors) {
                    *sum = f32x4_add(*sum, f32x4_mul(factor, vector));
                }
            }
            factors = factors.wrapping_add(left.steps[1]);
            columns = columns.wrapping_add(right.steps[0]);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (at, &sum) in sums.iter().enumerate() {
                v128_store(place(i, at), sum);
            }
        }
    }
    M
}
