//! In what a model's products are computed.

use super::Model;
use super::projection::Projection;
use crate::kernels::ComputeType;

impl Model {
    /// The same model, whose products with weights are computed in this type: projections and logits. Of packed weights, those with
    /// few tokens are computed in f32.
    #[must_use]
    pub fn compute_in(mut self, compute: ComputeType) -> Self {
        self.embed_tokens.inference.compute_in(compute);
        self.projections().for_each(|(_, projection)| projection.inference.compute_in(compute));
        self
    }

    /// All projections, with their names in Hugging Face's files.
    pub(super) fn projections(&mut self) -> impl Iterator<Item = (String, &mut Projection)> {
        let head = self.lm_head.as_mut().map(|head| ("lm_head".to_owned(), head));
        let of_layers = self.layers.iter_mut().enumerate().flat_map(|(index, block)| {
            let (attention, mlp) = (&mut block.self_attn, &mut block.mlp);
            [
                ("self_attn.q_proj", &mut attention.q_proj),
                ("self_attn.k_proj", &mut attention.k_proj),
                ("self_attn.v_proj", &mut attention.v_proj),
                ("self_attn.o_proj", &mut attention.o_proj),
                ("mlp.gate_proj", &mut mlp.gate_proj),
                ("mlp.up_proj", &mut mlp.up_proj),
                ("mlp.down_proj", &mut mlp.down_proj),
            ]
            .map(|(name, projection)| (format!("model.layers.{index}.{name}"), projection))
        });
        of_layers.chain(head)
    }
}
