//! Attention of few queries to the cache: softmax(q·kᵀ + bias)·v.
//!
//! A workgroup has one token, a span of keys and the query heads that share a key head, so that a key is read once for all of them. Its
//! units take a key each for the logits, and a coordinate each for the output. Where there are several spans, as many workgroups
//! read a long cache, and another launch joins their outputs (Flash-Decoding, Dao et al. 2023).

use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;

use super::{CachedKeys, Strided};
use crate::kernels::gpu::softmax::LOWEST;
use crate::kernels::gpu::subgroups::lanes;
use crate::kernels::gpu::sum::over_units;
use crate::kernels::gpu::{cubecl, output_like, rows, tensor};
use cubecl::prelude::*;

/// Fewest units of a workgroup, a power of two.
const UNITS: usize = 64;
/// Keys of a span.
const SPAN: usize = 256;
/// Most query heads of a workgroup, whose weights lie in its shared memory.
const HEADS: usize = 4;

/// As [`attend_to_cache`](super::attend_to_cache).
pub fn attend_few(
    queries: Tensor<4>,
    keys: &Strided,
    values: &Strided,
    slopes: &Tensor<1>,
    seen: &CachedKeys,
) -> Tensor<3> {
    let [_, seq, heads, head_dim] = queries.dims();
    let group = heads / keys.heads;
    let queries = rows(queries);
    let spans = (seen.past + seq).div_ceil(SPAN);
    let outputs = output_like(&queries, [spans, seq, heads * head_dim]);
    let log_sums = output_like(&queries, [spans, seq, heads]);
    let units = head_dim.next_power_of_two().max(UNITS);
    let blocks = group.div_ceil(HEADS);
    attend::launch(
        &queries.client.clone(),
        CubeCount::Static((keys.heads * blocks) as u32, seq as u32, spans as u32),
        CubeDim::new_1d(units as u32),
        queries.into_buffer_arg(),
        keys.buffer.clone().into_buffer_arg(),
        values.buffer.clone().into_buffer_arg(),
        rows(slopes.clone()).into_buffer_arg(),
        outputs.clone().into_buffer_arg(),
        log_sums.clone().into_buffer_arg(),
        seen.at - seen.past,
        seen.at,
        seen.window.unwrap_or(seen.at + seq),
        keys.heads,
        keys.capacity,
        values.capacity,
        group,
        blocks,
        units,
        head_dim,
        lanes(),
        keys.number_type(),
    );
    if spans == 1 {
        return tensor(outputs);
    }
    tensor(joined(outputs, log_sums, [spans, seq, heads, head_dim]))
}

/// Outputs of all keys, `[1, seq, heads · head_dim]`, from those of spans, each weighed by its share of the softmax.
fn joined(outputs: CubeTensor, log_sums: CubeTensor, [spans, seq, heads, head_dim]: [usize; 4]) -> CubeTensor {
    let output = output_like(&outputs, [1, seq, heads * head_dim]);
    join::launch(
        &outputs.client.clone(),
        CubeCount::Static(heads as u32, seq as u32, 1),
        CubeDim::new_1d(head_dim as u32),
        outputs.into_buffer_arg(),
        log_sums.into_buffer_arg(),
        output.clone().into_buffer_arg(),
        spans,
    );
    output
}

