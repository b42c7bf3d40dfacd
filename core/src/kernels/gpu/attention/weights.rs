//! Attention as products around a softmax in one launch, forward and backward, for a few queries at a time: in training on GPUs, and in
//! prompts where a card has units for products of matrices.
//!
//! The softmax adds the bias as it reads the logits and writes the weights, where Burn's operations read and write the matrix a dozen times.
//! To compute in bf16 is to round the factors of the five products, the weights among them; logits, sums and outputs stay in f32.

use burn::backend::cubecl::dtype_to_elem_type;
use burn::tensor::{DType, Tensor, TensorData};
use burn_cubecl::tensor::CubeTensor;

use super::slopes_of_heads;
use crate::kernels::gpu::linear::product;
use crate::kernels::gpu::pack::packed;
use crate::kernels::gpu::softmax::ExpSum;
use crate::kernels::gpu::subgroups::lanes;
#[cfg(feature = "train")]
use crate::kernels::gpu::sum::sum_of_units;
use crate::kernels::gpu::{MOST_WORKGROUPS, buffer, cubecl, is_plain, output_in, rows, tensor};
use crate::kernels::{AttentionBias, ComputeType};
use cubecl::prelude::*;

/// Units of a workgroup, which has a row of logits.
const UNITS: usize = 256;
/// Most numbers of a matrix of weights, 1 GB: more do not fit into a buffer everywhere, and kernels count them in 32 bits.
const MOST_WEIGHTS: usize = 1 << 28;
/// What the number of keys is filled up to a multiple of, with keys behind the last query, which no query attends to.
const KEYS: usize = 64;

/// Queries whose weights are no more than that: a power of two, so that few shapes of products are to be tried out. q and k as
/// [`attend_by_products`] takes them.
pub fn most_queries(q: &Tensor<4>, k: &Tensor<4>) -> usize {
    let [batch, heads, ..] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let keys = keys.next_multiple_of(KEYS).max(1);
    let queries = (MOST_WEIGHTS / (batch * heads * keys)).min(MOST_WORKGROUPS * kv_heads / heads);
    1 << queries.max(1).ilog2()
}

/// softmax(q·kᵀ + bias)·v of queries `[batch, heads, seq, head_dim]`, keys and values `[batch, kv_heads, keys, head_dim]`; the output is
/// as the queries. `None` elsewhere than on a GPU, in other types than f32, with gradients, or of more than [`most_queries`].
pub fn attend_by_products(inputs: [&Tensor<4>; 3], bias: &AttentionBias, compute: ComputeType) -> Option<Tensor<4>> {
    let [q, k, v] = factors(inputs, compute)?;
    let shape = q.dims();
    Some(product(attention_weights(q, &k, bias), v).reshape(shape))
}

/// Gradients of q, k and v, shaped as these, from that of the output, shaped as q; `None` as [`attend_by_products`].
#[cfg(feature = "train")]
pub fn gradients_by_products(
    inputs: [&Tensor<4>; 3],
    bias: &AttentionBias,
    grad_output: &Tensor<4>,
    compute: ComputeType,
) -> Option<[Tensor<4>; 3]> {
    let [q, k, v] = factors(inputs, compute)?;
    let weights = attention_weights(q.clone(), &k, bias); // [batch, kv_heads, group · seq, keys]
    let (shape, keys) = (q.dims(), inputs[1].dims()[2]);
    let [q, grad_output] = [q, factor(grad_output, 1, compute)].map(|x| grouped(x, k.dims()[1])); // [batch, kv_heads, group · seq, head_dim]
    let of_v = product(weights.clone().swap_dims(2, 3), grad_output.clone());
    let of_weights = product(grad_output, v.swap_dims(2, 3));
    let of_logits = gradient_of_logits(&weights, of_weights);
    let of_k = product(of_logits.clone().swap_dims(2, 3), q);
    let [of_k, of_v] = [of_k, of_v].map(|x| if x.dims()[2] == keys { x } else { x.slice_dim(2, 0..keys) });
    Some([product(of_logits, k).reshape(shape), of_k, of_v])
}

