//! What layers that see positions alike share in a forward pass.

use burn::tensor::{Device, Tensor, TensorData};

use super::pass::Pass;
use super::rotation::Rotation;
use crate::kernels::AttentionBias;
use crate::positions::{Encoding, LayerPositions, Positions};

/// What the layers of each kind share, and the kind of each layer.
pub(super) struct LayerKinds {
    kinds: Vec<LayerKind>,
    /// Repeats from the first layer on.
    of_layers: Vec<usize>,
}

impl LayerKinds {
    /// `ssmax_context` is C where the logits grow with the number of keys.
    pub(super) fn new(positions: &Positions, pass: &Pass, ssmax_context: Option<usize>, device: &Device) -> Self {
        let (kinds, of_layers) = positions.kinds();
        let kind = |layer| LayerKind::new(layer, positions.logit_scale, pass, ssmax_context, device);
        Self { kinds: kinds.into_iter().map(kind).collect(), of_layers }
    }

    pub(super) fn of(&self, layer: usize) -> &LayerKind {
        &self.kinds[self.of_layers[layer % self.of_layers.len()]]
    }
}

/// What the layers of one kind share.
pub(super) struct LayerKind {
    pub(super) rotation: Rotation,
    pub(super) bias: AttentionBias,
    /// Whether each query head rotates keys in its own way, so that heads of a group cannot share them.
    pub(super) has_keys_per_head: bool,
    /// β, which multiplies the logits.
    pub(super) logit_scale: f64,
}

impl LayerKind {
    fn new(
        layer: &LayerPositions,
        logit_scale: f64,
        pass: &Pass,
        ssmax_context: Option<usize>,
        device: &Device,
    ) -> Self {
        let ssmax = ssmax_context.map(|context| {
            let (factors, seq) = (pass.ssmax(context, layer.window), pass.tokens.len());
            let shape = [factors.len() / seq, 1, seq, 1];
            Tensor::from_data(TensorData::new(factors, shape), device)
        });
        Self {
            rotation: Rotation::new(&layer.encoding, pass, ssmax, device),
            bias: AttentionBias::new(layer, pass.tokens.clone(), pass.log_multiplicity.as_ref())
                .with_documents(pass.document_starts.clone()),
            has_keys_per_head: matches!(layer.encoding, Encoding::PerHead(_)),
            logit_scale,
        }
    }
}