/// Outputs of a span, `[spans, seq, heads, head_dim]`, and ln Σ e^logit, `[spans, seq, heads]`.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn attend<N: Float>(
    queries: &[f32],
    keys: &[N],
    values: &[N],
    slopes: &[f32],
    outputs: &mut [f32],
    log_sums: &mut [f32],
    first: usize,
    at: usize,
    window: usize,
    kv_heads: usize,
    key_capacity: usize,
    value_capacity: usize,
    #[comptime] group: usize,
    #[comptime] blocks: usize,
    #[comptime] units: usize,
    #[comptime] head_dim: usize,
    #[comptime] lanes: usize,
    #[define(N)] _type: ElemType,
) {
    let count = comptime!(group.div_ceil(blocks));
    let mut shared = Shared::new_slice(comptime!(count * units));
    let mut query = Shared::new_slice(comptime!(count * head_dim));
    let mut weights = Shared::new_slice(comptime!(count * SPAN));
    let unit = UNIT_POS as usize;
    let kv_head = CUBE_POS_X as usize / blocks;
    let first_of_group = CUBE_POS_X as usize % blocks * count;
    let first_head = kv_head * group + first_of_group;
    let row = CUBE_POS_Y as usize;
    let heads = kv_heads * group;
    let own = at + row;
    let start = (row * heads + first_head) * head_dim;
    let mut i = unit;
    while i < count * head_dim {
        let mut number = 0f32;
        if first_of_group + i / head_dim < group {
            number = queries[start + i];
        }
        query[i] = number;
        i += units;
    }
    sync_cube();
    let span = first + CUBE_POS_Z as usize * SPAN;
    let of_keys = kv_head * key_capacity + span;
    let of_values = kv_head * value_capacity + span;
    let mut from = 0usize;
    if own + 1 > window + span {
        from = own + 1 - window - span;
    }
    let mut to = 0usize;
    if own + 1 > span {
        to = usize::min(own + 1 - span, SPAN.runtime());
    }
    let mut largest = Array::new(count);
    #[unroll]
    for head in 0..count {
        largest[head] = LOWEST.runtime();
    }
    let mut key = unit;
    while key < SPAN {
        let mut logits = Array::new(count);
        #[unroll]
        for head in 0..count {
            logits[head] = LOWEST.runtime();
        }
        if key >= from && key < to {
            #[unroll]
            for head in 0..count {
                let mut slope = 0f32;
                if first_of_group + head < group {
                    slope = slopes[first_head + head];
                }
                logits[head] = -slope * (own - span - key) as f32;
            }
            let place = (of_keys + key) * head_dim;
            for i in 0..head_dim {
                let number = f32::cast_from(keys[place + i]);
                #[unroll]
                for head in 0..count {
                    logits[head] += query[head * head_dim + i] * number;
                }
            }
        }
        #[unroll]
        for head in 0..count {
            weights[head * SPAN + key] = logits[head];
            largest[head] = f32::max(largest[head], logits[head]);
        }
        key += units;
    }
    over_units(&mut shared, &mut largest, units, count, false, lanes);
    let mut sums = Array::new(count);
    #[unroll]
    for head in 0..count {
        sums[head] = 0f32;
    }
    key = unit;
    while key < SPAN {
        #[unroll]
        for head in 0..count {
            let mut weight = 0f32;
            if key >= from && key < to {
                weight = f32::exp(weights[head * SPAN + key] - largest[head]);
            }
            weights[head * SPAN + key] = weight;
            sums[head] += weight;
        }
        key += units;
    }
    over_units(&mut shared, &mut sums, units, count, true, lanes);
    let row_of_span = (CUBE_POS_Z as usize * CUBE_COUNT_Y as usize + row) * heads + first_head;
    if unit < head_dim {
        let mut mixed = Array::new(count);
        #[unroll]
        for head in 0..count {
            mixed[head] = 0f32;
        }
        for key in from..to {
            let number = f32::cast_from(values[(of_values + key) * head_dim + unit]);
            #[unroll]
            for head in 0..count {
                mixed[head] += weights[head * SPAN + key] * number;
            }
        }
        #[unroll]
        for head in 0..count {
            if first_of_group + head < group {
                let mut output = 0f32;
                if sums[head] != 0.0 {
                    output = mixed[head] / sums[head];
                }
                outputs[(row_of_span + head) * head_dim + unit] = output;
            }
        }
    }
    if unit == 0 {
        #[unroll]
        for head in 0..count {
            if first_of_group + head < group {
                let mut log_sum = LOWEST.runtime();
                if sums[head] != 0.0 {
                    log_sum = largest[head] + f32::ln(sums[head]);
                }
                log_sums[row_of_span + head] = log_sum;
            }
        }
    }
}

#[cube(launch)]
fn join(outputs: &[f32], log_sums: &[f32], output: &mut [f32], spans: usize) {
    let row = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    let rows = (CUBE_COUNT_X * CUBE_COUNT_Y) as usize;
    let head_dim = CUBE_DIM as usize;
    let i = UNIT_POS as usize;
    let mut largest = LOWEST.runtime();
    for span in 0..spans {
        largest = f32::max(largest, log_sums[span * rows + row]);
    }
    let mut sum = 0f32;
    let mut mixed = 0f32;
    for span in 0..spans {
        let weight = f32::exp(log_sums[span * rows + row] - largest);
        sum += weight;
        mixed += weight * outputs[(span * rows + row) * head_dim + i];
    }
    output[row * head_dim + i] = mixed / sum;
}
