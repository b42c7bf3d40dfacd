//! The softmax of a tile's queries, whose keys come tile by tile.

use pulp::Simd;

use super::tiles::{KEYS, ROWS};
use crate::kernels::math::{LANES, exp, exp_all, max, sum};
use crate::kernels::product::{Left, Sizes, multiply};

/// The softmax of the queries of a tile over the keys so far.
pub(super) struct RunningSoftmax {
    rows: usize,
    width: usize,
    /// Largest logit of each query.
    largest: [f32; ROWS],
    /// Σ e^(logit − largest) of each query, in lanes that [`Self::finish`] adds up.
    sums: [[f32; LANES]; ROWS],
    /// Σ e^(logit − largest)·value, `[rows, width]`; after [`Self::finish`], the output.
    pub(super) output: Vec<f32>,
}

impl RunningSoftmax {
    pub(super) fn new(rows: usize, width: usize) -> Self {
        let output = vec![0.0; rows * width];
        Self { rows, width, largest: [f32::NEG_INFINITY; ROWS], sums: [[0.0; LANES]; ROWS], output }
    }

    /// Adds the logits of a tile, `[rows, KEYS]`, and its values: rows of `width` numbers, and their stride.
    #[inline(always)]
    pub(super) fn add<S: Simd>(&mut self, simd: S, logits: &mut [f32], (values, stride): (&[f32], usize), keys: usize) {
        self.replace_by_weights(logits);
        let sizes = Sizes { m: self.rows, k: keys, n: self.width };
        let weights = Left::Rows { values: logits, stride: KEYS };
        multiply::<S, true>(simd, sizes, weights, values, stride, &mut self.output);
    }

    /// Counts the logits of a tile, `[rows, KEYS]`, and makes them the weights of values that are to be added to the output.
    #[inline(always)]
    pub(super) fn replace_by_weights(&mut self, logits: &mut [f32]) {
        let rows = logits.chunks_exact_mut(KEYS).zip(self.output.chunks_exact_mut(self.width));
        for ((logits, output), (largest, sums)) in rows.zip(self.largest.iter_mut().zip(&mut self.sums)) {
            let before = *largest;
            let here = max(logits);
            *largest = if here > before { here } else { before };
            if *largest == f32::NEG_INFINITY {
                // This query has seen no key yet, so the weights are 0. NaN is kept.
                logits.iter_mut().for_each(|logit| *logit = if logit.is_nan() { *logit } else { 0.0 });
                continue;
            }
            let tile_sums = exp_all(logits, *largest);
            let kept = exp(before - *largest);
            for (sum, tile_sum) in sums.iter_mut().zip(tile_sums) {
                *sum = *sum * kept + tile_sum;
            }
            if kept != 1.0 {
                output.iter_mut().for_each(|value| *value *= kept);
            }
        }
    }

    /// Merges the softmax of the same queries over other keys.
    #[inline(always)]
    pub(super) fn merge(&mut self, other: &Self) {
        let rows = self.output.chunks_exact_mut(self.width).zip(other.output.chunks_exact(self.width));
        for (row, (output, others)) in rows.enumerate() {
            let (largest, of_other) = (self.largest[row], other.largest[row]);
            let both = if of_other > largest { of_other } else { largest };
            // Without any key so far the sums are 0, so the factor does not matter but must be finite. NaN is kept.
            let weight = |largest: f32| if largest == f32::NEG_INFINITY { 1.0 } else { exp(largest - both) };
            let (kept, added) = (weight(largest), weight(of_other));
            self.largest[row] = both;
            for (sum, other) in self.sums[row].iter_mut().zip(other.sums[row]) {
                *sum = *sum * kept + other * added;
            }
            for (value, other) in output.iter_mut().zip(others) {
                *value = *value * kept + other * added;
            }
        }
    }

    /// Divides by the sums, and gives their logarithms.
    #[inline(always)]
    pub(super) fn finish(&mut self) -> Vec<f32> {
        let rows = self.output.chunks_exact_mut(self.width).zip(self.largest.iter().zip(&self.sums));
        rows.map(|(output, (largest, &sums))| {
            let sum = sum(sums);
            let scale = 1.0 / sum;
            output.iter_mut().for_each(|value| *value *= scale);
            largest + sum.ln()
        })
        .collect()
    }
}
