//! A forward pass of a whole text, block by block: for a backward pass that computes blocks again.

use burn::tensor::{Int, Tensor};

use super::Model;
use super::attention::LayerInputs;
#[cfg(feature = "train")]
use super::block::normed;
use super::layer_kinds::LayerKinds;
use super::pass::{Pass, SequenceLayout};
use crate::kernels::rms_norm;
#[cfg(feature = "train")]
use crate::kernels::{AttentionBias, ComputeType, attend_in_chunks};
use crate::positions::Positions;

/// The blocks of a model, and what they share in a forward pass over whole texts without a cache.
pub struct Blocks<'a> {
    model: &'a Model,
    pass: Pass,
    kinds: LayerKinds,
}

impl<'a> Blocks<'a> {
    /// For texts of the shape `[batch, seq]`.
    pub fn new(model: &'a Model, shape: [usize; 2], layout: SequenceLayout, positions: &Positions) -> Self {
        let device = model.device();
        let pass = Pass::of_texts(positions, shape, layout, &device);
        let kinds = LayerKinds::new(positions, &pass, model.ssmax_context, &device);
        Self { model, pass, kinds }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.model.layers.len()
    }

    /// Size of the vocabulary.
    pub fn vocab_size(&self) -> usize {
        self.model.embed_tokens.vocab_size()
    }

    /// The residual stream after the last block: `[batch, seq]` to `[batch, seq, hidden]`.
    pub fn residual(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        (0..self.count()).fold(self.embed(ids), |x, index| self.forward(index, x))
    }

    /// The residual stream before the first block: `[batch, seq]` to `[batch, seq, hidden]`.
    pub fn embed(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        self.model.embed(ids)
    }

    /// One block: `[batch, seq, hidden]` to the same.
    pub fn forward(&self, index: usize, x: Tensor<3>) -> Tensor<3> {
        self.model.layers[index].forward(x, self.inputs(index))
    }

    /// The result of a block's attention, `[batch, heads, seq, head_dim]`, for at most `queries` queries at a time; x is what goes into the
    /// block.
    #[cfg(feature = "train")]
    pub fn attended_in_chunks(&self, index: usize, x: Tensor<3>, queries: usize) -> Tensor<4> {
        attend_in_chunks(self.attention_inputs(index, x), self.bias(index), queries, self.compute(index))
    }

    /// What the attention of a block reads: queries `[batch, heads, seq, head_dim]`, keys and values
    /// `[batch, kv_heads, seq, head_dim]`.
    #[cfg(feature = "train")]
    pub fn attention_inputs(&self, index: usize, x: Tensor<3>) -> [Tensor<4>; 3] {
        let block = &self.model.layers[index];
        block.self_attn.attention_inputs(normed(block.attention_input_norm(), x), self.inputs(index))
    }

    /// A block from the result of its attention on, `[batch, heads, seq, head_dim]`; x is what goes into the block.
    #[cfg(feature = "train")]
    pub fn finish_block(&self, index: usize, x: Tensor<3>, y: Tensor<4>) -> Tensor<3> {
        let block = &self.model.layers[index];
        block.feed_forward(block.add(x, block.attention_output_norm(), block.self_attn.project_output(y)))
    }

    /// What is added to the logits of a block's attention.
    #[cfg(feature = "train")]
    pub fn bias(&self, index: usize) -> &AttentionBias {
        &self.kinds.of(index).bias
    }

    /// In what a block's products are computed.
    #[cfg(feature = "train")]
    pub fn compute(&self, index: usize) -> ComputeType {
        self.model.layers[index].self_attn.compute()
    }

    fn inputs(&self, index: usize) -> LayerInputs<'_> {
        LayerInputs {
            kind: self.kinds.of(index),
            head_scales: self.pass.head_scales.get(index),
            cache: None,
            activations: None,
            patches: Vec::new(),
            is_last_output_only: false,
        }
    }

    /// Logits from the residual stream after the last block: `[batch, seq, hidden]` to `[batch, seq, vocab]`.
    pub fn logits(&self, x: Tensor<3>) -> Tensor<3> {
        self.model.logits(rms_norm(&self.model.norm, x))
    }
}
