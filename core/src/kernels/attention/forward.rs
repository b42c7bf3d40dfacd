//! The forward pass in tiles.

use pulp::{Simd, WithSimd};

use super::FusedAttention;
use super::tiles::{Columns, KEYS, ROWS, Tile, padded};
use crate::kernels::math::{exp, exp_all, max};
use crate::kernels::parts::in_parts;
use crate::kernels::product::{Left, Sizes, multiply};
use crate::kernels::views::Heads;

/// What a forward pass reads.
pub(super) struct Inputs<'a> {
    pub(super) kernel: &'a FusedAttention,
    pub(super) q: Heads,
    pub(super) k: Heads,
    pub(super) v: Heads,
}

/// What it gives for some queries of a head.
pub(super) struct Attended {
    pub(super) batch: usize,
    pub(super) head: usize,
    /// The first query.
    pub(super) query: usize,
    /// `[rows, width]`, of which the first `head_dim` of each row count.
    pub(super) output: Vec<f32>,
    pub(super) width: usize,
    /// ln Σ e^logit of each query.
    pub(super) log_sums: Vec<f32>,
}

/// All queries, tile by tile.
pub(super) fn in_tiles(inputs: &Inputs) -> Vec<Attended> {
    let [batches, heads, seq, head_dim] = inputs.q.dims;
    let [_, kv_heads, keys, _] = inputs.k.dims;
    let (group, width) = (heads / kv_heads, padded(head_dim));
    let products = batches * heads * seq * keys * head_dim;
    let key_values =
        in_parts(products, 0..batches * kv_heads, |at| HeadInputs::new(inputs, at / kv_heads, at % kv_heads, width));
    let tiles = (0..batches * heads).flat_map(|at| {
        let (batch, head) = (at / heads, at % heads);
        (0..seq).step_by(ROWS).map(move |query| Tile { batch, head, query, rows: ROWS.min(seq - query), key: 0 })
    });
    in_parts(products, tiles, |tile| {
        let key_values = &key_values[tile.batch * kv_heads + tile.head / group];
        pulp::Arch::new().dispatch(RowOfTiles { inputs, tile, key_values, width })
    })
}

/// Keys and values of a head.
struct HeadInputs {
    columns: Columns,
    /// `[keys, width]`
    values: Vec<f32>,
}

impl HeadInputs {
    fn new(Inputs { k, v, .. }: &Inputs, batch: usize, kv_head: usize, width: usize) -> Self {
        Self { columns: Columns::new(k, batch, kv_head, width), values: v.matrix(batch, kv_head, width) }
    }
}

/// The queries of a tile and all keys that they attend to.
struct RowOfTiles<'a> {
    inputs: &'a Inputs<'a>,
    /// The first.
    tile: Tile,
    key_values: &'a HeadInputs,
    width: usize,
}

impl WithSimd for RowOfTiles<'_> {
    type Output = Attended;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Attended {
        let Self { inputs: Inputs { kernel, q, .. }, tile, key_values: HeadInputs { columns, values }, width } = self;
        let Tile { batch, head, query, rows, .. } = tile;
        let queries = q.some_rows(batch, head, query..query + rows, width);
        let mut logits = vec![0.0; ROWS * KEYS];
        let mut sums = RunningSoftmax::new(rows, width);
        for key in kernel.keys_of(query, rows, columns.len).step_by(KEYS) {
            kernel.logits(simd, Tile { key, ..tile }, &queries, columns, &mut logits);
            sums.add(simd, &mut logits, &values[key * width..], KEYS.min(columns.len - key));
        }
        let log_sums = sums.finish();
        Attended { batch, head, query, output: sums.output, width, log_sums }
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

    /// Divides by the sums, and gives their logarithms.
    #[inline(always)]
    fn finish(&mut self) -> Vec<f32> {
        let rows = self.output.chunks_exact_mut(self.width).zip(self.largest.iter().zip(&self.sums));
        rows.map(|(output, (largest, sum))| {
            let scale = 1.0 / sum;
            output.iter_mut().for_each(|value| *value *= scale);
            largest + sum.ln()
        })
        .collect()
    }
}
