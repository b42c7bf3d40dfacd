//! Attention in tiles that fit the first cache: softmax(q·kᵀ + bias)·v without a matrix of all weights.
//!
//! As FlashAttention (Dao et al. 2022, arXiv 2205.14135; Dao 2023, arXiv 2307.08691): the softmax of a row is kept as a running
//! maximum and sum, and the backward pass computes the weights again from the logarithm of that sum. Tiles that no query
//! attends to are left out. Memory grows with the length, not with its square.

#[cfg(feature = "train")]
mod backward;
mod few_queries;
mod forward;

use std::sync::Arc;

use burn::tensor::Tensor;
use burn_flex::FlexTensor;
use pulp::Simd;

#[cfg(feature = "train")]
use self::backward::Backward;
use self::few_queries::FewQueries;
use self::forward::Forward;
use super::product::{Left, Sizes, multiply};
use super::views::{Heads, contiguous, heads_inside, numbers};
use super::{Kernel, apply, constant, is_on_cpu};

/// Queries and keys of a tile.
const ROWS: usize = 48;
const KEYS: usize = 64;

/// Up to so many queries are read one by one: tiles would be nearly empty.
const FEW_QUERIES: usize = 8;

/// What is added to the logits, as [`crate::model`] describes it.
pub(crate) struct Bias<'a> {
    /// Index of the first query in the text.
    pub(crate) first_query: usize,
    /// Index of the first key in the text.
    pub(crate) first_key: usize,
    /// Keys that a query attends to, itself included; `None`: all before it.
    pub(crate) window: Option<usize>,
    /// ALiBi's slope of each query head, or none.
    pub(crate) slopes: &'a [f64],
    /// `[batch or 1, 1, 1, keys]`, or none.
    pub(crate) log_multiplicity: Option<&'a Tensor<4>>,
}

/// Attention of `q`, `[batch, heads, seq, head_dim]` with every factor of the logits folded in, to `k` and `v`,
/// `[batch, kv_heads, keys, head_dim]`; `None` where the tensors are not on the CPU.
pub(crate) fn attention(q: &Tensor<4>, k: &Tensor<4>, v: &Tensor<4>, bias: &Bias) -> Option<Tensor<4>> {
    if !(is_on_cpu(q) && is_on_cpu(k) && is_on_cpu(v)) {
        return None;
    }
    let kernel = Attention {
        first_query: bias.first_query,
        first_key: bias.first_key,
        window: bias.window.unwrap_or(usize::MAX),
        slopes: bias.slopes.iter().map(|&slope| slope as f32).collect(),
        log_multiplicity: bias.log_multiplicity.map(|logs| contiguous(&constant(logs))),
    };
    Some(apply(kernel, [q, k, v].map(|tensor| tensor.clone().into_dispatch())))
}

#[derive(Clone, Debug)]
struct Attention {
    first_query: usize,
    first_key: usize,
    window: usize,
    slopes: Arc<[f32]>,
    log_multiplicity: Option<FlexTensor>,
}

impl Kernel<3> for Attention {
    /// The output, and ln Σ e^logit of each query, `[batch, heads, seq]`.
    type Saved = (FlexTensor, Arc<Vec<f32>>);

    fn forward(&self, [q, k, v]: &[FlexTensor; 3]) -> (FlexTensor, Self::Saved) {
        let (q, k, v) = (Heads::new(q), Heads::new(k), Heads::new(v));
        let [batch, heads, seq, head_dim] = q.dims;
        let mut output = vec![0.0; batch * seq * heads * head_dim];
        let mut log_sums = vec![0.0; batch * heads * seq];
        let dims = q.dims;
        let pass = Forward { kernel: self, q, k, v, output: &mut output, log_sums: &mut log_sums };
        let arch = pulp::Arch::new();
        if seq <= FEW_QUERIES {
            arch.dispatch(FewQueries(pass));
        } else {
            arch.dispatch(pass);
        }
        let output = heads_inside(output, dims);
        (output.clone(), (output, Arc::new(log_sums)))
    }

    #[cfg(feature = "train")]
    fn backward(&self, [q, k, v]: &[FlexTensor; 3], saved: Self::Saved, gradient: FlexTensor) -> [FlexTensor; 3] {
        let (output, log_sums) = saved;
        let (q, k, v) = (Heads::new(q), Heads::new(k), Heads::new(v));
        let zeros = |[batch, heads, seq, width]: [usize; 4]| vec![0.0; batch * heads * seq * width];
        let (q_dims, k_dims) = (q.dims, k.dims);
        let (mut of_q, mut of_k, mut of_v) = (zeros(q_dims), zeros(k_dims), zeros(k_dims));
        pulp::Arch::new().dispatch(Backward {
            kernel: self,
            q,
            k,
            v,
            output: Heads::new(&output),
            gradient: Heads::new(&gradient),
            log_sums: &log_sums,
            of_q: &mut of_q,
            of_k: &mut of_k,
            of_v: &mut of_v,
        });
        [heads_inside(of_q, q_dims), heads_inside(of_k, k_dims), heads_inside(of_v, k_dims)]
    }
}

