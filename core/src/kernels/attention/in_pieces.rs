//! The forward pass on processors with tiles for bf16 (AMX): numbers are split into three pieces of bf16, so that products are as precise
//! as in f32 and take less time.

use drope_instructions::Matrix;
use drope_instructions::bf16::{self, Left, PANEL, Part, Pieces, Right, multiply_part};
use pulp::{Simd, WithSimd};

use super::forward::{Attended, Inputs, in_rows_of_tiles};
use super::running_softmax::RunningSoftmax;
use super::tiles::{KEYS, Tile};

/// Where heads are smaller, it takes longer to split the weights of the softmax into pieces than to multiply them in f32.
const SMALLEST_HEAD: usize = 64;

/// Whether attention takes less time by tiles than in f32.
pub(super) fn is_faster_than_f32([_, _, seq, head_dim]: [usize; 4]) -> bool {
    seq >= PANEL && head_dim >= SMALLEST_HEAD && bf16::is_available(Pieces::Three)
}

/// Computes the attention of all queries, as many at a time as a panel has rows.
pub(super) fn in_pieces(inputs: &Inputs) -> Vec<Attended> {
    let head = |batch, kv_head| PackedHead::new(inputs, batch, kv_head);
    in_rows_of_tiles(inputs, PANEL, head, |tile, head| {
        pulp::Arch::new().dispatch(PanelOfQueries { inputs, tile, head })
    })
}

/// Keys and values of a head.
struct PackedHead {
    /// `[head_dim, keys]`
    keys: Right,
    /// `[keys, head_dim]`
    values: Right,
    /// Number of keys.
    len: usize,
}

impl PackedHead {
    fn new(Inputs { q, k, v, .. }: &Inputs, batch: usize, kv_head: usize) -> Self {
        let ([_, len], head_dim) = (k.dims(), q.dims[3]);
        let [keys, values] = [k, v].map(|rows| rows.matrix([batch, kv_head], head_dim));
        let matrix = |rows| Matrix::new(rows, len, head_dim);
        Self {
            keys: Right::pack(matrix(&keys).transpose(), 0..len, Pieces::Three),
            values: Right::pack(matrix(&values), 0..head_dim, Pieces::Three),
            len,
        }
    }
}

/// The queries of a tile and all keys that they attend to.
struct PanelOfQueries<'a> {
    inputs: &'a Inputs<'a>,
    /// The first tile.
    tile: Tile,
    head: &'a PackedHead,
}

impl WithSimd for PanelOfQueries<'_> {
    type Output = Attended;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Attended {
        let Self { inputs: Inputs { kernel, q, .. }, tile, head } = self;
        let Tile { batch, head: query_head, query, rows, .. } = tile;
        let (head_dim, pieces) = (q.dims[3], Pieces::Three);
        let width = head_dim.next_multiple_of(PANEL);
        let queries = q.some_rows(batch, query_head, query..query + rows, head_dim);
        let queries = Left::pack(Matrix::new(&queries, rows, head_dim), 0..rows, pieces);
        // Products have a whole panel of rows, of which `rows` count.
        let mut logits = vec![0.0; PANEL * KEYS]; // [rows, KEYS]
        let mut softmax = RunningSoftmax::new(rows, width);
        softmax.output.resize(PANEL * width, 0.0);
        for key in kernel.keys_of(batch, query, rows, head.len).step_by(KEYS) {
            let part = Part { columns: key..key + KEYS, first_row: 0, adds: false };
            multiply_part(&queries, &head.keys, &part, (&mut logits, KEYS));
            let logits = &mut logits[..rows * KEYS];
            kernel.add_to_tile(Tile { key, ..tile }, head.len, logits);
            softmax.replace_by_weights(logits);
            let weights = Left::pack(Matrix::new(logits, rows, KEYS), 0..rows, pieces);
            let part = Part { columns: 0..width, first_row: key, adds: true };
            multiply_part(&weights, &head.values, &part, (&mut softmax.output, width));
        }
        softmax.output.truncate(rows * width);
        let log_sums = softmax.finish();
        Attended { batch, head: query_head, query, output: softmax.output, width, log_sums }
    }
}
