//! Attention a few queries at a time, on every device: the logits of these queries alone exist, forward and backward. Memory then grows
//! with the length and not with its square, also where there is no fused kernel and autodiff would keep every weight. On GPUs there are
//! never more queries at a time than their kernels can count the weights of.

use std::ops::Range;

#[cfg(feature = "train")]
use burn::tensor::Device;
use burn::tensor::Tensor;

use super::{AttentionBias, attend};
use crate::kernels::ComputeType;
#[cfg(feature = "gpu")]
use crate::kernels::gpu;
#[cfg(feature = "train")]
use crate::kernels::{has_matrix_units, is_cpu, with_gradient};

/// Queries at a time on GPUs, where nobody says how many.
#[cfg(feature = "train")]
const QUERIES: usize = 1024;

/// Queries that attention takes at a time on a device where nobody says how many; `None`: all, in one fused kernel. A card with units for
/// products of matrices takes as many as its kernels can, since short products leave it idle.
#[cfg(feature = "train")]
pub fn queries_at_once(device: &Device) -> Option<usize> {
    let on_gpus = if has_matrix_units(device) { usize::MAX } else { QUERIES };
    (!is_cpu(device)).then_some(on_gpus)
}

/// As [`attend`](super::attend), at most `queries` queries at a time: q `[batch, heads, seq, head_dim]`, k and v
/// `[batch, kv_heads, keys, head_dim]`; the output has the shape of q.
pub fn attend_in_chunks(
    [q, k, v]: [Tensor<4>; 3],
    bias: &AttentionBias,
    queries: usize,
    compute: ComputeType,
) -> Tensor<4> {
    #[cfg(feature = "gpu")]
    let queries = queries.min(gpu::most_queries(&q, &k));
    let parts = bias.chunks(queries).map(|chunk| {
        let [q, k, v] = chunk.inputs([&q, &k, &v]);
        let bias = chunk.bias(bias, q.device().is_autodiff());
        #[cfg(feature = "gpu")]
        if let Some(output) = gpu::attend_by_products([&q, &k, &v], &bias, compute) {
            return output;
        }
        attend(q, k.into(), v.into(), &bias, compute, None)
    });
    Tensor::cat(parts.collect(), 2)
}

/// Gradients of q, k and v, shaped as these, from `grad_output`, that of the output, shaped as q. None of these tensors has a graph.
#[cfg(feature = "train")]
pub fn gradients_in_chunks(
    [q, k, v]: [Tensor<4>; 3],
    bias: &AttentionBias,
    queries: usize,
    compute: ComputeType,
    grad_output: &Tensor<4>,
) -> [Tensor<4>; 3] {
    #[cfg(feature = "gpu")]
    let queries = queries.min(gpu::most_queries(&q, &k));
    let (mut of_q, mut of_k, mut of_v) = (Vec::new(), k.zeros_like(), v.zeros_like());
    for chunk in bias.chunks(queries) {
        let grad_output = grad_output.clone().slice_dim(2, chunk.queries.clone());
        let [part_q, part_k, part_v] =
            gradients_of_chunk(&chunk, chunk.inputs([&q, &k, &v]), bias, compute, grad_output);
        of_q.push(part_q);
        of_k = added(of_k, &chunk.keys, part_k);
        of_v = added(of_v, &chunk.keys, part_v);
    }
    [Tensor::cat(of_q, 2), of_k, of_v]
}

/// Gradients of the inputs of a chunk from that of its output.
#[cfg(feature = "train")]
fn gradients_of_chunk(
    chunk: &Chunk,
    inputs: [Tensor<4>; 3],
    bias: &AttentionBias,
    compute: ComputeType,
    grad_output: Tensor<4>,
) -> [Tensor<4>; 3] {
    #[cfg(feature = "gpu")]
    if let Some(found) = gpu::gradients_by_products(inputs.each_ref(), &chunk.bias(bias, false), &grad_output, compute)
    {
        return found;
    }
    let leaves = inputs.map(|input| Tensor::from_inner(input).require_grad());
    let [q, k, v] = leaves.clone();
    let output = attend(q, k.into(), v.into(), &chunk.bias(bias, true), compute, None);
    let mut gradients = with_gradient(output, grad_output).backward();
    leaves.map(|leaf| leaf.grad_remove(&mut gradients).expect("the output depends on the leaf"))
}

/// `total`, to whose rows `rows` a part is added.
#[cfg(feature = "train")]
fn added(total: Tensor<4>, rows: &Range<usize>, part: Tensor<4>) -> Tensor<4> {
    let [batch, heads, _, head_dim] = total.dims();
    let place = [0..batch, 0..heads, rows.clone(), 0..head_dim];
    let sum = total.clone().slice(place.clone()) + part;
    total.slice_assign(place, sum)
}

/// Some queries of a text, and the keys that they may attend to, counted from the first of each.
pub(super) struct Chunk {
    pub(super) queries: Range<usize>,
    pub(super) keys: Range<usize>,
}

impl Chunk {
    /// Rows of q, k and v.
    fn inputs(&self, [q, k, v]: [&Tensor<4>; 3]) -> [Tensor<4>; 3] {
        let rows = |x: &Tensor<4>, rows: &Range<usize>| x.clone().slice_dim(2, rows.clone());
        [rows(q, &self.queries), rows(k, &self.keys), rows(v, &self.keys)]
    }

    /// What is added to the logits of these queries, for tensors with or without a graph.
    fn bias(&self, whole: &AttentionBias, has_graph: bool) -> AttentionBias {
        let mut bias = whole.of_queries(self.queries.clone());
        if !has_graph {
            bias.log_multiplicity = bias.log_multiplicity();
        }
        bias
    }
}
