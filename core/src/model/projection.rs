//! Projections and the embedding, whose weights may be kept smaller than 32 bits.

use std::sync::Arc;

use burn::module::{Module, Param};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};

use super::ZEROS;
#[cfg(feature = "gpu")]
use crate::kernels::gpu::GpuMatrix;
use crate::kernels::{ComputeType, PackedMatrix, QuantizedMatrix, linear};

/// Packed weights, which replace Burn's for inference.
#[derive(Debug)]
pub(super) enum PackedWeights {
    /// Floats, or, on their way to a GPU, 8 bits.
    Cpu(PackedMatrix),
    /// Few bits, for products of integers.
    Quantized(QuantizedMatrix),
    #[cfg(feature = "gpu")]
    Gpu(Box<GpuMatrix>),
}

impl PackedWeights {
    /// Moves a matrix to where the model is.
    pub(super) fn into_device(self, device: &Device) -> Self {
        #[cfg(feature = "gpu")]
        if let Self::Cpu(matrix) = &self
            && device != &Device::flex()
        {
            return Self::Gpu(Box::new(GpuMatrix::upload(matrix, device)));
        }
        debug_assert_eq!(device, &Device::flex());
        self
    }

    /// `[batch, seq, in]` to `[batch, seq, out]`.
    fn product(&self, x: &Tensor<3>, compute: ComputeType) -> Tensor<3> {
        match self {
            Self::Cpu(matrix) => matrix.product(x, compute),
            Self::Quantized(matrix) => matrix.product(x, compute),
            #[cfg(feature = "gpu")]
            Self::Gpu(matrix) => matrix.product(x, compute),
        }
    }

    /// Size in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Cpu(matrix) => matrix.bytes(),
            Self::Quantized(matrix) => matrix.bytes(),
            #[cfg(feature = "gpu")]
            Self::Gpu(matrix) => matrix.bytes(),
        }
    }

    /// `[batch, seq]` to `[batch, seq, in]`.
    fn rows(&self, ids: &Tensor<2, Int>) -> Tensor<3> {
        match self {
            Self::Cpu(matrix) => matrix.rows(ids),
            Self::Quantized(matrix) => matrix.rows(ids),
            #[cfg(feature = "gpu")]
            Self::Gpu(matrix) => matrix.rows_of(ids),
        }
    }
}

/// How a matrix is multiplied, and what takes the place of Burn's weights for inference.
#[derive(Clone, Debug, Default)]
pub(super) struct InferenceWeights {
    packed: Option<Arc<PackedWeights>>,
    compute: ComputeType,
}

impl InferenceWeights {
    /// Computes products in this type from now on.
    pub(super) fn compute_in(&mut self, compute: ComputeType) {
        self.compute = compute;
    }

    /// In what products are computed.
    pub(super) fn compute(&self) -> ComputeType {
        self.compute
    }

    /// Takes the weights, packed.
    pub(super) fn pack(&mut self, weights: PackedWeights) {
        self.packed = Some(Arc::new(weights));
    }

    pub(super) fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// `[batch, seq, in]` to `[batch, seq, out]`; `unpacked` gives Burn's weights `[in, out]`.
    fn product(&self, x: Tensor<3>, unpacked: impl FnOnce() -> Tensor<2>) -> Tensor<3> {
        match &self.packed {
            Some(packed) => packed.product(&x, self.compute),
            None => linear(x, unpacked(), self.compute),
        }
    }

    /// Size in bytes; `unpacked` are Burn's weights.
    fn bytes(&self, unpacked: &Param<Tensor<2>>) -> usize {
        self.packed.as_ref().map_or_else(|| 4 * unpacked.val().shape().num_elements(), |packed| packed.bytes())
    }

    /// As kernels of a GPU read them.
    #[cfg(feature = "gpu")]
    fn matrix(&self, unpacked: impl FnOnce() -> GpuMatrix) -> GpuMatrix {
        match self.packed.as_deref() {
            Some(PackedWeights::Gpu(matrix)) => GpuMatrix::clone(matrix),
            _ => unpacked(),
        }
    }
}

/// A projection. Its weights are Burn's, or packed for inference only.
#[derive(Module, Debug)]
pub(super) struct Projection {
    linear: Linear,
    #[module(skip)]
    pub(super) inference: InferenceWeights,
}

impl Projection {
    /// `bias` as in Qwen 2.
    pub(super) fn zeros(d_input: usize, d_output: usize, bias: bool, device: &Device) -> Self {
        let linear = LinearConfig::new(d_input, d_output).with_bias(bias).with_initializer(ZEROS).init(device);
        Self { linear, inference: InferenceWeights::default() }
    }

    /// `[batch, seq, in]` to `[batch, seq, out]`.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let product = self.inference.product(x, || self.linear.weight.val());
        match &self.linear.bias {
            Some(bias) => product + bias.val().unsqueeze(),
            None => product,
        }
    }

    /// Size of the weights in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.inference.bytes(&self.linear.weight)
    }

    /// The weights as kernels read them; the model is on a GPU.
    #[cfg(feature = "gpu")]
    pub(super) fn matrix(&self) -> GpuMatrix {
        self.inference.matrix(|| GpuMatrix::of_linear(&self.linear))
    }

    #[cfg(feature = "gpu")]
    pub(super) fn bias(&self) -> Option<Tensor<1>> {
        self.linear.bias.as_ref().map(Param::val)
    }
}

/// The embedding, which is also the projection onto the vocabulary where that is tied.
#[derive(Module, Debug)]
pub(super) struct TokenEmbedding {
    embedding: Embedding,
    #[module(skip)]
    pub(super) inference: InferenceWeights,
}

impl TokenEmbedding {
    pub(super) fn zeros(vocabulary: usize, hidden: usize, device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(vocabulary, hidden).with_initializer(ZEROS).init(device);
        Self { embedding, inference: InferenceWeights::default() }
    }

    /// Size of the weights in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.inference.bytes(&self.embedding.weight)
    }

    /// Of weights that are not packed.
    pub(super) fn vocab_size(&self) -> usize {
        self.embedding.weight.val().dims()[0]
    }

    /// `[batch, seq]` to `[batch, seq, hidden]`.
    pub(super) fn forward(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        match &self.inference.packed {
            Some(packed) => packed.rows(&ids),
            None => self.embedding.forward(ids),
        }
    }

    /// `[batch, seq, hidden]` to `[batch, seq, vocab]`.
    pub(super) fn logits(&self, hidden: Tensor<3>) -> Tensor<3> {
        self.inference.product(hidden, || self.embedding.weight.val().transpose())
    }

    /// The weights as kernels read them, `[vocab, hidden]`; the model is on a GPU.
    #[cfg(feature = "gpu")]
    pub(super) fn matrix(&self) -> GpuMatrix {
        self.inference.matrix(|| GpuMatrix::of_numbers(self.embedding.weight.val()))
    }
}
