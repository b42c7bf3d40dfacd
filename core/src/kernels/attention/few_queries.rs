//! The forward pass of a few queries: decoding reads one token at a time.
//!
//! A key or value is read once for all query heads of its group, and parts of the keys are read beside each other (Flash-Decoding,
//! Dao et al. 2023): their softmaxes are merged.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::dots::queries_times_keys;
use super::forward::{Attended, Inputs};
use super::running_softmax::RunningSoftmax;
use super::tiles::{KEYS, ROWS, padded};
use crate::kernels::parts::{in_parts, products_of};

/// Keys of a part: many enough that merging costs little beside them.
const KEYS_OF_PART: usize = 8 * KEYS;

/// Computes the attention of all queries.
pub(super) fn few_queries(inputs: &Inputs) -> Vec<Attended> {
    let [batches, heads, seq, head_dim] = inputs.q.dims;
    let [kv_heads, keys] = inputs.k.dims();
    let (group, width) = (heads / kv_heads, padded(head_dim));
    let queries: Vec<GroupQueries> = (0..batches * kv_heads)
        .flat_map(|at| {
            let rows = (0..group * seq).step_by(ROWS).map(move |first| first..(group * seq).min(first + ROWS));
            rows.map(move |rows| GroupQueries { batch: at / kv_heads, kv_head: at % kv_heads, group, seq, rows })
        })
        .collect();
    let parts = queries.iter().flat_map(|queries| {
        (0..keys).step_by(KEYS_OF_PART).map(move |key| (queries, key..keys.min(key + KEYS_OF_PART)))
    });
    let products = products_of(&[batches, heads, seq, keys, head_dim]);
    let sums = in_parts(products, parts, |(queries, keys)| {
        pulp::Arch::new().dispatch(PartOfKeys { inputs, queries, keys, width })
    });
    let parts_of_queries = keys.div_ceil(KEYS_OF_PART);
    queries.iter().zip(sums.chunks(parts_of_queries)).flat_map(|(queries, sums)| queries.merged(sums, width)).collect()
}

/// Queries that read the same keys.
struct GroupQueries {
    batch: usize,
    kv_head: usize,
    /// Query heads that share the kv head, and queries of each.
    group: usize,
    seq: usize,
    /// At most [`ROWS`] of the rows `[group · seq]`.
    rows: Range<usize>,
}

impl GroupQueries {
    /// Head and index of each query.
    fn each(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.clone().map(|row| (self.kv_head * self.group + row / self.seq, row % self.seq))
    }

    /// Merges the attention over all parts of the keys.
    fn merged(&self, parts: &[RunningSoftmax], width: usize) -> Vec<Attended> {
        let mut sums = RunningSoftmax::new(self.rows.len(), width);
        parts.iter().for_each(|part| sums.merge(part));
        let log_sums = sums.finish();
        let rows = self.each().zip(sums.output.chunks_exact(width).zip(log_sums));
        rows.map(|((head, query), (output, log_sum))| Attended {
            batch: self.batch,
            head,
            query,
            output: output.to_vec(),
            width,
            log_sums: vec![log_sum],
        })
        .collect()
    }
}

/// Some queries and some of the keys that they attend to.
struct PartOfKeys<'a> {
    inputs: &'a Inputs<'a>,
    queries: &'a GroupQueries,
    keys: Range<usize>,
    width: usize,
}

impl WithSimd for PartOfKeys<'_> {
    type Output = RunningSoftmax;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> RunningSoftmax {
        let Self { inputs: Inputs { kernel, q, k, v }, queries, keys, width } = self;
        let (place, head_dim) = ([queries.batch, queries.kv_head], q.dims[3]);
        let (mut room, mut logits) = (Vec::new(), vec![0.0; queries.rows.len() * KEYS]);
        let mut sums = RunningSoftmax::new(queries.rows.len(), width);
        let query_rows: Vec<&[f32]> = queries.each().map(|(head, query)| q.row(queries.batch, head, query)).collect();
        for first in keys.clone().step_by(KEYS) {
            let tile = first..keys.end.min(first + KEYS);
            let count = tile.len();
            let (rows, stride) = k.some_rows(place, tile.clone(), head_dim, &mut room);
            queries_times_keys(simd, &query_rows, (rows, stride), count, (&mut logits, KEYS));
            for ((head, query), logits) in queries.each().zip(logits.chunks_exact_mut(KEYS)) {
                logits[count..].fill(f32::NEG_INFINITY);
                kernel.add(&mut logits[..count], queries.batch, head, query, first);
            }
            let values = v.some_rows(place, tile, width, &mut room);
            sums.add(simd, &mut logits, values, count);
        }
        sums
    }
}
