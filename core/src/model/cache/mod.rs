//! The key-value cache: room is taken once, in whole blocks, and filled in place.

mod packed;
mod tensors;

use burn::tensor::{Device, Tensor};

use self::packed::PackedLayer;
pub(super) use self::tensors::TensorLayer;
use crate::config::Config;
use crate::kernels::{KeysOrValues, NumberType};
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

/// One layer's part. Keys are rotated by position, unless their frequencies depend on the length or query head.
pub(super) enum LayerCache {
    /// On GPUs, and where gradients are kept.
    Tensors(Box<TensorLayer>),
    /// On the CPU.
    Packed(PackedLayer),
}

impl Cache {
    /// A cache with room for `tokens` tokens of one sequence; it grows if more come. On the CPU numbers are kept as `kind`, elsewhere
    /// in 32 bits.
    pub(super) fn new(
        config: &Config,
        positions: &Positions,
        tokens: usize,
        kind: NumberType,
        device: &Device,
    ) -> Self {
        let layer = |index| {
            // Twice the window, so that what has left it is cleared out once a window, not at every token.
            let tokens = positions.layer(index).window.map_or(tokens, |window| tokens.min(2 * window));
            let capacity = tokens.max(1).next_multiple_of(BLOCK);
            let (heads, head_dim) = (config.num_key_value_heads, config.head_dim);
            if device == &Device::flex() && !device.is_autodiff() {
                LayerCache::Packed(PackedLayer::new(kind, heads, capacity, head_dim))
            } else {
                LayerCache::Tensors(Box::new(TensorLayer::new([1, heads, capacity, head_dim], device)))
            }
        };
        Self { layers: (0..config.num_hidden_layers).map(layer).collect(), len: 0, prompt_len: 0 }
    }

    /// Forgets what came after the first `tokens` tokens. Where a layer has a window, whose first tokens are gone, only 0 is
    /// possible.
    pub(crate) fn rewind(&mut self, tokens: usize) {
        for layer in &mut self.layers {
            match layer {
                LayerCache::Tensors(layer) => layer.truncate(tokens),
                LayerCache::Packed(layer) => layer.truncate(tokens),
            }
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
        let of_layer = |layer: &LayerCache| match layer {
            LayerCache::Tensors(layer) => layer.capacity(),
            LayerCache::Packed(layer) => layer.capacity(),
        };
        self.layers.iter().map(of_layer).sum()
    }

    pub(super) fn layer(&mut self, index: usize) -> &mut LayerCache {
        &mut self.layers[index]
    }

    /// Every layer has taken in `tokens` more.
    pub(super) fn advance(&mut self, tokens: usize) {
        self.len += tokens;
    }
}

/// Room for `seq` tokens behind the last `past`, which are still seen: as much again as there is left, so that moving them up costs a
/// constant per token. After a sliding window it stays bounded, elsewhere it doubles.
fn grown(capacity: usize, past: usize, seq: usize) -> usize {
    capacity.max(2 * past).max(past + seq).next_multiple_of(BLOCK)
}

impl LayerCache {
    /// Writes `[1, kv_heads, seq, head_dim]` after what is there, of which the last `past` are still seen.
    pub(super) fn append(&mut self, k: Tensor<4>, v: Tensor<4>, past: usize) {
        match self {
            Self::Tensors(layer) => layer.append(k, v, past),
            Self::Packed(layer) => layer.append(&k, &v, past),
        }
    }

    /// Keys and values of the last `tokens`.
    pub(super) fn last(&self, tokens: usize) -> [KeysOrValues<'_>; 2] {
        match self {
            Self::Tensors(layer) => layer.last(tokens).map(KeysOrValues::from),
            Self::Packed(layer) => layer.last(tokens).map(KeysOrValues::Packed),
        }
    }
}
