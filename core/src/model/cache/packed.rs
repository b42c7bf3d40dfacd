//! A layer's keys and values on the CPU: a matrix of rows for each head, in 32, 16 or 8 bits.

use burn::tensor::Tensor;

use super::grown;
use crate::kernels::{NumberType, PackedMatrix, PackedRows};

/// Keys and values of each kv head, `[tokens, head_dim]`.
pub struct PackedLayer {
    keys: Vec<PackedMatrix>,
    values: Vec<PackedMatrix>,
    capacity: usize,
    len: usize,
}

impl PackedLayer {
    pub(super) fn new(kind: NumberType, heads: usize, capacity: usize, head_dim: usize) -> Self {
        let matrices = || (0..heads).map(|_| PackedMatrix::new(kind, capacity, head_dim)).collect();
        Self { keys: matrices(), values: matrices(), capacity, len: 0 }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn truncate(&mut self, tokens: usize) {
        self.len = tokens;
        self.matrices().for_each(|matrix| matrix.truncate(tokens));
    }

    pub(super) fn append(&mut self, k: &Tensor<4>, v: &Tensor<4>, past: usize) {
        let [batch, _, seq, _] = k.dims();
        assert_eq!(batch, 1, "a cache holds one sequence");
        if self.len + seq > self.capacity {
            self.make_room(past, seq);
        }
        self.len += seq;
        for (matrices, rows) in [(&mut self.keys, k), (&mut self.values, v)] {
            PackedMatrix::push_heads(matrices, rows);
        }
    }

    pub(super) fn last(&self, tokens: usize) -> [PackedRows<'_>; 2] {
        [&self.keys, &self.values].map(|heads| PackedRows::new(heads, self.len - tokens..self.len))
    }

    /// Drops the tokens that no query attends to any more, and makes room for `seq` more.
    fn make_room(&mut self, past: usize, seq: usize) {
        let capacity = grown(self.capacity, past, seq);
        let unseen = self.len - past;
        self.matrices().for_each(|matrix| matrix.make_room(unseen, capacity));
        (self.capacity, self.len) = (capacity, past);
    }

    fn matrices(&mut self) -> impl Iterator<Item = &mut PackedMatrix> {
        self.keys.iter_mut().chain(&mut self.values)
    }
}
