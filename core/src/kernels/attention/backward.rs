//! The backward pass in tiles: the weights are computed again from the logarithms of their sums.

use pulp::{Simd, WithSimd};

use super::FusedAttention;
use super::tiles::{Columns, KEYS, ROWS, Tile, padded, scatter};
use crate::kernels::math::{dot, exp};
use crate::kernels::product::{Left, Sizes, multiply};
use crate::kernels::views::Heads;

/// A backward pass.
pub(super) struct Backward<'a> {
    pub(super) kernel: &'a FusedAttention,
    pub(super) q: Heads,
    pub(super) k: Heads,
    pub(super) v: Heads,
    /// The output of the forward pass, `[batch, heads, seq, head_dim]`.
    pub(super) output: Heads,
    /// The gradient of the output, `[batch, heads, seq, head_dim]`.
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
        let mut scratch = Scratch { weights: vec![0.0; ROWS * KEYS], of_logits: vec![0.0; ROWS * KEYS] };
        for (batch, kv_head) in (0..batches).flat_map(|batch| (0..kv_heads).map(move |kv_head| (batch, kv_head))) {
            let mut key_values = KeyValues::new(&k, &v, batch, kv_head, width);
            for head in kv_head * group..(kv_head + 1) * group {
                let queries = q.matrix(batch, head, width); // [seq, width]
                let gradients = gradient.matrix(batch, head, width); // [seq, width]
                let log_sums = &log_sums[(batch * heads + head) * seq..][..seq];
                // Σ weight · gradient of weight, which is output · gradient.
                let rows_of_both = output.rows(batch, head).zip(gradient.rows(batch, head));
                let means: Vec<f32> = rows_of_both.map(|(output, gradient)| dot(output, gradient)).collect();
                for query in (0..seq).step_by(ROWS) {
                    let rows = ROWS.min(seq - query);
                    let range = query * width..(query + rows) * width;
                    let of_queries = Queries {
                        rows: &queries[range.clone()],
                        gradients: &gradients[range],
                        log_sums: &log_sums[query..],
                        means: &means[query..],
                    };
                    let mut q_gradient = vec![0.0; rows * width];
                    for key in kernel.keys_of(query, rows, keys).step_by(KEYS) {
                        let tile = Tile { batch, head, query, rows, key };
                        key_values.add_tile(simd, kernel, tile, &of_queries, &mut scratch, &mut q_gradient);
                    }
                    scatter(&q_gradient, width, of_q, q.dims, [batch, head, query]);
                }
            }
            let filled = keys * width;
            scatter(&key_values.k_gradient[..filled], width, of_k, k.dims, [batch, kv_head, 0]);
            scatter(&key_values.v_gradient[..filled], width, of_v, k.dims, [batch, kv_head, 0]);
        }
    }
}

/// Queries of a tile.
struct Queries<'a> {
    /// `[rows, width]`
    rows: &'a [f32],
    /// Gradients of their outputs, `[rows, width]`.
    gradients: &'a [f32],
    /// Logarithms of the sums of their softmax, at least `[rows]`.
    log_sums: &'a [f32],
    /// Output · gradient, at least `[rows]`.
    means: &'a [f32],
}

/// Buffers for a tile.
struct Scratch {
    /// `[ROWS, KEYS]`
    weights: Vec<f32>,
    /// Gradients of the logits, `[ROWS, KEYS]`.
    of_logits: Vec<f32>,
}

/// Keys and values of a head, filled up to whole tiles, with the gradients so far; rows are `[keys, width]`.
struct KeyValues {
    k_columns: Columns,
    v_columns: Columns,
    k_rows: Vec<f32>,
    k_gradient: Vec<f32>,
    v_gradient: Vec<f32>,
    width: usize,
}

impl KeyValues {
    fn new(k: &Heads, v: &Heads, batch: usize, kv_head: usize, width: usize) -> Self {
        let size = k.dims[2].next_multiple_of(KEYS) * width;
        let mut k_rows = k.matrix(batch, kv_head, width);
        k_rows.resize(size, 0.0);
        Self {
            k_columns: Columns::new(k.head(batch, kv_head), [k.dims[2], k.dims[3]], width),
            v_columns: Columns::new(v.head(batch, kv_head), [v.dims[2], v.dims[3]], width),
            k_rows,
            k_gradient: vec![0.0; size],
            v_gradient: vec![0.0; size],
            width,
        }
    }

    /// Adds what a tile contributes to the gradients, those of its queries into `q_gradient`, `[rows, width]`.
    #[inline(always)]
    fn add_tile<S: Simd>(
        &mut self,
        simd: S,
        kernel: &FusedAttention,
        tile: Tile,
        queries: &Queries,
        Scratch { weights, of_logits }: &mut Scratch,
        q_gradient: &mut [f32],
    ) {
        let (width, rows) = (self.width, tile.rows);
        kernel.logits(simd, tile, queries.rows, &self.k_columns, weights);
        self.v_columns.product(simd, tile, queries.gradients, of_logits);
        let tile_rows = weights.chunks_exact_mut(KEYS).zip(of_logits.chunks_exact_mut(KEYS));
        let of_rows = queries.log_sums.iter().zip(queries.means);
        for ((weights, of_logits), (&log_sum, &mean)) in tile_rows.zip(of_rows).take(rows) {
            for (weight, of_logit) in weights.iter_mut().zip(of_logits) {
                *weight = exp(*weight - log_sum);
                *of_logit = *weight * (*of_logit - mean);
            }
        }
        let at = tile.key * width..(tile.key + KEYS) * width;
        let (k_gradient, v_gradient) = (&mut self.k_gradient[at.clone()], &mut self.v_gradient[at.clone()]);
        let per_key = Sizes { m: KEYS, k: rows, n: width };
        let transposed = |values| Left::Transposed { values, stride: KEYS };
        multiply::<S, true>(simd, per_key, transposed(weights), queries.gradients, width, v_gradient);
        multiply::<S, true>(simd, per_key, transposed(of_logits), queries.rows, width, k_gradient);
        let per_query = Sizes { m: rows, k: KEYS, n: width };
        let of_logits = Left::Rows { values: of_logits, stride: KEYS };
        multiply::<S, true>(simd, per_query, of_logits, &self.k_rows[at], width, q_gradient);
    }
}
