//! A layer's keys and values as tensors, which are written in place.

use burn::tensor::{Device, FloatDType, Tensor, s};

use super::grown;
#[cfg(feature = "gpu")]
use crate::kernels::gpu;

/// Two buffers `[1, kv_heads, capacity, head_dim]`.
pub struct TensorLayer {
    keys: Tensor<4>,
    values: Tensor<4>,
    len: usize,
}

impl TensorLayer {
    pub(super) fn new(shape: [usize; 4], dtype: FloatDType, device: &Device) -> Self {
        let zeros = || Tensor::zeros(shape, (device, dtype.into()));
        Self { keys: zeros(), values: zeros(), len: 0 }
    }

    pub(super) fn capacity(&self) -> usize {
        self.keys.dims()[2]
    }

    pub(super) fn truncate(&mut self, tokens: usize) {
        self.len = tokens;
    }

    pub(super) fn append(&mut self, k: Tensor<4>, v: Tensor<4>, past: usize) {
        let [batch, _, seq, _] = k.dims();
        assert_eq!(batch, 1, "a cache holds one sequence");
        let at = self.reserve(seq, past);
        // In place: no other handle to the buffers is alive between two steps.
        for (buffer, rows) in [(&mut self.keys, k), (&mut self.values, v)] {
            #[cfg(feature = "gpu")]
            if gpu::is_plain(&rows) {
                gpu::write_into_cache(rows, buffer, at);
                continue;
            }
            let rows = rows.cast(FloatDType::from(buffer.dtype()));
            buffer.inplace(|buffer| buffer.slice_assign(s![.., .., at..at + seq, ..], rows));
        }
    }

    /// Reserves `seq` places after the tokens so far, of which queries still attend to the last `past`. Returns the
    /// index of the first reserved place; the caller fills them.
    pub fn reserve(&mut self, seq: usize, past: usize) -> usize {
        if self.len + seq > self.capacity() {
            self.make_room(past, seq);
        }
        self.len += seq;
        self.len - seq
    }

    /// Both buffers. Kernels write into reserved places; no other handle exists between two steps.
    #[cfg(feature = "gpu")]
    pub fn whole(&self) -> (&Tensor<4>, &Tensor<4>) {
        (&self.keys, &self.values)
    }

    /// Views of the last `tokens`.
    pub(super) fn last(&self, tokens: usize) -> [Tensor<4>; 2] {
        [&self.keys, &self.values].map(|buffer| buffer.clone().slice(s![.., .., self.len - tokens..self.len, ..]))
    }

    /// Drops the tokens that no query attends to any more, and makes room for `seq` more.
    fn make_room(&mut self, past: usize, seq: usize) {
        let [batch, heads, capacity, head_dim] = self.keys.dims();
        let shape = [batch, heads, grown(capacity, past, seq), head_dim];
        let from = self.len - past;
        for buffer in [&mut self.keys, &mut self.values] {
            buffer.inplace(|old| {
                let seen = old.clone().slice(s![.., .., from..self.len, ..]);
                Tensor::zeros(shape, (&old.device(), old.dtype())).slice_assign(s![.., .., 0..past, ..], seen)
            });
        }
        self.len = past;
    }
}
