//! Attention of few queries to the cache: softmax(q·kᵀ + bias)·v, the softmax kept as a running maximum and sum
//! (FlashAttention, Dao et al. 2022, arXiv 2205.14135).
//!
//! A workgroup has one query of one head. Its units take a key each for the logits, and a coordinate each for the output.

use burn::tensor::Tensor;

use super::sum::{largest_of_units, sum_of_units};
use super::{cubecl, output_like, rows, tensor};
use cubecl::prelude::*;

/// Fewest units of a workgroup, a power of two.
const UNITS: usize = 64;
/// In place of −∞, which WGSL has no literal for.
const LOWEST: f32 = -1e30;

/// Keys of the cache that queries attend to.
pub struct CachedKeys {
    /// Place of the first query's own key.
    pub at: usize,
    /// Keys before it that take part.
    pub past: usize,
    /// Keys that a query attends to, itself included.
    pub window: Option<usize>,
}

/// Takes queries `[1, seq, heads, head_dim]` with every factor of the logits folded in, and the caches
/// `[1, kv_heads, capacity, head_dim]`; `slopes`, `[heads]`, are ALiBi's or 0. Gives `[1, seq, heads · head_dim]`.
pub fn attend_to_cache(
    queries: Tensor<4>,
    keys: &Tensor<4>,
    values: &Tensor<4>,
    slopes: &Tensor<1>,
    seen: &CachedKeys,
) -> Tensor<3> {
    let [_, seq, heads, head_dim] = queries.dims();
    let [_, kv_heads, capacity, _] = keys.dims();
    let queries = rows(queries);
    let output = output_like(&queries, [1, seq, heads * head_dim]);
    let units = head_dim.next_power_of_two().max(UNITS);
    attend::launch(
        &queries.client.clone(),
        CubeCount::Static(heads as u32, seq as u32, 1),
        CubeDim::new_1d(units as u32),
        queries.into_buffer_arg(),
        rows(keys.clone()).into_buffer_arg(),
        rows(values.clone()).into_buffer_arg(),
        rows(slopes.clone()).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        seen.at - seen.past,
        seen.at,
        seen.window.unwrap_or(seen.at + seq),
        heads / kv_heads,
        capacity,
        units,
        head_dim,
    );
    tensor(output)
}

#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn attend(
    queries: &[f32],
    keys: &[f32],
    values: &[f32],
    slopes: &[f32],
    output: &mut [f32],
    first: usize,
    at: usize,
    window: usize,
    group: usize,
    capacity: usize,
    #[comptime] units: usize,
    #[comptime] head_dim: usize,
) {
    let mut shared = Shared::new_slice(units);
    let mut query = Shared::new_slice(head_dim);
    let mut weights = Shared::new_slice(units);
    let unit = UNIT_POS as usize;
    let head = CUBE_POS_X as usize;
    let row = CUBE_POS_Y as usize;
    let heads = CUBE_COUNT_X as usize;
    let own = at + row;
    let start = (row * heads + head) * head_dim;
    let cached = head / group * capacity;
    if unit < head_dim {
        query[unit] = queries[start + unit];
    }
    sync_cube();
    let mut from = first;
    if own + 1 > window + first {
        from = own + 1 - window;
    }
    let mut largest = LOWEST.runtime();
    let mut sum = 0f32;
    let mut mixed = 0f32;
    let mut tile = from;
    while tile <= own {
        let key = tile + unit;
        let mut logit = LOWEST.runtime();
        if key <= own {
            logit = -slopes[head] * (own - key) as f32;
            let place = (cached + key) * head_dim;
            for i in 0..head_dim {
                logit += query[i] * keys[place + i];
            }
        }
        let highest = f32::max(largest, largest_of_units(&mut shared, logit));
        let mut weight = 0f32;
        if key <= own {
            weight = f32::exp(logit - highest);
        }
        weights[unit] = weight;
        let added = sum_of_units(&mut shared, weight);
        let kept = f32::exp(largest - highest);
        sum = sum * kept + added;
        mixed *= kept;
        if unit < head_dim {
            let mut seen = own + 1 - tile;
            if seen > units {
                seen = units.runtime();
            }
            for other in 0..seen {
                mixed += weights[other] * values[(cached + tile + other) * head_dim + unit];
            }
        }
        largest = highest;
        sync_cube();
        tile += units;
    }
    if unit < head_dim {
        output[start + unit] = mixed / sum;
    }
}
