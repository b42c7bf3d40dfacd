//! The key-value cache: memory is reserved in whole blocks and filled in place.

mod packed;
mod tensors;

use burn::tensor::{Device, FloatDType, Tensor};

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
    /// A cache with room for `tokens` tokens of one sequence; it grows if more come. Numbers are kept as `kind`; on a GPU
    /// that does not know such numbers, and where gradients are kept, in 32 bits.
    pub(super) fn new(
        config: &Config,
        positions: &Positions,
        tokens: usize,
        kind: NumberType,
        device: &Device,
    ) -> Self {
        let dtype = kind.dtype_on(device).filter(|_| !device.is_autodiff()).unwrap_or(FloatDType::F32);
        let layer = |index| {
            // Twice the window, so that keys outside the window are removed once per window and not at every token.
            let tokens = positions.layer(index).window.map_or(tokens, |window| tokens.min(2 * window));
            let capacity = tokens.max(1).next_multiple_of(BLOCK);
            let (heads, head_dim) = (config.num_key_value_heads, config.head_dim);
            if device == &Device::flex() && !device.is_autodiff() {
                LayerCache::Packed(PackedLayer::new(kind, heads, capacity, head_dim))
            } else {
                LayerCache::Tensors(Box::new(TensorLayer::new([1, heads, capacity, head_dim], dtype, device)))
            }
        };
        Self { layers: (0..config.num_hidden_layers).map(layer).collect(), len: 0, prompt_len: 0 }
    }

    /// Drops the tokens after the first `tokens`. If a layer has a window, its first tokens are gone, so `tokens` must
    /// be 0.
    pub(crate) fn rewind(&mut self, tokens: usize) {
        for layer in &mut self.layers {
            match layer {
                LayerCache::Tensors(layer) => layer.truncate(tokens),
                LayerCache::Packed(layer) => layer.truncate(tokens),
            }
        }
        self.len = tokens;
    }

    /// Sets the length of a prompt that is read in several passes. If frequencies depend on the length of the text,
    /// every pass uses those of the whole prompt.
    pub fn expect_prompt(&mut self, tokens: usize) {
        self.prompt_len = tokens;
    }

    /// Length of the text that decides on the frequencies of the next `seq` tokens.
    pub(super) fn text_len(&self, seq: usize) -> usize {
        (self.len + seq).max(self.prompt_len)
    }

    /// Number of tokens that went into the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no token is in the cache.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of tokens that there is room for now, summed over layers.
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

/// New capacity for `seq` tokens after the last `past`, which queries still attend to. It is at least twice `past`, so
/// that moving them has a constant cost per token. With a sliding window the capacity stays bounded; without one it
/// doubles.
fn grown(capacity: usize, past: usize, seq: usize) -> usize {
    capacity.max(2 * past).max(past + seq).next_multiple_of(BLOCK)
}

impl LayerCache {
    /// Writes `[1, kv_heads, seq, head_dim]` after the tokens so far, of which queries still attend to the last `past`.
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
