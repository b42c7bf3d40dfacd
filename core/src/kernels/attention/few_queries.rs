//! The forward pass of a few queries: decoding reads one token at a time.
//!
//! A key or value is read once for all query heads of its group, and parts of the keys are read beside each other (Flash-Decoding,
//! Dao et al. 2023): their softmaxes are merged.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::forward::{Attended, Inputs};
use super::running_softmax::RunningSoftmax;
use super::tiles::{KEYS, ROWS, padded};
use crate::kernels::parts::in_parts;
use crate::kernels::widening_dot::widening_dot;

/// Keys of a part: many enough that merging costs little beside them.
const KEYS_OF_PART: usize = 8 * KEYS;

/// All queries.
pub(super) fn few_queries(inputs: &Inputs) -> Vec<Attended> {
    let [batches, heads, seq, head_dim] = inputs.q.dims;
    let [kv_heads, keys] = inputs.k.dims();
    let (group, width) = (heads / kv_heads, padded(head_dim));
    let queries_of_head = |at: usize| {
        let (batch, kv_head) = (at / kv_heads, at % kv_heads);
        let all = (kv_head * group..(kv_head + 1) * group).flat_map(|head| (0..seq).map(move |query| (head, query)));
        let all: Vec<(usize, usize)> = all.collect();
        all.chunks(ROWS).map(|queries| Queries { batch, kv_head, queries: queries.to_vec() }).collect::<Vec<_>>()
    };
    let queries: Vec<Queries> = (0..batches * kv_heads).flat_map(queries_of_head).collect();
    let parts = queries.iter().flat_map(|queries| {
        (0..keys).step_by(KEYS_OF_PART).map(move |key| (queries, key..keys.min(key + KEYS_OF_PART)))
    });
    let products = batches * heads * seq * keys * head_dim;
    let sums = in_parts(products, parts, |(queries, keys)| {
        pulp::Arch::new().dispatch(PartOfKeys { inputs, queries, keys, width })
    });
    let parts_of_queries = keys.div_ceil(KEYS_OF_PART);
    queries.iter().zip(sums.chunks(parts_of_queries)).flat_map(|(queries, sums)| queries.merged(sums, width)).collect()
}

/// Queries that read the same keys.
struct Queries {
    batch: usize,
    kv_head: usize,
    /// Head and index of each, at most [`ROWS`].
    queries: Vec<(usize, usize)>,
}

impl Queries {
    /// What all parts of the keys give them.
    fn merged(&self, parts: &[RunningSoftmax], width: usize) -> Vec<Attended> {
        let mut sums = RunningSoftmax::new(self.queries.len(), width);
        parts.iter().for_each(|part| sums.merge(part));
        let log_sums = sums.finish();
        let rows = self.queries.iter().zip(sums.output.chunks_exact(width).zip(log_sums));
        rows.map(|(&(head, query), (output, log_sum))| Attended {
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
    queries: &'a Queries,
    keys: Range<usize>,
    width: usize,
}

impl WithSimd for PartOfKeys<'_> {
    type Output = RunningSoftmax;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> RunningSoftmax {
        let Self { inputs: Inputs { kernel, q, k, v }, queries: &Queries { batch, kv_head, ref queries }, keys, width } =
            self;
        let head_dim = q.dims[3];
        let (mut room, mut logits) = (Vec::new(), vec![0.0; queries.len() * KEYS]);
        let mut sums = RunningSoftmax::new(queries.len(), width);
        for first in keys.clone().step_by(KEYS) {
            let tile = first..keys.end.min(first + KEYS);
            let count = tile.len();
            let (rows, distance) = k.some_rows([batch, kv_head], tile.clone(), head_dim, &mut room);
            for (&(head, query), logits) in queries.iter().zip(logits.chunks_exact_mut(KEYS)) {
                let row = q.row(batch, head, query);
                for (logit, key) in logits.iter_mut().zip(rows.chunks(distance).take(count)) {
                    *logit = widening_dot(simd, &key[..head_dim], row, |_, number| number);
                }
                logits[count..].fill(f32::NEG_INFINITY);
                kernel.add(&mut logits[..count], batch, head, query, first);
            }
            let (values, distance) = v.some_rows([batch, kv_head], tile, width, &mut room);
            sums.add(simd, &mut logits, (values, distance), count);
        }
        sums
    }
}
