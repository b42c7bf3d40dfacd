//! The backward pass in tiles: the weights are computed again from the logarithms of their sums.

use pulp::{Simd, WithSimd};

use super::Attention;
use super::tiles::{Columns, KEYS, ROWS, Tile, padded, scatter};
use crate::kernels::math::{dot, exp};
use crate::kernels::product::{Left, Sizes, multiply};
use crate::kernels::views::Heads;

/// A backward pass.
pub(super) struct Backward<'a> {
    pub(super) kernel: &'a Attention,
    pub(super) q: Heads,
    pub(super) k: Heads,
    pub(super) v: Heads,
    /// Of the forward pass, `[batch, heads, seq, head_dim]`.
    pub(super) output: Heads,
    /// Of the output, `[batch, heads, seq, head_dim]`.
    pub(super) gradient: Heads,
    /// `[batch, heads, seq]`
    pub(super) log_sums: &'a [f32],
    /// `[batch, seq, heads, head_dim]`
    pub(super) of_q: &'a mut [f32],
    /// `[batch, keys, kv_heads, head_dim]`
    pub(super) of_k: &'a mut [f32],
    /// `[batch, keys, kv_heads, head_dim]`
    pub(super) of_v: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { kernel, q, k, v, output, gradient, log_sums, of_q, of_k, of_v } = self;
        let [batches, heads, seq, head_dim] = q.dims;
        let [_, kv_heads, keys, _] = k.dims;
        let (group, width) = (heads / kv_heads, padded(head_dim));
        let all_keys = keys.next_multiple_of(KEYS);
        let (mut weights, mut of_logits) = (vec![0.0; ROWS * KEYS], vec![0.0; ROWS * KEYS]);
        for batch in 0..batches {
            for kv_head in 0..kv_heads {
                let (k_columns, v_columns) =
                    (Columns::new(&k, batch, kv_head, width), Columns::new(&v, batch, kv_head, width));
                let mut k_rows = k.matrix(batch, kv_head, width);
                k_rows.resize(all_keys * width, 0.0);
                let (mut k_gradient, mut v_gradient) = (vec![0.0; all_keys * width], vec![0.0; all_keys * width]);
                for head in kv_head * group..(kv_head + 1) * group {
                    let queries = q.matrix(batch, head, width); // [seq, width]
                    let gradients = gradient.matrix(batch, head, width); // [seq, width]
                    let log_sums = &log_sums[(batch * heads + head) * seq..][..seq];
                    for query in (0..seq).step_by(ROWS) {
                        let rows = ROWS.min(seq - query);
                        let range = query * width..(query + rows) * width;
                        let (q_rows, g_rows) = (&queries[range.clone()], &gradients[range]);
                        // Σ weight · gradient of weight, which is output · gradient.
                        let mut means = [0.0; ROWS];
                        let outputs = output.rows(batch, head).zip(gradient.rows(batch, head)).skip(query);
                        for (mean, (output, gradient)) in means.iter_mut().take(rows).zip(outputs) {
                            *mean = dot(output, gradient);
                        }
                        let mut q_gradient = vec![0.0; rows * width];
                        for key in kernel.keys_of(query, rows, keys).step_by(KEYS) {
                            let tile = Tile { batch, head, query, rows, key };
                            kernel.logits(simd, tile, q_rows, &k_columns, &mut weights);
                            v_columns.product(simd, tile, g_rows, &mut of_logits);
                            let tile_rows = weights.chunks_exact_mut(KEYS).zip(of_logits.chunks_exact_mut(KEYS));
                            for ((weights, of_logits), (&log_sum, &mean)) in
                                tile_rows.zip(log_sums[query..].iter().zip(&means)).take(rows)
                            {
                                for (weight, of_logit) in weights.iter_mut().zip(of_logits) {
                                    *weight = exp(*weight - log_sum);
                                    *of_logit = *weight * (*of_logit - mean);
                                }
                            }
                            let at = key * width..(key + KEYS) * width;
                            let per_key = Sizes { m: KEYS, k: rows, n: width };
                            let transposed = |values| Left::Transposed { values, stride: KEYS };
                            let (k_gradient, v_gradient) = (&mut k_gradient[at.clone()], &mut v_gradient[at.clone()]);
                            multiply::<S, true>(simd, per_key, transposed(&weights), g_rows, width, v_gradient);
                            multiply::<S, true>(simd, per_key, transposed(&of_logits), q_rows, width, k_gradient);
                            let per_query = Sizes { m: rows, k: KEYS, n: width };
                            let of_logits = Left::Rows { values: &of_logits, stride: KEYS };
                            multiply::<S, true>(simd, per_query, of_logits, &k_rows[at], width, &mut q_gradient);
                        }
                        scatter(&q_gradient, width, of_q, q.dims, [batch, head, query]);
                    }
                }
                let filled = keys * width;
                scatter(&k_gradient[..filled], width, of_k, k.dims, [batch, kv_head, 0]);
                scatter(&v_gradient[..filled], width, of_v, k.dims, [batch, kv_head, 0]);
            }
        }
    }
}
