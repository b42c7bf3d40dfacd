//! Attention as products around a softmax in one launch, forward and backward, for a few queries at a time: in training on GPUs, and in
//! prompts where a card has units for products of matrices.
//!
//! The softmax adds the bias as it reads the logits and writes the weights, where Burn's operations read and write the matrix a dozen times.

use burn::tensor::{Tensor, TensorData};

use super::few::LOWEST;
use super::slopes_of_heads;
use crate::kernels::AttentionBias;
use crate::kernels::gpu::sum::{over_units, sum_of_units};
use crate::kernels::gpu::{MOST_WORKGROUPS, cubecl, is_plain, output_like, rows, tensor};
use cubecl::prelude::*;

/// Units of a workgroup, which has a row of logits.
const UNITS: usize = 256;
/// Most numbers of a matrix of weights, 1 GB: more do not fit into a buffer everywhere, and kernels count them in 32 bits.
const MOST_WEIGHTS: usize = 1 << 28;

/// Queries whose weights are no more than that: a power of two, so that few shapes of products are to be tried out. q and k as
/// [`attend_by_products`] takes them.
pub fn most_queries(q: &Tensor<4>, k: &Tensor<4>) -> usize {
    let [batch, heads, ..] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let queries = (MOST_WEIGHTS / (batch * heads * keys).max(1)).min(MOST_WORKGROUPS * kv_heads / heads);
    1 << queries.max(1).ilog2()
}

/// softmax(q·kᵀ + bias)·v of queries `[batch, heads, seq, head_dim]`, keys and values `[batch, kv_heads, keys, head_dim]`; the output is
/// as the queries. `None` elsewhere than on a GPU, in other types than f32, with gradients, or of more than [`most_queries`].
pub fn attend_by_products(inputs: [&Tensor<4>; 3], bias: &AttentionBias) -> Option<Tensor<4>> {
    let [q, k, v] = in_rows(inputs)?;
    Some(attention_weights(&q, &k, bias).matmul(v).reshape(q.dims()))
}

/// Gradients of q, k and v, shaped as these, from that of the output, shaped as q; `None` as [`attend_by_products`].
#[cfg(feature = "train")]
pub fn gradients_by_products(
    inputs: [&Tensor<4>; 3],
    bias: &AttentionBias,
    grad_output: Tensor<4>,
) -> Option<[Tensor<4>; 3]> {
    let [q, k, v] = in_rows(inputs)?;
    let weights = attention_weights(&q, &k, bias); // [batch, kv_heads, group · seq, keys]
    let shape = q.dims();
    let [q_rows, grad_rows] = [q, grad_output].map(|x| grouped(x, k.dims()[1])); // [batch, kv_heads, group · seq, head_dim]
    let of_v = weights.clone().swap_dims(2, 3).matmul(grad_rows.clone());
    let of_weights = grad_rows.matmul(v.swap_dims(2, 3));
    let of_logits = gradient_of_logits(&weights, of_weights);
    let of_k = of_logits.clone().swap_dims(2, 3).matmul(q_rows);
    Some([of_logits.matmul(k).reshape(shape), of_k, of_v])
}

/// The same tensors in row-major order, which products read fastest; `None` where the kernels do not take them.
fn in_rows(inputs: [&Tensor<4>; 3]) -> Option<[Tensor<4>; 3]> {
    let [q, k, _] = inputs;
    let is_taken = inputs.into_iter().all(is_plain) && q.dims()[2] <= most_queries(q, k);
    is_taken.then(|| inputs.map(|input| tensor(rows(input.clone()))))
}

/// `[batch, heads, seq, head_dim]` to `[batch, kv_heads, group · seq, head_dim]`.
fn grouped(x: Tensor<4>, kv_heads: usize) -> Tensor<4> {
    let [batch, heads, seq, head_dim] = x.dims();
    x.reshape([batch, kv_heads, heads / kv_heads * seq, head_dim])
}