/// The same tensors as [`factor`]s of products; `None` where the kernels do not take them.
fn factors(inputs: [&Tensor<4>; 3], compute: ComputeType) -> Option<[Tensor<4>; 3]> {
    let [q, k, v] = inputs;
    let are_taken = inputs.into_iter().all(is_plain) && q.dims()[2] <= most_queries(q, k);
    are_taken.then(|| [factor(q, 1, compute), factor(k, KEYS, compute), factor(v, KEYS, compute)])
}

/// A tensor `[batch, heads, rows, head_dim]` rounded to the type to compute in, with rows of zeros up to a multiple of `multiple`.
fn factor(x: &Tensor<4>, multiple: usize, compute: ComputeType) -> Tensor<4> {
    let dtype = match compute {
        ComputeType::F32 => DType::F32,
        ComputeType::Bf16 => DType::BF16,
    };
    let shape = x.dims();
    tensor(packed(buffer(x.clone()), shape, shape[2].next_multiple_of(multiple), dtype))
}

/// `[batch, heads, seq, head_dim]` to `[batch, kv_heads, group · seq, head_dim]`.
fn grouped(x: Tensor<4>, kv_heads: usize) -> Tensor<4> {
    let [batch, heads, seq, head_dim] = x.dims();
    x.reshape([batch, kv_heads, heads / kv_heads * seq, head_dim])
}

/// The softmax's weights in the type of q and k, `[batch, kv_heads, group · seq, keys]`.
fn attention_weights(q: Tensor<4>, k: &Tensor<4>, bias: &AttentionBias) -> Tensor<4> {
    let [batch, heads, seq, _] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let group = heads / kv_heads;
    let (device, dtype) = (q.device(), q.dtype());
    let logits = rows(product(grouped(q, kv_heads), k.clone().swap_dims(2, 3)));
    // A launch needs a buffer for every argument. The kernel never reads one that is absent, and the logits take its place.
    let first_seen = bias.first_seen_in_documents().map(|first_seen| {
        Tensor::<1>::from_data(TensorData::from(first_seen.as_slice()), &device) // [batch · seq]
    });
    let logs = bias.log_multiplicity(); // [batch or 1, 1, 1, keys]
    let [logs_batches, .., counted_keys] = logs.as_ref().map_or([1, 1, 1, keys], Tensor::dims);
    let slopes = (!bias.slopes.is_empty()).then(|| slopes_of_heads(&bias.slopes, heads, &device));
    let has = [slopes.is_some(), first_seen.is_some(), logs.is_some()];
    let given = |tensor: Option<CubeTensor>| tensor.unwrap_or_else(|| logits.clone());
    let (slopes, first_seen, logs) = (given(slopes.map(rows)), given(first_seen.map(rows)), given(logs.map(rows)));
    let output = weights_like(&logits, dtype);
    softmax_of_row::launch(
        &logits.client.clone(),
        CubeCount::Static((group * seq) as u32, kv_heads as u32, batch as u32),
        CubeDim::new_1d(UNITS as u32),
        logits.into_buffer_arg(),
        slopes.into_buffer_arg(),
        first_seen.into_buffer_arg(),
        logs.into_buffer_arg(),
        output.clone().into_buffer_arg(),
        seq,
        keys,
        bias.past(),
        bias.window().unwrap_or(keys),
        logs_batches,
        counted_keys,
        has[0],
        has[1],
        has[2],
        lanes(),
        dtype_to_elem_type(dtype),
    );
    tensor(output)
}

/// Room for weights of these logits in another type.
fn weights_like(logits: &CubeTensor, dtype: DType) -> CubeTensor {
    output_in(dtype, logits, logits.meta.shape().clone())
}

