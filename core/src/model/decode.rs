//! A block for few tokens on a GPU, in six launches; numbers are those of the plain form.

use burn::tensor::{Device, Tensor, TensorData};

use super::attention::LayerKind;
use super::cache::LayerCache;
use super::pass::Pass;
use super::rotation::both_halves;
use super::{Block, Model};
use crate::kernels::gpu::{
    CachedKeys, FewRotations, add_projection, attend_to_cache, gated_projections, normed_projections, rotate_into_cache,
};
use crate::positions::{Encoding, LayerPositions, Positions};

/// What the layers of one kind share when they read few tokens.
pub(super) struct FewTokens {
    rotations: FewRotations,
    /// `[heads]`: ALiBi's, or 0.
    slopes: Tensor<1>,
    window: Option<usize>,
}

impl FewTokens {
    /// `None` where the kernels cannot compute what the layers do: keys that are rotated when they are read, and factors of
    /// heads or keys. `logit_scale` is β times the attention's own scale; `ssmax` one more factor of each query.
    pub(super) fn new(
        positions: &LayerPositions,
        pass: &Pass,
        logit_scale: f64,
        ssmax: Option<Vec<f32>>,
        [heads, head_dim]: [usize; 2],
        device: &Device,
    ) -> Option<Self> {
        if pass.log_multiplicity.is_some() || !pass.head_scales.is_empty() {
            return None;
        }
        let (inv_freq, attention_factor) = match &positions.encoding {
            Encoding::None | Encoding::Alibi { .. } => (vec![0.0; head_dim / 2], 1.0),
            Encoding::Rotary { inv_freq, attention_factor } => (inv_freq.clone(), *attention_factor),
            Encoding::PerHead(_) | Encoding::LengthDependent(_) => return None,
        };
        let slopes = match &positions.encoding {
            Encoding::Alibi { slopes } => slopes.iter().map(|&slope| slope as f32).collect(),
            _ => vec![0.0; heads],
        };
        let seq = pass.tokens.len();
        let table = |function: fn(f64) -> f64| {
            let of_row = |position| both_halves(&inv_freq, position, |angle, _| function(angle) * attention_factor);
            let values: Vec<f32> = pass.tokens.clone().flat_map(of_row).collect();
            Tensor::from_data(TensorData::new(values, [seq, head_dim]), device)
        };
        let factors = ssmax.unwrap_or_else(|| vec![1.0; seq]);
        let factors: Vec<f32> = factors.into_iter().map(|factor| (f64::from(factor) * logit_scale) as f32).collect();
        Some(Self {
            rotations: FewRotations {
                cos: table(f64::cos),
                sin: table(f64::sin),
                factors: Tensor::from_data(TensorData::new(factors, [seq]), device),
            },
            slopes: Tensor::from_data(TensorData::new(slopes, [heads]), device),
            window: positions.window,
        })
    }
}

impl Model {
    /// Adds to each kind of layers what few tokens on a GPU need.
    pub(super) fn prepare_few(&self, kinds: &mut [LayerKind], positions: &Positions, pass: &Pass, device: &Device) {
        let Some((shape, scale)) = self.layers.first().and_then(|block| block.self_attn.without_norms()) else {
            return;
        };
        for (kind, layer) in kinds.iter_mut().zip(&positions.layers) {
            let ssmax = self.ssmax_context.map(|context| pass.ssmax(context, layer.window));
            kind.few = FewTokens::new(layer, pass, scale * kind.logit_scale, ssmax, shape, device);
        }
    }
}

impl Block {
    /// `[1, seq, hidden]` to the same, of tokens behind `past` that are in the cache.
    pub(super) fn decode(&self, x: &Tensor<3>, few: &FewTokens, past: usize, cache: &mut LayerCache) -> Tensor<3> {
        let (attention, mlp) = (&self.self_attn, &self.mlp);
        let projections = normed_projections(&self.input_layernorm, x, attention.projections());
        let at = cache.reserve(x.dims()[1], past);
        let queries = cache.write(|keys, values| rotate_into_cache(projections, &few.rotations, keys, values, at));
        let (keys, values) = cache.whole();
        let seen = CachedKeys { at, past, window: few.window };
        let y = attend_to_cache(queries, keys, values, &few.slopes, &seen); // [1, seq, heads · head_dim]
        let x = add_projection(attention.output(), y, x);
        let gated = gated_projections(&self.post_attention_layernorm, &x, &mlp.gate_proj, &mlp.up_proj);
        add_projection(&mlp.down_proj, gated, &x)
    }
}
