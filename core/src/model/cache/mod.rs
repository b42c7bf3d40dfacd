//! The key-value cache: buffers allocated once, in whole blocks, and written in place.

use burn::tensor::{Device, Tensor, s};

use crate::config::Config;
use crate::positions::Positions;

/// Room is reserved in multiples of this many tokens.
const BLOCK: usize = 128;

/// Keys and values of every token so far; of layers with a sliding window, of the last ones alone.
pub struct Cache {
    layers: Vec<LayerCache>,
    len: usize,
    /// Tokens of the prompt, where it is read in several passes.
    prompt_len: usize,
}

/// One layer's part.
pub(super) struct LayerCache {
    /// `[batch, kv_heads, capacity, head_dim]`; rotated by position, unless their frequencies depend on the length or query head.
    keys: Tensor<4>,
    /// `[batch, kv_heads, capacity, head_dim]`
    values: Tensor<4>,
    len: usize,
}

impl Cache {
    /// A cache with room for `tokens` tokens of one sequence; it grows if more come.
    pub fn new(config: &Config, positions: &Positions, tokens: usize, device: &Device) -> Self {
        let layer = |index| {
            // Twice the window, so that what has left it is cleared out once a window, not at every token.
            let tokens = positions.layer(index).window.map_or(tokens, |window| tokens.min(2 * window));
            let capacity = tokens.max(1).next_multiple_of(BLOCK);
            let shape = [1, config.num_key_value_heads, capacity, config.head_dim];
            LayerCache { keys: Tensor::zeros(shape, device), values: Tensor::zeros(shape, device), len: 0 }
        };
        Self { layers: (0..config.num_hidden_layers).map(layer).collect(), len: 0, prompt_len: 0 }
    }

    /// Forgets what came after the first `tokens` tokens. Where a layer has a window, whose first tokens are gone, only 0 is
    /// possible.
    pub(crate) fn rewind(&mut self, tokens: usize) {
        for layer in &mut self.layers {
            layer.len = tokens;
        }
        self.len = tokens;
    }

    /// Announces a prompt of `tokens` tokens, of which the next passes read a part each: where frequencies depend on the length
    /// of the text, every part gets those of the whole prompt.
    pub fn expect_prompt(&mut self, tokens: usize) {
        self.prompt_len = tokens;
    }

    /// Length of the text whose frequencies the next `seq` tokens have.
    pub(super) fn text_len(&self, seq: usize) -> usize {
        (self.len + seq).max(self.prompt_len)
    }

    /// Tokens that went into the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no token is in the cache.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Tokens that there is room for now, summed over layers.
    pub fn capacity(&self) -> usize {
        self.layers.iter().map(|layer| layer.keys.dims()[2]).sum()
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
    /// Writes `[batch, kv_heads, seq, head_dim]` after what is there, of which the last `past` are still seen.
    pub(super) fn append(&mut self, k: Tensor<4>, v: Tensor<4>, past: usize) {
        let seq = k.dims()[2];
        let at = self.reserve(seq, past);
        let at = at..at + seq;
        // In place: no other handle to the buffers is alive between two steps.
        self.keys.inplace(|keys| keys.slice_assign(s![.., .., at.clone(), ..], k));
        self.values.inplace(|values| values.slice_assign(s![.., .., at, ..], v));
    }

    /// Takes `seq` more places after what is there, of which the last `past` are still seen; the first of them, which is for the
    /// caller to fill.
    pub(super) fn reserve(&mut self, seq: usize, past: usize) -> usize {
        if self.len + seq > self.keys.dims()[2] {
            self.make_room(past, seq);
        }
        self.len += seq;
        self.len - seq
    }

    /// Both buffers. Kernels fill reserved places in place: no other handle is alive between two steps.
    #[cfg(feature = "gpu")]
    pub(super) fn whole(&mut self) -> (&Tensor<4>, &Tensor<4>) {
        (&self.keys, &self.values)
    }

    /// Views of the last `tokens`: two of `[batch, kv_heads, tokens, head_dim]`.
    pub(super) fn last(&self, tokens: usize) -> (Tensor<4>, Tensor<4>) {
        let part = |buffer: &Tensor<4>| buffer.clone().slice(s![.., .., self.len - tokens..self.len, ..]);
        (part(&self.keys), part(&self.values))
    }

    /// Drops what is no longer seen, and leaves as much room again as there is left, so that copying costs a constant per
    /// token: after a sliding window the buffer stays bounded, elsewhere it doubles.
    fn make_room(&mut self, past: usize, seq: usize) {
        let [batch, heads, capacity, head_dim] = self.keys.dims();
        let capacity = capacity.max(2 * past).max(past + seq);
        let shape = [batch, heads, capacity.next_multiple_of(BLOCK), head_dim];
        let from = self.len - past;
        for buffer in [&mut self.keys, &mut self.values] {
            buffer.inplace(|old| {
                let seen = old.clone().slice(s![.., .., from..self.len, ..]);
                Tensor::zeros(shape, &old.device()).slice_assign(s![.., .., 0..past, ..], seen)
            });
        }
        self.len = past;
    }
}
