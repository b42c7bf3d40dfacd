//! Attention on GPUs: of few queries, of a prompt in tiles, or as products around a softmax, of some queries at a time.

mod few;
mod tiles;
mod weights;

use burn::backend::cubecl::dtype_to_elem_type;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use burn_cubecl::tensor::CubeTensor;

use self::few::attend_few;
use self::tiles::attend_in_tiles;
#[cfg(feature = "train")]
pub use self::weights::gradients_by_products;
pub use self::weights::{attend_by_products, most_queries};
use super::{FEW, buffer, cubecl, is_on_gpu, is_plain, rows};
use cubecl::ir::ElemType;

/// Numbers of a head that the kernels have room for.
pub const LARGEST_KERNEL_HEAD: usize = 128;

/// Keys that queries attend to.
pub struct CachedKeys {
    /// Place of the first query's own key.
    pub at: usize,
    /// Keys before it that take part.
    pub past: usize,
    /// Keys that a query attends to, itself included.
    pub window: Option<usize>,
}

/// softmax(q·kᵀ + bias)·v of queries `[batch, heads, seq, head_dim]`, with every factor of the logits folded in, and keys and values
/// `[batch, kv_heads, keys, head_dim]` in f32, f16 or bf16; `slopes` are ALiBi's, one a head, or none. The output is as the queries, in f32.
/// `None` where the kernels cannot compute it: elsewhere than on a GPU, with queries in other types, with gradients, or for larger heads.
pub fn attend(q: &Tensor<4>, k: &Tensor<4>, v: &Tensor<4>, slopes: &[f64], seen: &CachedKeys) -> Option<Tensor<4>> {
    let [batch, heads, seq, head_dim] = q.dims();
    if !is_plain(q) || ![k, v].into_iter().all(is_on_gpu) || head_dim > LARGEST_KERNEL_HEAD {
        return None;
    }
    // Keys that were rotated when they were read are in f32, whatever the cache keeps.
    let widened = (k.dtype() != v.dtype()).then(|| [k, v].map(|tensor| tensor.clone().cast(FloatDType::F32)));
    let [k, v] = widened.as_ref().map_or([k, v], |[k, v]| [k, v]);
    let slopes = slopes_of_heads(slopes, heads, &q.device());
    let output = attend_to_cache(q.clone().swap_dims(1, 2), k, v, &slopes, seen);
    Some(output.reshape([batch, seq, heads, head_dim]).swap_dims(1, 2))
}

/// Takes queries `[batch, seq, heads, head_dim]` with every factor of the logits folded in, and keys and values
/// `[batch, kv_heads, capacity, head_dim]`, both in one type; `slopes`, `[heads]`, are ALiBi's or 0. Gives `[batch, seq, heads · head_dim]`.
pub fn attend_to_cache(
    queries: Tensor<4>,
    keys: &Tensor<4>,
    values: &Tensor<4>,
    slopes: &Tensor<1>,
    seen: &CachedKeys,
) -> Tensor<3> {
    let [batch, seq, ..] = queries.dims();
    let attend = if batch == 1 && seq <= FEW { attend_few } else { attend_in_tiles };
    attend(queries, &Strided::new(keys), &Strided::new(values), slopes, seen)
}

/// ALiBi's slopes, or 0: `[heads]`.
pub fn slopes_of_heads(slopes: &[f64], heads: usize, device: &Device) -> Tensor<1> {
    let slopes = if slopes.is_empty() { vec![0.0; heads] } else { slopes.iter().map(|&slope| slope as f32).collect() };
    Tensor::from_data(TensorData::new(slopes, [heads]), device)
}

/// Keys or values, where they lie: a part of a cache needs no copy.
struct Strided {
    buffer: CubeTensor,
    heads: usize,
    /// Rows from one head to the next.
    capacity: usize,
}

impl Strided {
    /// Of a tensor `[batch, kv_heads, keys, head_dim]`.
    fn new(tensor: &Tensor<4>) -> Self {
        let [batch, heads, _, head_dim] = tensor.dims();
        let mut buffer = buffer(tensor.clone());
        let strides = buffer.meta.strides();
        let is_in_rows = strides[3] == 1 && strides[2] == head_dim && strides[1] % head_dim == 0;
        if !is_in_rows || batch > 1 && strides[0] != heads * strides[1] {
            buffer = rows(tensor.clone());
        }
        let capacity = buffer.meta.strides()[1] / head_dim;
        Self { buffer, heads, capacity }
    }

    fn number_type(&self) -> ElemType {
        dtype_to_elem_type(self.buffer.dtype)
    }
}
