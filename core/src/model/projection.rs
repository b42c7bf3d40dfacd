//! Projections and the embedding, whose weights may be kept smaller than 32 bits.

use std::sync::Arc;

use burn::module::Module;
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
    pub(super) fn on(self, device: &Device) -> Self {
        #[cfg(feature = "gpu")]
        if let Self::Cpu(matrix) = &self
            && device != &Device::flex()
        {
            return Self::Gpu(Box::new(GpuMatrix::upload(matrix, device)));
        }
        debug_assert_eq!(device, &Device::flex());
        self
    }

    /// `[batch, seq, in]` to `[batch, seq, out]`. Products of integers are what they are, whatever the type to compute in.
    fn product(&self, x: &Tensor<3>, compute: ComputeType) -> Tensor<3> {
        match self {
            Self::Cpu(matrix) => matrix.product(x, compute),
            Self::Quantized(matrix) => matrix.product(x),
            #[cfg(feature = "gpu")]
            Self::Gpu(matrix) => matrix.product(x),
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

/// A projection. Its weights are Burn's, or packed for inference only.
#[derive(Module, Debug)]
pub(super) struct Projection {
    linear: Linear,
    #[module(skip)]
    packed: Option<Arc<PackedWeights>>,
    #[module(skip)]
    compute: ComputeType,
}

impl Projection {
    /// `bias` as in Qwen 2.
    pub(super) fn zeros(d_input: usize, d_output: usize, bias: bool, device: &Device) -> Self {
        let linear = LinearConfig::new(d_input, d_output).with_bias(bias).with_initializer(ZEROS).init(device);
        Self { linear, packed: None, compute: ComputeType::F32 }
    }

    /// `[batch, seq, in]` to `[batch, seq, out]`.
    pub(super) fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let product = match &self.packed {
            Some(packed) => packed.product(&x, self.compute),
            None => linear(x, self.linear.weight.val(), self.compute),
        };
        match &self.linear.bias {
            Some(bias) => product + bias.val().unsqueeze(),
            None => product,
        }
    }

    /// Computes products in this type from now on.
    pub(super) fn compute_in(&mut self, compute: ComputeType) {
        self.compute = compute;
    }

    /// Size of the weights in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.packed
            .as_ref()
            .map_or_else(|| 4 * self.linear.weight.val().shape().num_elements(), |packed| packed.bytes())
    }

    /// Takes the weights, packed.
    pub(super) fn pack(&mut self, weights: PackedWeights) {
        self.packed = Some(Arc::new(weights));
    }

    /// The weights as kernels read them; the model is on a GPU.
    #[cfg(feature = "gpu")]
    pub(super) fn matrix(&self) -> GpuMatrix {
        match self.packed.as_deref() {
            Some(PackedWeights::Gpu(matrix)) => GpuMatrix::clone(matrix),
            _ => GpuMatrix::of_linear(&self.linear),
        }
    }

    #[cfg(feature = "gpu")]
    pub(super) fn bias(&self) -> Option<Tensor<1>> {
        self.linear.bias.as_ref().map(burn::module::Param::val)
    }
}

/// The embedding, which is also the projection onto the vocabulary where that is tied.
#[derive(Module, Debug)]
pub(super) struct TokenEmbedding {
    embedding: Embedding,
    #[module(skip)]
    packed: Option<Arc<PackedWeights>>,
    #[module(skip)]
    compute: ComputeType,
}

impl TokenEmbedding {
    pub(super) fn zeros(vocabulary: usize, hidden: usize, device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(vocabulary, hidden).with_initializer(ZEROS).init(device);
        Self { embedding, packed: None, compute: ComputeType::F32 }
    }

    /// Size of the weights in bytes.
    pub(super) fn bytes(&self) -> usize {
        let plain = || 4 * self.embedding.weight.val().shape().num_elements();
        self.packed.as_ref().map_or_else(plain, |packed| packed.bytes())
    }

    /// Of weights that are not packed.
    pub(super) fn vocab_size(&self) -> usize {
        self.embedding.weight.val().dims()[0]
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
            Some(packed) => packed.product(&hidden, self.compute),
            None => linear(hidden, self.embedding.weight.val().transpose(), self.compute),
        }
    }

    /// Computes products in this type from now on.
    pub(super) fn compute_in(&mut self, compute: ComputeType) {
        self.compute = compute;
    }

    /// Takes the weights, packed.
    pub(super) fn pack(&mut self, weights: PackedWeights) {
        self.packed = Some(Arc::new(weights));
    }

    /// The weights as kernels read them, `[vocab, hidden]`; the model is on a GPU.
    #[cfg(feature = "gpu")]
    pub(super) fn matrix(&self) -> GpuMatrix {
        match self.packed.as_deref() {
            Some(PackedWeights::Gpu(matrix)) => GpuMatrix::clone(matrix),
            _ => GpuMatrix::of_numbers(self.embedding.weight.val()),
        }
    }
}
