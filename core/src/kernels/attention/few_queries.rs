//! The forward pass of a few queries: decoding reads one token at a time.

use pulp::{Simd, WithSimd};

use super::forward::{Attended, Inputs};
use super::tiles::padded;
use crate::kernels::math::{dot, exp_all, max};
use crate::kernels::parts::in_parts;
use crate::kernels::product::{Left, Sizes, multiply};

/// All queries, one by one.
pub(super) fn one_by_one(inputs: &Inputs) -> Vec<Attended> {
    let [batches, heads, seq, head_dim] = inputs.q.dims;
    let all = (0..batches * heads).map(|at| QueriesOfHead { inputs, batch: at / heads, head: at % heads });
    let products = batches * heads * seq * inputs.k.dims[2] * head_dim;
    in_parts(products, all, |queries| pulp::Arch::new().dispatch(queries))
}

struct QueriesOfHead<'a> {
    inputs: &'a Inputs<'a>,
    batch: usize,
    head: usize,
}

impl WithSimd for QueriesOfHead<'_> {
    type Output = Attended;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Attended {
        let Self { inputs: Inputs { kernel, q, k, v }, batch, head } = self;
        let [_, heads, seq, head_dim] = q.dims;
        let [_, kv_heads, keys, _] = k.dims;
        let (kv_head, width) = (head / (heads / kv_heads), padded(head_dim));
        let filled_up;
        let (values, stride) = if width == head_dim {
            v.head(batch, kv_head)
        } else {
            filled_up = v.matrix(batch, kv_head, width);
            (&filled_up[..], width)
        };
        let mut weights = vec![0.0; keys];
        let mut output = vec![0.0; seq * width];
        let mut log_sums = Vec::with_capacity(seq);
        for ((query, row), output) in q.rows(batch, head).enumerate().zip(output.chunks_exact_mut(width)) {
            for (weight, key) in weights.iter_mut().zip(k.rows(batch, kv_head)) {
                *weight = dot(row, key);
            }
            kernel.add(&mut weights, batch, head, query, 0);
            let largest = max(&weights);
            let sum = exp_all(&mut weights, largest);
            log_sums.push(largest + sum.ln());
            let sizes = Sizes { m: 1, k: keys, n: width };
            let left = Left::Rows { values: &weights, stride: keys };
            multiply::<S, false>(simd, sizes, left, values, stride, output);
            output.iter_mut().for_each(|value| *value /= sum);
        }
        Attended { batch, head, query: 0, output, width, log_sums }
    }
}
