//! Attention in tiles that fit the first cache: softmax(q·kᵀ + bias)·v without a matrix of all weights.
//!
//! As FlashAttention (Dao et al. 2022, arXiv 2205.14135; Dao 2023, arXiv 2307.08691): the softmax of a row is kept as a running
//! maximum and sum, and the backward pass computes the weights again from the logarithm of that sum. Tiles that no query
//! attends to are left out. Memory grows with the length, not with its square.

#[cfg(feature = "train")]
mod backward;
mod bias;
#[cfg(any(feature = "gpu", feature = "train"))]
mod chunks;
mod dots;
mod few_queries;
mod forward;
#[cfg(target_arch = "x86_64")]
mod in_pieces;
mod key_values;
mod running_softmax;
mod tiles;

use std::sync::Arc;

use burn::tensor::{Tensor, activation::softmax};
use burn_flex::FlexTensor;
use pulp::Simd;

#[cfg(feature = "train")]
use self::backward::Backward;
pub use self::bias::AttentionBias;
#[cfg(any(feature = "gpu", feature = "train"))]
pub use self::chunks::attend_in_chunks;
#[cfg(feature = "train")]
pub use self::chunks::{gradients_in_chunks, queries_at_once};
use self::few_queries::few_queries;
use self::forward::{Attended, Inputs, in_tiles};
use self::key_values::Rows;
pub use self::key_values::{KeysOrValues, PackedRows};
use self::tiles::{Columns, KEYS, Tile, scatter};
#[cfg(feature = "gpu")]
use super::gpu;
use super::views::{Heads, heads_inside, numbers};
use super::{ComputeType, Kernel, apply, constant, is_on_cpu, of_primitive};

/// Up to this many queries, keys are not transposed: tiles would be nearly empty.
const FEW_QUERIES: usize = 8;

/// softmax(q·kᵀ + bias)·v, `[batch, heads, seq, head_dim]`.
///
/// q is `[batch, heads, seq, head_dim]`, with every factor of the logits folded in; k and v are
/// `[batch, kv_heads, keys, head_dim]`, where `heads` is a multiple of `kv_heads`. `map_weights`, if given, receives the softmax's weights
/// `[batch, heads, seq, keys]` and returns those that are used; the fused kernels do not serve then. `compute` is for cards with units for
/// products of matrices; elsewhere attention is computed in f32.
#[cfg_attr(not(feature = "gpu"), allow(unused_variables, reason = "the CPU has one form"))]
pub fn attend(
    q: Tensor<4>,
    k: KeysOrValues,
    v: KeysOrValues,
    bias: &AttentionBias,
    compute: ComputeType,
    map_weights: Option<&mut dyn FnMut(Tensor<4>) -> Tensor<4>>,
) -> Tensor<4> {
    // The fused form does not compute the whole matrix of weights.
    if map_weights.is_none() && is_on_cpu(&q) && k.is_on_cpu() && v.is_on_cpu() {
        let kernel = FusedAttention::new(bias);
        return match (k, v) {
            (KeysOrValues::Tensor(k), KeysOrValues::Tensor(v)) => apply(kernel, [q, k, v].map(Tensor::into_dispatch)),
            (k, v) => {
                let inputs = Inputs { kernel: &kernel, q: Heads::new(&constant(&q)), k: k.rows(), v: v.rows() };
                of_primitive(inputs.attended().0)
            }
        };
    }
    #[cfg(feature = "gpu")]
    let goes_by_products = q.dims()[2] > FEW_QUERIES && gpu::has_matrix_units(&q.device());
    #[cfg(feature = "gpu")]
    if map_weights.is_none()
        && !goes_by_products
        && let (KeysOrValues::Tensor(k), KeysOrValues::Tensor(v)) = (&k, &v)
        && let Some(seen) = bias.seen()
        && let Some(output) = gpu::attend(&q, k, v, &bias.slopes, &seen)
    {
        return output;
    }
    let (k, v) = (k.tensor(), v.tensor());
    #[cfg(feature = "gpu")]
    if map_weights.is_none() && goes_by_products && [&q, &k, &v].into_iter().all(gpu::is_plain) {
        let queries = q.dims()[2];
        return attend_in_chunks([q, k, v], bias, queries, compute);
    }
    let [batch, heads, seq, head_dim] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let group = heads / kv_heads;
    // The query heads of a group are rows of one product, so that keys and values are not copied for each.
    let q = q.reshape([batch, kv_heads, group * seq, head_dim]);
    let logits = q.matmul(k.swap_dims(2, 3)); // [batch, kv_heads, group · seq, keys]
    let logits = match bias.matrix(group, &logits.device()) {
        None => logits,
        Some(bias) => logits + bias.clone(),
    };
    let weights = softmax(logits, 3);
    let weights = match map_weights {
        None => weights,
        Some(map_weights) => {
            map_weights(weights.reshape([batch, heads, seq, keys])).reshape([batch, kv_heads, group * seq, keys])
        }
    };
    weights.matmul(v).reshape([batch, heads, seq, head_dim])
}

