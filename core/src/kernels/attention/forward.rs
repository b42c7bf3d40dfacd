//! The forward pass in tiles.

use pulp::{Simd, WithSimd};

use super::FusedAttention;
use super::key_values::Rows;
use super::running_softmax::RunningSoftmax;
use super::tiles::{Columns, KEYS, ROWS, Tile, padded};
use crate::kernels::parts::{in_parts, products_of};
use crate::kernels::views::Heads;

/// The inputs of a forward pass.
pub(super) struct Inputs<'a> {
    pub(super) kernel: &'a FusedAttention,
    pub(super) q: Heads,
    pub(super) k: Rows<'a>,
    pub(super) v: Rows<'a>,
}

/// The result for some queries of a head.
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

/// Computes the attention of all queries, tile by tile.
pub(super) fn in_tiles(inputs: &Inputs) -> Vec<Attended> {
    let width = padded(inputs.q.dims[3]);
    let head = |batch, kv_head| HeadInputs::new(inputs, batch, kv_head, width);
    in_rows_of_tiles(inputs, ROWS, head, |tile, key_values| {
        pulp::Arch::new().dispatch(RowOfTiles { inputs, tile, key_values, width })
    })
}

/// Prepares keys and values of each head of a batch, and computes the attention of so many queries at a time with them.
pub(super) fn in_rows_of_tiles<H: Send + Sync>(
    inputs: &Inputs,
    rows: usize,
    prepared: impl Fn(usize, usize) -> H + Send + Sync,
    attended: impl Fn(Tile, &H) -> Attended + Send + Sync,
) -> Vec<Attended> {
    let [batches, heads, seq, head_dim] = inputs.q.dims;
    let [kv_heads, keys] = inputs.k.dims();
    let products = products_of(&[batches, heads, seq, keys, head_dim]);
    let key_values = in_parts(products, 0..batches * kv_heads, |at| prepared(at / kv_heads, at % kv_heads));
    let tiles = (0..batches * heads).flat_map(|at| {
        let (batch, head) = (at / heads, at % heads);
        (0..seq).step_by(rows).map(move |query| Tile { batch, head, query, rows: rows.min(seq - query), key: 0 })
    });
    in_parts(products, tiles, |tile| {
        attended(tile, &key_values[tile.batch * kv_heads + tile.head / (heads / kv_heads)])
    })
}

/// Keys and values of a head.
struct HeadInputs {
    columns: Columns,
    /// `[keys, width]`
    values: Vec<f32>,
}

impl HeadInputs {
    fn new(Inputs { q, k, v, .. }: &Inputs, batch: usize, kv_head: usize, width: usize) -> Self {
        let ([_, keys], head_dim, mut room) = (k.dims(), q.dims[3], Vec::new());
        let rows = k.some_rows([batch, kv_head], 0..keys, head_dim, &mut room);
        let columns = Columns::new(rows, [keys, head_dim], width);
        Self { columns, values: v.matrix([batch, kv_head], width) }
    }
}

/// The queries of a tile and all keys that they attend to.
struct RowOfTiles<'a> {
    inputs: &'a Inputs<'a>,
    /// The first tile.
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
        for key in kernel.keys_of(batch, query, rows, columns.len).step_by(KEYS) {
            kernel.logits(simd, Tile { key, ..tile }, &queries, columns, &mut logits);
            sums.add(simd, &mut logits, (&values[key * width..], width), KEYS.min(columns.len - key));
        }
        let log_sums = sums.finish();
        Attended { batch, head, query, output: sums.output, width, log_sums }
    }
}
