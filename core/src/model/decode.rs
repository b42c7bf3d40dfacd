//! A block for few tokens on a GPU, in six launches; the results equal those of the reference form.

use burn::tensor::{Device, Tensor, TensorData};

use super::Model;
use super::block::Block;
use super::cache::{Cache, LayerCache, TensorLayer};
use super::pass::Pass;
use super::projection::Projection;
use super::rotation::both_halves;
use crate::config::{Activation, BlockNorms};
use crate::kernels::AttentionBias;
use crate::kernels::gpu::{
    CachedKeys, FewRotations, LARGEST_KERNEL_HEAD, add_projection, attend_to_cache, gated_projections,
    normed_projections, rotate_into_cache, slopes_of_heads, takes,
};
use crate::positions::{Encoding, LayerPositions, Positions};

/// What the layers of one kind share when they read few tokens.
pub(super) struct FewTokens {
    rotations: FewRotations,
    /// `[heads]`: ALiBi's, or 0.
    slopes: Tensor<1>,
    /// Keys in the cache that the first of them attends to.
    past: usize,
    window: Option<usize>,
}

impl FewTokens {
    /// Returns `None` if the kernels cannot compute these layers: if keys are rotated when they are read, only a part of a head rotates,
    /// heads are too large, or heads or keys have factors of their own. `logit_scale` is β times the attention's own scale; `ssmax` has one more factor
    /// for each query.
    pub(super) fn new(
        positions: &LayerPositions,
        pass: &Pass,
        logit_scale: f64,
        ssmax: Option<Vec<f32>>,
        [heads, head_dim]: [usize; 2],
        device: &Device,
    ) -> Option<Self> {
        if pass.log_multiplicity.is_some() || !pass.head_scales.is_empty() || head_dim > LARGEST_KERNEL_HEAD {
            return None;
        }
        let (inv_freq, attention_factor) = match &positions.encoding {
            Encoding::None | Encoding::Alibi { .. } => (vec![0.0; head_dim / 2], 1.0),
            Encoding::Rotary { inv_freq, attention_factor } if 2 * inv_freq.len() == head_dim => {
                (inv_freq.clone(), *attention_factor)
            }
            Encoding::Rotary { .. } | Encoding::PerHead(_) | Encoding::LengthDependent(_) => return None,
        };
        let slopes: &[f64] = match &positions.encoding {
            Encoding::Alibi { slopes } => slopes,
            _ => &[],
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
            slopes: slopes_of_heads(slopes, heads, device),
            past: AttentionBias::new(positions, pass.tokens.clone(), None).past(),
            window: positions.window,
        })
    }
}

impl Model {
    /// The residual stream after the last layer of all tokens, for embedded tokens `[1, seq, hidden]`. If the kernels cannot compute it, the
    /// result is `None` and the cache is unchanged.
    pub(super) fn decode(
        &self,
        x: &Tensor<3>,
        positions: &Positions,
        pass: &Pass,
        cache: &mut Cache,
    ) -> Option<Tensor<3>> {
        if !takes(x) {
            return None;
        }
        let first = self.layers.first()?;
        let (shape, scale) = first.self_attn.without_norms()?;
        if !first.has_llama_block_structure() || !self.layers.iter().all(Block::has_like_matrices) {
            return None;
        }
        let few = |layer: &LayerPositions| {
            let ssmax = self.ssmax_context.map(|context| pass.ssmax(context, layer.window));
            FewTokens::new(layer, pass, scale * positions.logit_scale, ssmax, shape, &x.device())
        };
        let (kinds, of_layers) = positions.kinds();
        let kinds: Vec<FewTokens> = kinds.into_iter().map(few).collect::<Option<_>>()?;
        let mut x = x.clone();
        for (index, block) in self.layers.iter().enumerate() {
            let LayerCache::Tensors(layer) = cache.layer(index) else { return None };
            x = block.decode(&x, &kinds[of_layers[index % of_layers.len()]], layer);
        }
        cache.advance(pass.tokens.len());
        Some(x)
    }
}

impl Block {
    /// Whether the kernels know all of its parts but attention.
    fn has_llama_block_structure(&self) -> bool {
        let is_silu = self.mlp.activation == Activation::Silu;
        self.norms == BlockNorms::Before && is_silu && self.residual_multiplier == 1.0
    }

    /// Whether matrices that a kernel reads together are of one type. In a GGUF they may differ.
    fn has_like_matrices(&self) -> bool {
        let [q, k, v] = self.self_attn.matrices();
        let [gate, up] = [&self.mlp.gate_proj, &self.mlp.up_proj].map(Projection::matrix);
        q.kind == k.kind && k.kind == v.kind && gate.kind == up.kind
    }

    /// `[1, seq, hidden]` to the same.
    fn decode(&self, x: &Tensor<3>, few: &FewTokens, cache: &mut TensorLayer) -> Tensor<3> {
        let FewTokens { rotations, slopes, past, window } = few;
        let (attention, mlp) = (&self.self_attn, &self.mlp);
        let [Some(attention_norm), Some(mlp_norm)] = [self.attention_input_norm(), self.mlp_input_norm()] else {
            unreachable!("blocks of Llama's kind have both norms");
        };
        let projections = normed_projections(attention_norm, x, &attention.matrices(), attention.biases());
        let at = cache.reserve(x.dims()[1], *past);
        let (keys, values) = cache.whole();
        let queries = rotate_into_cache(projections, rotations, [keys, values], at);
        let seen = CachedKeys { at, past: *past, window: *window };
        let y = attend_to_cache(queries, keys, values, slopes, &seen); // [1, seq, heads · head_dim]
        let x = add_projection(&attention.o_proj.matrix(), y, x);
        let [gate, up, down] = [&mlp.gate_proj, &mlp.up_proj, &mlp.down_proj].map(Projection::matrix);
        let gated = gated_projections(mlp_norm, &x, &gate, &up);
        add_projection(&down, gated, &x)
    }
}
