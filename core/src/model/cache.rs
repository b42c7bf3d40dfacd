//! The key-value cache: buffers allocated once, in whole blocks, and written in place.

use burn::tensor::{Device, Tensor, s};

use crate::config::Config;

/// Room is reserved in multiples of this many tokens.
const BLOCK: usize = 128;

/// Keys (turned by position) and values of every token so far.
pub struct Cache {
    layers: Vec<LayerCache>,
    len: usize,
}

/// One layer's part.
pub(super) struct LayerCache {
    /// `[batch, kv_heads, capacity, head_dim]`
    keys: Tensor<4>,
    /// `[batch, kv_heads, capacity, head_dim]`
    values: Tensor<4>,
    len: usize,
}

impl Cache {
    /// A cache with room for `tokens` tokens of one sequence; it grows if more come.
    pub fn new(config: &Config, tokens: usize, device: &Device) -> Self {
        let shape = [1, config.num_key_value_heads, tokens.max(1).next_multiple_of(BLOCK), config.head_dim];
        let layer = |_| LayerCache { keys: Tensor::zeros(shape, device), values: Tensor::zeros(shape, device), len: 0 };
        Self { layers: (0..config.num_hidden_layers).map(layer).collect(), len: 0 }
    }

    /// Tokens in the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no token is in the cache.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn layer(&mut self, index: usize) -> &mut LayerCache {
        &mut self.layers[index]
    }

    /// Every layer has taken in `tokens` more.
    pub(super) fn advance(&mut self, tokens: usize) {
        self.len += tokens;
    }
}

impl LayerCache {
    /// Writes `[1, kv_heads, seq, head_dim]` behind what is there.
    pub(super) fn append(&mut self, k: Tensor<4>, v: Tensor<4>) {
        let end = self.len + k.dims()[2];
        if end > self.keys.dims()[2] {
            self.grow(end);
        }
        let at = self.len..end;
        // In place: no other handle to the buffers is alive between two steps.
        self.keys.inplace(|keys| keys.slice_assign(s![.., .., at.clone(), ..], k));
        self.values.inplace(|values| values.slice_assign(s![.., .., at, ..], v));
        self.len = end;
    }

    /// Views of what is filled: two of `[1, kv_heads, len, head_dim]`.
    pub(super) fn filled(&self) -> (Tensor<4>, Tensor<4>) {
        let part = |buffer: &Tensor<4>| buffer.clone().slice(s![.., .., 0..self.len, ..]);
        (part(&self.keys), part(&self.values))
    }

    /// Doubles the room at least, so that copying costs a constant per token.
    fn grow(&mut self, needed: usize) {
        let [batch, heads, capacity, head_dim] = self.keys.dims();
        let more = needed.max(2 * capacity).next_multiple_of(BLOCK) - capacity;
        for buffer in [&mut self.keys, &mut self.values] {
            buffer.inplace(|old| {
                let room = Tensor::zeros([batch, heads, more, head_dim], &old.device());
                Tensor::cat(vec![old, room], 2)
            });
        }
    }
}