/// The softmax's weights, `[batch, kv_heads, group · seq, keys]`.
fn attention_weights(q: &Tensor<4>, k: &Tensor<4>, bias: &AttentionBias) -> Tensor<4> {
    let [batch, heads, seq, _] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let group = heads / kv_heads;
    let device = q.device();
    let logits = rows(grouped(q.clone(), kv_heads).matmul(k.clone().swap_dims(2, 3)));
    let first_seen = bias.first_seen();
    let seen_batches = first_seen.len() / seq;
    let first_seen = Tensor::<1>::from_data(TensorData::from(first_seen.as_slice()), &device); // [batch or 1 · seq]
    let logs = bias.log_multiplicity().unwrap_or_else(|| Tensor::zeros([1, 1, 1, keys], &device));
    let logs_batches = logs.dims()[0];
    let output = output_like(&logits, [batch, kv_heads, group * seq, keys]);
    softmax_of_row::launch(
        &logits.client.clone(),
        CubeCount::Static((group * seq) as u32, kv_heads as u32, batch as u32),
        CubeDim::new_1d(UNITS as u32),
        logits.into_buffer_arg(),
        rows(slopes_of_heads(&bias.slopes, heads, &device)).into_buffer_arg(),
        rows(first_seen).into_buffer_arg(),
        rows(logs).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        seq,
        keys,
        bias.past(),
        seen_batches,
        logs_batches,
    );
    tensor(output)
}

/// weights · (gradient − Σ weights · gradient) of each row of the last dimension.
#[cfg(feature = "train")]
fn gradient_of_logits(weights: &Tensor<4>, of_weights: Tensor<4>) -> Tensor<4> {
    let [batch, kv_heads, count, keys] = weights.dims();
    let weights = rows(weights.clone());
    let output = output_like(&weights, weights.meta.shape().clone());
    differentiate::launch(
        &weights.client.clone(),
        CubeCount::Static(count as u32, kv_heads as u32, batch as u32),
        CubeDim::new_1d(UNITS as u32),
        weights.into_buffer_arg(),
        rows(of_weights).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        keys,
    );
    tensor(output)
}

/// The row of a workgroup.
#[cube]
fn own_row() -> usize {
    let head = CUBE_POS_Z as usize * CUBE_COUNT_Y as usize + CUBE_POS_Y as usize;
    head * CUBE_COUNT_X as usize + CUBE_POS_X as usize
}

/// Softmax of a row of logits with their bias; the weights of keys that the query does not attend to are 0.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn softmax_of_row(
    logits: &[f32],
    slopes: &[f32],
    first_seen: &[f32],
    logs: &[f32],
    output: &mut [f32],
    seq: usize,
    keys: usize,
    past: usize,
    seen_batches: usize,
    logs_batches: usize,
) {
    let mut shared = Shared::new_slice(UNITS);
    let unit = UNIT_POS as usize;
    let batch = CUBE_POS_Z as usize;
    let query = CUBE_POS_X as usize % seq;
    let group = CUBE_COUNT_X as usize / seq;
    let slope = slopes[CUBE_POS_Y as usize * group + CUBE_POS_X as usize / seq];
    let start = own_row() * keys;
    let own = past + query;
    let from = first_seen[batch % seen_batches * seq + query] as usize;
    let of_logs = batch % logs_batches * keys;
    let mut largest = LOWEST.runtime();
    let mut sum = 0f32;
    let mut key = from + unit;
    while key <= own {
        let logit = logits[start + key] - slope * (own - key) as f32 + logs[of_logs + key];
        let highest = f32::max(largest, logit);
        sum = sum * f32::exp(largest - highest) + f32::exp(logit - highest);
        largest = highest;
        key += UNITS;
    }
    let mut highest = Array::new(1usize);
    highest[0] = largest;
    over_units(&mut shared, &mut highest, 1usize, false);
    let total = sum_of_units(&mut shared, sum * f32::exp(largest - highest[0]));
    let mut key = unit;
    while key < keys {
        let mut weight = 0f32;
        if key >= from && key <= own {
            let logit = logits[start + key] - slope * (own - key) as f32 + logs[of_logs + key];
            weight = f32::exp(logit - highest[0]) / total;
        }
        output[start + key] = weight;
        key += UNITS;
    }
}

/// Gradient of a row of logits.
#[cfg(feature = "train")]
#[cube(launch)]
fn differentiate(weights: &[f32], of_weights: &[f32], output: &mut [f32], keys: usize) {
    let mut shared = Shared::new_slice(UNITS);
    let start = own_row() * keys;
    let mut sum = 0f32;
    let mut key = UNIT_POS as usize;
    while key < keys {
        sum += weights[start + key] * of_weights[start + key];
        key += UNITS;
    }
    let total = sum_of_units(&mut shared, sum);
    let mut key = UNIT_POS as usize;
    while key < keys {
        output[start + key] = weights[start + key] * (of_weights[start + key] - total);
        key += UNITS;
    }
}
