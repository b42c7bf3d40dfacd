//! Numerical kernels: attention, projections in bf16, rotation, RMSNorm, SwiGLU and cross entropy, forward and backward.
//!
//! A file holds one operation in two forms: the reference form in Burn's tensor operations, which every device can compute and which tests
//! compare with, and a fused form for the CPU ([`Flex`]), which reads its inputs once and writes its output once. The public function
//! takes whichever the tensors allow. `packed/` and `quantized/` multiply with weights of fewer bits, for inference alone; `gpu/` has
//! kernels in CubeCL, for inference and for what training computes without a graph.
//!
//! Loops are compiled for several instruction sets and chosen at run time by `pulp` (AVX2, AVX-512, NEON, wasm's SIMD128).

#[cfg(feature = "train")]
mod adamw;
mod attention;
#[cfg(all(test, feature = "train"))]
pub(crate) mod check;
#[cfg(feature = "train")]
mod clip;
#[cfg(feature = "train")]
mod cross_entropy;
mod geglu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
#[cfg(feature = "train")]
mod gradients;
mod linear;
mod math;
mod packed;
mod parts;
mod product;
mod quantized;
mod rms_norm;
mod rotary;
mod swiglu;
mod views;
mod widening_dot;

use std::cell::Cell;
use std::fmt::Debug;

use burn::backend::{BackendTensor, DispatchKindConversion, DispatchTensor, DispatchTensorKind, Flex, TensorMetadata};
use burn::tensor::{DType, Device, Tensor};
use burn_flex::FlexTensor;

#[cfg(feature = "train")]
pub use self::adamw::AdamWStep;
pub use self::attention::{AttentionBias, KeysOrValues, PackedRows, attend};
#[cfg(feature = "train")]
pub use self::attention::{attend_in_chunks, gradients_in_chunks, queries_at_once};
#[cfg(feature = "train")]
pub use self::clip::{scaled, square_sum};
#[cfg(feature = "train")]
pub use self::cross_entropy::cross_entropy;
pub use self::geglu::geglu;
pub use self::linear::{ComputeType, linear};
pub use self::packed::{NumberType, PackedMatrix};
#[cfg(feature = "train")]
pub(crate) use self::parts::{in_threads, threads_for};
pub use self::quantized::{QuantizedFormat, QuantizedMatrix};
pub use self::rms_norm::rms_norm;
pub use self::rotary::RotaryTable;
pub use self::swiglu::swiglu;

thread_local! {
    static REFERENCE_KERNELS: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`; meanwhile this thread uses only the reference forms, for comparisons.
pub fn with_reference_kernels<R>(work: impl FnOnce() -> R) -> R {
    let before = REFERENCE_KERNELS.replace(true);
    let result = work();
    REFERENCE_KERNELS.set(before);
    result
}

/// An operation of N tensors with one output, and its derivative.
pub(crate) trait Kernel<const N: usize>: Clone + Debug + Send + 'static {
    /// What the backward pass needs beside the inputs.
    type Saved: Clone + Debug + Send + 'static;

    /// The output.
    fn forward(&self, inputs: &[FlexTensor; N]) -> (FlexTensor, Self::Saved);

    /// Gradients of the inputs, computed from the gradient of the output.
    #[cfg(feature = "train")]
    fn backward(&self, inputs: &[FlexTensor; N], saved: Self::Saved, gradient: FlexTensor) -> [FlexTensor; N];
}

/// The operation on tensors for which [`is_on_cpu`] holds; all on the same device.
#[cfg_attr(
    not(feature = "train"),
    allow(clippy::needless_pass_by_value, reason = "the graph of gradients keeps the kernel")
)]
fn apply<const N: usize, const D: usize, K: Kernel<N>>(kernel: K, inputs: [DispatchTensor; N]) -> Tensor<D> {
    #[cfg(feature = "train")]
    if matches!(inputs[0].kind, DispatchTensorKind::Autodiff(_)) {
        return Tensor::from_dispatch(gradients::apply(kernel, inputs));
    }
    let inputs = inputs.map(primitive);
    of_primitive(kernel.forward(&inputs).0)
}

/// A tensor without a graph.
fn of_primitive<const D: usize>(tensor: FlexTensor) -> Tensor<D> {
    Tensor::from_dispatch(DispatchTensor::from_backend(BackendTensor::<Flex>::Float(tensor)))
}

/// Whether a device has units for products of matrices, so that it computes many tokens at once in the time of few.
pub fn has_matrix_units(device: &Device) -> bool {
    #[cfg(feature = "gpu")]
    return gpu::has_matrix_units(device);
    #[cfg(not(feature = "gpu"))]
    {
        let _ = device;
        false
    }
}

/// Whether tensors of a device, with or without gradients, are on the CPU.
fn is_cpu(device: &Device) -> bool {
    #[cfg(feature = "train")]
    if device == &Device::flex().autodiff() {
        return true;
    }
    device == &Device::flex()
}

/// Whether the fused kernels can take the tensor: on the CPU, in f32, and with a graph that keeps what it needs.
fn is_on_cpu<const D: usize>(tensor: &Tensor<D>) -> bool {
    let tensor = tensor.clone().into_dispatch();
    let is_flex = match &tensor.kind {
        DispatchTensorKind::Flex(_) => true,
        #[cfg(feature = "train")]
        DispatchTensorKind::Autodiff(inner) => {
            matches!(**inner, DispatchTensorKind::Flex(_)) && gradients::keeps_everything(&tensor)
        }
        #[allow(unreachable_patterns, reason = "other backends are features of other crates")]
        _ => false,
    };
    is_flex && tensor.dtype() == DType::F32 && !REFERENCE_KERNELS.get()
}

/// The numbers of a tensor on the CPU that no gradient flows into.
fn constant<const D: usize>(tensor: &Tensor<D>) -> FlexTensor {
    let inner = if tensor.device().is_autodiff() { tensor.clone().inner() } else { tensor.clone() };
    primitive(inner.into_dispatch())
}

fn primitive(tensor: DispatchTensor) -> FlexTensor {
    let tensor: Result<BackendTensor<Flex>, _> = DispatchTensor::try_into_backend(tensor);
    tensor.expect("the tensor is on the CPU").float()
}