/// weights · (gradient − Σ weights · gradient) of each row of the last dimension.
#[cfg(feature = "train")]
fn gradient_of_logits(weights: &Tensor<4>, of_weights: Tensor<4>) -> Tensor<4> {
    let [batch, kv_heads, count, keys] = weights.dims();
    let dtype = weights.dtype();
    let weights = rows(weights.clone());
    let output = weights_like(&weights, dtype);
    differentiate::launch(
        &weights.client.clone(),
        CubeCount::Static(count as u32, kv_heads as u32, batch as u32),
        CubeDim::new_1d(UNITS as u32),
        weights.into_buffer_arg(),
        rows(of_weights).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        keys,
        lanes(),
        dtype_to_elem_type(dtype),
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
fn softmax_of_row<W: Float>(
    logits: &[f32],
    slopes: &[f32],
    first_seen: &[f32],
    logs: &[f32],
    output: &mut [W],
    seq: usize,
    keys: usize,
    past: usize,
    window: usize,
    logs_batches: usize,
    counted_keys: usize,
    #[comptime] has_slopes: bool,
    #[comptime] has_documents: bool,
    #[comptime] has_logs: bool,
    #[comptime] lanes: usize,
    #[define(W)] _type: ElemType,
) {
    let mut shared = Shared::new_slice(UNITS);
    let unit = UNIT_POS as usize;
    let batch = CUBE_POS_Z as usize;
    let query = CUBE_POS_X as usize % seq;
    let group = CUBE_COUNT_X as usize / seq;
    let mut slope = 0f32;
    if has_slopes {
        slope = slopes[CUBE_POS_Y as usize * group + CUBE_POS_X as usize / seq];
    }
    let start = own_row() * keys;
    let own = past + query;
    let mut from = 0usize;
    if own + 1 > window {
        from = own + 1 - window;
    }
    if has_documents {
        from = first_seen[batch * seq + query] as usize;
    }
    let of_logs = batch % logs_batches * counted_keys;
    let mut exponentials = ExpSum::new();
    let mut key = from + unit;
    while key <= own {
        let logit = biased(logits[start + key], slope, own - key, logs, of_logs + key, has_logs);
        exponentials.add(logit);
        key += UNITS;
    }
    let row_sum = exponentials.of_units(&mut shared, UNITS, lanes);
    let mut key = unit;
    while key < keys {
        let mut weight = 0f32;
        if key >= from && key <= own {
            let logit = biased(logits[start + key], slope, own - key, logs, of_logs + key, has_logs);
            weight = f32::exp(logit - row_sum.largest) / row_sum.sum;
        }
        output[start + key] = W::cast_from(weight);
        key += UNITS;
    }
}

/// A logit with ALiBi's slope over a distance in tokens, and with the logarithm of its key's multiplicity.
#[cube]
fn biased(logit: f32, slope: f32, distance: usize, logs: &[f32], at: usize, #[comptime] has_logs: bool) -> f32 {
    let mut biased = logit - slope * distance as f32;
    if has_logs {
        biased += logs[at];
    }
    biased
}

/// Gradient of a row of logits.
#[cfg(feature = "train")]
#[cube(launch)]
fn differentiate<W: Float>(
    weights: &[W],
    of_weights: &[f32],
    output: &mut [W],
    keys: usize,
    #[comptime] lanes: usize,
    #[define(W)] _type: ElemType,
) {
    let mut shared = Shared::new_slice(UNITS);
    let start = own_row() * keys;
    let mut sum = 0f32;
    let mut key = UNIT_POS as usize;
    while key < keys {
        sum += f32::cast_from(weights[start + key]) * of_weights[start + key];
        key += UNITS;
    }
    let total = sum_of_units(&mut shared, sum, UNITS, lanes);
    let mut key = UNIT_POS as usize;
    while key < keys {
        let of_logit = f32::cast_from(weights[start + key]) * (of_weights[start + key] - total);
        output[start + key] = W::cast_from(of_logit);
        key += UNITS;
    }
}