/// Where a tile stands.
#[derive(Clone, Copy)]
struct Tile {
    batch: usize,
    head: usize,
    /// Its first query and its number of queries.
    query: usize,
    rows: usize,
    /// Its first key.
    key: usize,
}

impl Attention {
    /// Keys that `rows` queries from `query` on attend to, as a range that begins at a tile.
    fn keys_of(&self, query: usize, rows: usize, keys: usize) -> std::ops::Range<usize> {
        let first = self.first_query + query;
        let from = (first + 1).saturating_sub(self.window).saturating_sub(self.first_key);
        let to = (first + rows - self.first_key).min(keys);
        from / KEYS * KEYS..to
    }

    /// Adds the bias to the logits of one query, of keys from `key` on.
    #[inline(always)]
    fn add(&self, logits: &mut [f32], batch: usize, head: usize, query: usize, key: usize) {
        let query = self.first_query + query;
        let first_key = self.first_key + key;
        let seen_to = (query + 1).saturating_sub(first_key).min(logits.len());
        let seen_from = (query + 1).saturating_sub(self.window).saturating_sub(first_key).min(seen_to);
        logits[..seen_from].fill(f32::NEG_INFINITY);
        logits[seen_to..].fill(f32::NEG_INFINITY);
        let seen = &mut logits[seen_from..seen_to];
        if let Some(slope) = self.slopes.get(head) {
            for (index, logit) in seen.iter_mut().enumerate() {
                *logit -= slope * (query - first_key - seen_from - index) as f32;
            }
        }
        if let Some(logs) = &self.log_multiplicity {
            let shape = logs.layout().shape();
            let row = batch % shape[0] * shape[3] + key + seen_from;
            for (logit, log) in seen.iter_mut().zip(&numbers(logs)[row..]) {
                *logit += log;
            }
        }
    }

    /// Logits of a tile, `[rows, KEYS]`, of queries `[rows, width]` and transposed keys.
    #[inline(always)]
    fn logits<S: Simd>(&self, simd: S, tile: Tile, q: &[f32], keys: &Columns, logits: &mut [f32]) {
        keys.product(simd, tile, q, logits);
        for (row, logits) in logits.chunks_exact_mut(KEYS).take(tile.rows).enumerate() {
            let valid = KEYS.min(keys.len - tile.key);
            logits[valid..].fill(f32::NEG_INFINITY);
            self.add(&mut logits[..valid], tile.batch, tile.head, tile.query + row, tile.key);
        }
    }
}

/// Keys or values of a head, transposed: `[head_dim, stride]`, of which `len` columns are filled.
struct Columns {
    values: Vec<f32>,
    head_dim: usize,
    width: usize,
    stride: usize,
    len: usize,
}

impl Columns {
    /// `width` is that of the rows that they are multiplied with.
    fn new(heads: &Heads, batch: usize, head: usize, width: usize) -> Self {
        let [_, _, len, head_dim] = heads.dims;
        let stride = len.next_multiple_of(KEYS);
        let mut values = vec![0.0; head_dim * stride];
        for (at, row) in heads.rows(batch, head).enumerate() {
            for (column, &value) in row.iter().enumerate() {
                values[column * stride + at] = value;
            }
        }
        Self { values, head_dim, width, stride, len }
    }

    /// Rows `[rows, width]` times the columns of a tile: `[rows, KEYS]`.
    #[inline(always)]
    fn product<S: Simd>(&self, simd: S, tile: Tile, rows: &[f32], output: &mut [f32]) {
        let sizes = Sizes { m: tile.rows, k: self.head_dim, n: KEYS };
        let rows = Left::Rows { values: rows, stride: self.width };
        multiply::<S, false>(simd, sizes, rows, &self.values[tile.key..], self.stride, output);
    }
}

/// Copies the first `head_dim` of each row into `[batch, seq, heads, head_dim]`, from query or key `first` on.
fn scatter(rows: &[f32], width: usize, output: &mut [f32], dims: [usize; 4], [batch, head, first]: [usize; 3]) {
    let [_, heads, seq, head_dim] = dims;
    for (row, values) in rows.chunks_exact(width).enumerate() {
        let at = ((batch * seq + first + row) * heads + head) * head_dim;
        output[at..at + head_dim].copy_from_slice(&values[..head_dim]);
    }
}

/// Width of the rows that products are made of.
fn padded(head_dim: usize) -> usize {
    head_dim.next_multiple_of(16)
}
