//! Projections and the embedding, whose weights may be kept smaller than 32 bits on the CPU.

use std::sync::Arc;

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};

use super::ZEROS;
use crate::kernels::PackedMatrix;

/// A projection. Its weights are either Burn's or packed, for reading alone.
#[derive(Module, Debug)]
pub(super) struct Projection {
    linear: Linear,
    #[module(skip)]
    packed: Option<Arc<PackedMatrix>>,
}

impl Projection {
    /// `bias` as in Qwen 2.
    pub(super) fn zeros(d_input: usize, d_output: usize, bias: bool, device: &Device) -> Self {
        let linear = LinearConfig::new(d_input, d_output).with_bias(bias).with_initializer(ZEROS).init(device);
        Self { linear, packed: None }
    }

    /// `[batch, seq, in]` to `[batch, seq, out]`.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let Some(packed) = &self.packed else { return self.linear.forward(x) };
        let product = packed.product(&x);
        match &self.linear.bias {
            Some(bias) => product + bias.val().unsqueeze(),
            None => product,
        }
    }

    /// Takes the weights, packed.
    pub(super) fn pack(&mut self, weights: PackedMatrix) {
        self.packed = Some(Arc::new(weights));
    }

    /// For kernels that take Burn's weights, which GPUs have.
    #[cfg(feature = "gpu")]
    pub(super) fn linear(&self) -> &Linear {
        &self.linear
    }
}

/// The embedding, which is also the projection onto the vocabulary where that is tied.
#[derive(Module, Debug)]
pub(super) struct TokenEmbedding {
    embedding: Embedding,
    #[module(skip)]
    packed: Option<Arc<PackedMatrix>>,
}

impl TokenEmbedding {
    pub(super) fn zeros(vocabulary: usize, hidden: usize, device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(vocabulary, hidden).with_initializer(ZEROS).init(device);
        Self { embedding, packed: None }
    }

    pub(super) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// `[batch, seq]` to `[batch, seq, hidden]`.
    pub(super) fn forward(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        match &self.packed {
            Some(packed) => packed.rows(&ids),
            None => self.embedding.forward(ids),
        }
    }

    /// `[batch, seq, hidden]` to `[batch, seq, vocab]`.
    pub(super) fn logits(&self, hidden: Tensor<3>) -> Tensor<3> {
        match &self.packed {
            Some(packed) => packed.product(&hidden),
            None => burn::tensor::module::linear(hidden, self.embedding.weight.val().transpose(), None),
        }
    }

    /// Takes the weights, packed.
    pub(super) fn pack(&mut self, weights: PackedMatrix) {
        self.packed = Some(Arc::new(weights));
    }

    /// For kernels that take Burn's weights, which GPUs have: `[vocab, hidden]`.
    #[cfg(feature = "gpu")]
    pub(super) fn weight(&self) -> Tensor<2> {
        self.embedding.weight.val()
    }
}