#[derive(Clone, Debug)]
struct FusedAttention {
    /// Indices of the first query and of the first key in the text.
    first_query: usize,
    first_key: usize,
    /// Keys that a query attends to, itself included.
    window: usize,
    /// ALiBi's slope of each query head, or none.
    slopes: Arc<[f32]>,
    /// `[batch or 1, 1, 1, keys]`
    log_multiplicity: Option<FlexTensor>,
    /// `[batch, seq]`: the first token of each query's document.
    document_starts: Option<Arc<[usize]>>,
    /// Queries of a row.
    seq: usize,
}

impl Kernel<3> for FusedAttention {
    /// The output, and ln Σ e^logit of each query, `[batch, heads, seq]`.
    type Saved = (FlexTensor, Arc<Vec<f32>>);

    fn forward(&self, [q, k, v]: &[FlexTensor; 3]) -> (FlexTensor, Self::Saved) {
        let [k, v] = [k, v].map(|tensor| Rows::Tensor(Heads::new(tensor)));
        let (output, log_sums) = Inputs { kernel: self, q: Heads::new(q), k, v }.attended();
        (output.clone(), (output, Arc::new(log_sums)))
    }

    #[cfg(feature = "train")]
    fn backward(&self, [q, k, v]: &[FlexTensor; 3], saved: Self::Saved, gradient: FlexTensor) -> [FlexTensor; 3] {
        let (output, log_sums) = saved;
        let backward = Backward {
            kernel: self,
            q: Heads::new(q),
            k: Heads::new(k),
            v: Heads::new(v),
            output: Heads::new(&output),
            gradient: Heads::new(&gradient),
            log_sums: &log_sums,
        };
        backward.gradients()
    }
}

impl Inputs<'_> {
    /// The output, and ln Σ e^logit of each query, `[batch, heads, seq]`.
    fn attended(&self) -> (FlexTensor, Vec<f32>) {
        let dims = self.q.dims;
        let [batch, heads, seq, head_dim] = dims;
        let parts = if seq <= FEW_QUERIES { few_queries(self) } else { many_queries(self) };
        let mut output = vec![0.0; batch * seq * heads * head_dim];
        let mut log_sums = vec![0.0; batch * heads * seq];
        for part in parts {
            scatter(&part.output, part.width, &mut output, dims, [part.batch, part.head, part.query]);
            let at = (part.batch * heads + part.head) * seq + part.query;
            log_sums[at..at + part.log_sums.len()].copy_from_slice(&part.log_sums);
        }
        (heads_inside(output, dims), log_sums)
    }
}

/// Computes the attention of all queries.
fn many_queries(inputs: &Inputs) -> Vec<Attended> {
    #[cfg(target_arch = "x86_64")]
    if in_pieces::is_faster_than_f32(inputs.q.dims) {
        return in_pieces::in_pieces(inputs);
    }
    in_tiles(inputs)
}

impl FusedAttention {
    fn new(bias: &AttentionBias) -> Self {
        Self {
            first_query: bias.queries.start,
            first_key: bias.queries.start - bias.past(),
            window: bias.window.unwrap_or(usize::MAX),
            slopes: bias.slopes.iter().map(|&slope| slope as f32).collect(),
            log_multiplicity: bias.log_multiplicity.as_ref().map(|logs| constant(logs).to_contiguous()),
            document_starts: bias.document_starts.clone(),
            seq: bias.queries.len(),
        }
    }

    /// Keys that `rows` queries from `query` on attend to, as a range that begins at a tile.
    fn keys_of(&self, batch: usize, query: usize, rows: usize, keys: usize) -> std::ops::Range<usize> {
        // Later queries see no earlier key than the first of them.
        let from = self.first_seen(batch, query).saturating_sub(self.first_key);
        let to = (self.first_query + query + rows - self.first_key).min(keys);
        from / KEYS * KEYS..to
    }

    /// Index of the first token that a query attends to.
    #[inline(always)]
    fn first_seen(&self, batch: usize, query: usize) -> usize {
        let in_window = (self.first_query + query + 1).saturating_sub(self.window);
        let start = self.document_starts.as_ref().map_or(0, |starts| starts[batch * self.seq + query]);
        in_window.max(start)
    }

    /// Adds the bias to the logits of one query, of keys from `key` on.
    #[inline(always)]
    fn add(&self, logits: &mut [f32], batch: usize, head: usize, query: usize, key: usize) {
        let first_key = self.first_key + key;
        let first_seen = self.first_seen(batch, query);
        let query = self.first_query + query;
        let seen_to = (query + 1).saturating_sub(first_key).min(logits.len());
        let seen_from = first_seen.saturating_sub(first_key).min(seen_to);
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
        self.add_to_tile(tile, keys.len, logits);
    }

    /// Adds the bias to the logits of a tile, `[rows, KEYS]`, of which those behind the last key are never seen.
    #[inline(always)]
    fn add_to_tile(&self, tile: Tile, keys: usize, logits: &mut [f32]) {
        for (row, logits) in logits.chunks_exact_mut(KEYS).take(tile.rows).enumerate() {
            let valid = KEYS.min(keys - tile.key);
            logits[valid..].fill(f32::NEG_INFINITY);
            self.add(&mut logits[..valid], tile.batch, tile.head, tile.query + row, tile.key);
        }
    }
}

#[cfg(all(test, feature = "train"))]
mod tests;
