//! The backward pass in tiles: the weights are computed again from the logarithms of their sums.

use burn_flex::FlexTensor;
use pulp::{Simd, WithSimd};

use super::FusedAttention;
use super::tiles::{Columns, KEYS, ROWS, Tile, padded, scatter};
use crate::kernels::math::{dot, exp};
use crate::kernels::parts::{in_parts, products_of};
use crate::kernels::product::{Left, Sizes, multiply};
use crate::kernels::views::{Heads, heads_inside};

/// What a backward pass reads.
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
}

/// Gradients of a key head, and of the query heads that it serves; rows are filled up with zeros.
struct HeadGradients {
    /// `[group · seq, width]`
    of_q: Vec<f32>,
    /// At least `[keys, width]`.
    of_k: Vec<f32>,
    /// At least `[keys, width]`.
    of_v: Vec<f32>,
}

impl Backward<'_> {
    /// Gradients of q, k and v.
    pub(super) fn gradients(&self) -> [FlexTensor; 3] {
        let ([batches, heads, seq, head_dim], [_, kv_heads, keys, _]) = (self.q.dims, self.k.dims);
        let (group, width) = (heads / kv_heads, padded(head_dim));
        let zeros = |[batch, heads, seq, width]: [usize; 4]| vec![0.0; batch * heads * seq * width];
        let (mut of_q, mut of_k, mut of_v) = (zeros(self.q.dims), zeros(self.k.dims), zeros(self.k.dims));
        let work =
            |at| pulp::Arch::new().dispatch(KeyHead { pass: self, batch: at / kv_heads, kv_head: at % kv_heads });
        for batch in 0..batches {
            let products = products_of(&[heads, seq, keys, head_dim]);
            let parts = in_parts(products, batch * kv_heads..(batch + 1) * kv_heads, work);
            for (kv_head, part) in parts.into_iter().enumerate() {
                for (head, of_head) in part.of_q.chunks_exact(seq * width).enumerate() {
                    scatter(of_head, width, &mut of_q, self.q.dims, [batch, kv_head * group + head, 0]);
                }
                scatter(&part.of_k[..keys * width], width, &mut of_k, self.k.dims, [batch, kv_head, 0]);
                scatter(&part.of_v[..keys * width], width, &mut of_v, self.k.dims, [batch, kv_head, 0]);
            }
        }
        [heads_inside(of_q, self.q.dims), heads_inside(of_k, self.k.dims), heads_inside(of_v, self.k.dims)]
    }
}

/// A key head of a backward pass.
struct KeyHead<'a> {
    pass: &'a Backward<'a>,
    batch: usize,
    kv_head: usize,
}

impl WithSimd for KeyHead<'_> {
    type Output = HeadGradients;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> HeadGradients {
        let Self { pass: Backward { kernel, q, k, v, output, gradient, log_sums }, batch, kv_head } = self;
        let [_, heads, seq, head_dim] = q.dims;
        let [_, kv_heads, keys, _] = k.dims;
        let (group, width) = (heads / kv_heads, padded(head_dim));
        let mut scratch = Scratch { weights: vec![0.0; ROWS * KEYS], of_logits: vec![0.0; ROWS * KEYS] };
        let mut key_values = KeyValues::new(k, v, batch, kv_head, width);
        let mut of_q = vec![0.0; group * seq * width];
        for (head, of_q) in (kv_head * group..).zip(of_q.chunks_exact_mut(seq * width)) {
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
                    gradients: &gradients[range.clone()],
                    log_sums: &log_sums[query..],
                    means: &means[query..],
                };
                for key in kernel.keys_of(batch, query, rows, keys).step_by(KEYS) {
                    let tile = Tile { batch, head, query, rows, key };
                    key_values.add_tile(simd, kernel, tile, &of_queries, &mut scratch, &mut of_q[range.clone()]);
                }
            }
        }
        HeadGradients { of_q, of_k: key_values.k_gradient, of_v: key_values.v_gradient }
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
