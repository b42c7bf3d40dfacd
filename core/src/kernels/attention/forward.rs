//! The forward pass in tiles.

use pulp::{Simd, WithSimd};

use super::FusedAttention;
use super::tiles::{Columns, KEYS, ROWS, Tile, padded, scatter};
use crate::kernels::math::{exp, exp_all, max};
use crate::kernels::product::{Left, Sizes, multiply};
use crate::kernels::views::Heads;

/// A forward pass.
pub(super) struct Forward<'a> {
    pub(super) kernel: &'a FusedAttention,
    pub(super) q: Heads,
    pub(super) k: Heads,
    pub(super) v: Heads,
    /// `[batch, seq, heads, head_dim]`
    pub(super) output: &'a mut [f32],
    /// `[batch, heads, seq]`
    pub(super) log_sums: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { kernel, q, k, v, output, log_sums } = self;
        let [batches, heads, seq, head_dim] = q.dims;
        let [_, kv_heads, keys, _] = k.dims;
        let (group, width) = (heads / kv_heads, padded(head_dim));
        let mut logits = vec![0.0; ROWS * KEYS];
        for batch in 0..batches {
            for kv_head in 0..kv_heads {
                let columns = Columns::new(&k, batch, kv_head, width);
                let values = v.matrix(batch, kv_head, width); // [keys, width]
                for head in kv_head * group..(kv_head + 1) * group {
                    let queries = q.matrix(batch, head, width); // [seq, width]
                    let log_sums = &mut log_sums[(batch * heads + head) * seq..][..seq];
                    for query in (0..seq).step_by(ROWS) {
                        let rows = ROWS.min(seq - query);
                        let q_rows = &queries[query * width..(query + rows) * width];
                        let mut sums = RunningSoftmax::new(rows, width);
                        for key in kernel.keys_of(query, rows, keys).step_by(KEYS) {
                            let tile = Tile { batch, head, query, rows, key };
                            kernel.logits(simd, tile, q_rows, &columns, &mut logits);
                            sums.add(simd, &mut logits, &values[key * width..], KEYS.min(keys - key));
                        }
                        sums.finish(&mut log_sums[query..query + rows]);
                        scatter(&sums.output, width, output, q.dims, [batch, head, query]);
                    }
                }
            }
        }
    }
}

/// The softmax of the queries of a tile over the keys so far.
struct RunningSoftmax {
    rows: usize,
    width: usize,
    /// Largest logit of each query.
    largest: [f32; ROWS],
    /// Σ e^(logit − largest) of each query.
    sums: [f32; ROWS],
    /// Σ e^(logit − largest)·value, `[rows, width]`; after [`Self::finish`], the output.
    output: Vec<f32>,
}

impl RunningSoftmax {
    fn new(rows: usize, width: usize) -> Self {
        let output = vec![0.0; rows * width];
        Self { rows, width, largest: [f32::NEG_INFINITY; ROWS], sums: [0.0; ROWS], output }
    }

    /// Takes in the logits of a tile, `[rows, KEYS]`, and its values, `[keys, width]`.
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, logits: &mut [f32], values: &[f32], keys: usize) {
        let rows = logits.chunks_exact_mut(KEYS).zip(self.output.chunks_exact_mut(self.width));
        for ((logits, output), (largest, sum)) in rows.zip(self.largest.iter_mut().zip(&mut self.sums)) {
            let before = *largest;
            let here = max(logits);
            *largest = if here > before { here } else { before };
            if *largest == f32::NEG_INFINITY {
                // Nothing that this query attends to yet; NaN goes on.
                logits.iter_mut().for_each(|logit| *logit = if logit.is_nan() { *logit } else { 0.0 });
                continue;
            }
            let tile_sum = exp_all(logits, *largest);
            let kept = exp(before - *largest);
            *sum = *sum * kept + tile_sum;
            if kept != 1.0 {
                output.iter_mut().for_each(|value| *value *= kept);
            }
        }
        let sizes = Sizes { m: self.rows, k: keys, n: self.width };
        let weights = Left::Rows { values: logits, stride: KEYS };
        multiply::<S, true>(simd, sizes, weights, values, self.width, &mut self.output);
    }

    /// Divides by the sums, whose logarithms go into `log_sums`.
    #[inline(always)]
    fn finish(&mut self, log_sums: &mut [f32]) {
        let rows = self.output.chunks_exact_mut(self.width).zip(log_sums);
        for ((output, log_sum), (largest, sum)) in rows.zip(self.largest.iter().zip(&self.sums)) {
            *log_sum = largest + sum.ln();
            let scale = 1.0 / sum;
            output.iter_mut().for_each(|value| *value *= scale);
        }
    }
}
