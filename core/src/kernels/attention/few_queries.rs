//! The forward pass of a few queries: decoding reads one token at a time.

use pulp::{Simd, WithSimd};

use super::forward::Forward;
use super::tiles::padded;
use crate::kernels::math::{dot, exp_all, max};
use crate::kernels::product::{Left, Sizes, multiply};

/// A forward pass, query by query.
pub(super) struct FewQueries<'a>(pub(super) Forward<'a>);

impl WithSimd for FewQueries<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Forward { kernel, q, k, v, output, log_sums } = self.0;
        let [batches, heads, seq, head_dim] = q.dims;
        let [_, kv_heads, keys, _] = k.dims;
        let (group, width) = (heads / kv_heads, padded(head_dim));
        let mut weights = vec![0.0; keys];
        let mut sums = vec![0.0; width];
        for (batch, head) in (0..batches).flat_map(|batch| (0..heads).map(move |head| (batch, head))) {
            let kv_head = head / group;
            let filled_up;
            let (values, stride) = if width == head_dim {
                v.head(batch, kv_head)
            } else {
                filled_up = v.matrix(batch, kv_head, width);
                (&filled_up[..], width)
            };
            for (query, row) in q.rows(batch, head).enumerate() {
                for (weight, key) in weights.iter_mut().zip(k.rows(batch, kv_head)) {
                    *weight = dot(row, key);
                }
                kernel.add(&mut weights, batch, head, query, 0);
                let largest = max(&weights);
                let sum = exp_all(&mut weights, largest);
                log_sums[(batch * heads + head) * seq + query] = largest + sum.ln();
                let sizes = Sizes { m: 1, k: keys, n: width };
                let left = Left::Rows { values: &weights, stride: keys };
                multiply::<S, false>(simd, sizes, left, values, stride, &mut sums);
                let at = ((batch * seq + query) * heads + head) * head_dim;
                for (output, sum_of_values) in output[at..at + head_dim].iter_mut().zip(&sums) {
                    *output = sum_of_values / sum;
                }
            }
        }
    }
}
