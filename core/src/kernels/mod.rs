//! Numerical kernels: attention, projections in bf16, rotation, RMSNorm, SwiGLU and cross entropy, forward and backward.
//!
//! Most files hold one operation in two forms: the reference form in Burn's tensor operations, which every device can compute and which tests
//! compare with, and a fused form for the CPU ([`Flex`]), which reads its inputs once and writes its output once. The public function
//! takes whichever the tensors allow. `packed/` and `quantized/` multiply with weights of fewer bits, for inference alone; `gpu/` has
//! kernels in CubeCL, for inference and for training; those that are in a graph of gradients are a [`Kernel`] as the CPU's are.
//!
//! Loops are compiled for several instruction sets and chosen at run time by `pulp` (AVX2, AVX-512, NEON, wasm's SIMD128).

#[cfg(feature = "train")]
mod adamw;
mod attention;
mod awake;
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
#[cfg(feature = "threads")]
mod shared_time;
mod swiglu;
mod views;
#[cfg(feature = "train")]
mod vjp;
mod widening_dot;

use std::cell::Cell;
use std::fmt::Debug;

#[cfg(feature = "train")]
use burn::backend::Autodiff;
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Backend, BackendTensor, DispatchKindConversion, DispatchTensor, DispatchTensorKind, Flex, TensorMetadata,
};
use burn::tensor::{DType, Device, Tensor};
use burn_flex::FlexTensor;

#[cfg(feature = "train")]
pub use self::adamw::AdamWStep;
pub use self::attention::{AttentionBias, KeysOrValues, PackedRows, attend};
#[cfg(feature = "train")]
pub use self::attention::{attend_in_chunks, gradients_in_chunks, queries_at_once};
pub(crate) use self::awake::with_threads_awake;
#[cfg(feature = "train")]
pub use self::clip::{scaled, square_sum};
#[cfg(feature = "train")]
pub use self::cross_entropy::cross_entropy;
pub use self::geglu::geglu;
pub use self::linear::{ComputeType, linear};
pub use self::packed::{NumberType, PackedMatrix};
#[cfg(feature = "train")]
pub(crate) use self::parts::{rows_in_threads, threads_for};
pub use self::quantized::{QuantizedFormat, QuantizedMatrix};
pub use self::rms_norm::rms_norm;
pub use self::rotary::RotaryTable;
#[cfg(feature = "threads")]
pub use self::shared_time::{count_shared_time, shared_time};
pub use self::swiglu::swiglu;
#[cfg(feature = "train")]
pub use self::vjp::with_gradient;

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

/// An operation of N tensors of a backend with one output, and its derivative.
pub(crate) trait Kernel<const N: usize, B: Backend = Flex>: Clone + Debug + Send + 'static {
    /// What the backward pass needs beside the inputs.
    type Saved: Clone + Debug + Send + 'static;

    /// The output.
    fn forward(&self, inputs: &[FloatTensor<B>; N]) -> (FloatTensor<B>, Self::Saved);

    /// Gradients of the inputs, computed from the gradient of the output.
    #[cfg(feature = "train")]
    fn backward(
        &self,
        inputs: &[FloatTensor<B>; N],
        saved: Self::Saved,
        gradient: FloatTensor<B>,
    ) -> [FloatTensor<B>; N];
}

/// Tensors of a device as those of a backend, with and without a graph.
#[cfg(feature = "train")]
pub(crate) trait TensorsOf<B: Backend>: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>> {}

#[cfg(feature = "train")]
impl<B: Backend, T: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B>>> TensorsOf<B> for T {}

/// Tensors of a device as those of a backend.
#[cfg(not(feature = "train"))]
pub(crate) trait TensorsOf<B: Backend>: DispatchKindConversion<B> {}

#[cfg(not(feature = "train"))]
impl<B: Backend, T: DispatchKindConversion<B>> TensorsOf<B> for T {}

/// The operation on tensors that the backend's kernels take ([`is_on_cpu`]); all on the same device.
#[cfg_attr(
    not(feature = "train"),
    allow(clippy::needless_pass_by_value, reason = "the graph of gradients keeps the kernel")
)]
fn apply<B: Backend, const N: usize, const D: usize, K: Kernel<N, B>>(
    kernel: K,
    inputs: [DispatchTensor; N],
) -> Tensor<D>
where
    DispatchTensor: TensorsOf<B>,
{
    #[cfg(feature = "train")]
    if matches!(inputs[0].kind, DispatchTensorKind::Autodiff(_)) {
        return Tensor::from_dispatch(gradients::apply(kernel, inputs));
    }
    let inputs = inputs.map(primitive_of::<B>);
    tensor_of::<B, D>(kernel.forward(&inputs).0)
}

/// A tensor without a graph.
fn tensor_of<B: Backend, const D: usize>(tensor: FloatTensor<B>) -> Tensor<D>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    Tensor::from_dispatch(DispatchTensor::from_backend(BackendTensor::<B>::Float(tensor)))
}

/// A backend's own form of a tensor of it that has no graph.
fn primitive_of<B: Backend>(tensor: DispatchTensor) -> FloatTensor<B>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let tensor: Result<BackendTensor<B>, _> = DispatchTensor::try_into_backend(tensor);
    tensor.expect("the tensor is on a device of the backend").float()
}

/// A tensor without a graph on the CPU.
fn of_primitive<const D: usize>(tensor: FlexTensor) -> Tensor<D> {
    tensor_of::<Flex, D>(tensor)
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

/// Whether a device is a CPU with tiles (AMX), where weights are split anew for each product of many tokens.
pub fn has_tiles(device: &Device) -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_cpu(device) && drope_instructions::bf16::is_available(drope_instructions::bf16::Pieces::Three);
    #[cfg(not(target_arch = "x86_64"))]
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
    has_kernels(tensor, |kind| matches!(kind, DispatchTensorKind::Flex(_)))
}

/// Whether a tensor is one that fused kernels take, and of the kind that they serve.
fn has_kernels<const D: usize>(tensor: &Tensor<D>, is_served: fn(&DispatchTensorKind) -> bool) -> bool {
    let tensor = tensor.clone().into_dispatch();
    let is_served = match &tensor.kind {
        #[cfg(feature = "train")]
        DispatchTensorKind::Autodiff(inner) => is_served(inner) && gradients::keeps_everything(&tensor),
        kind => is_served(kind),
    };
    is_served && tensor.dtype() == DType::F32 && !REFERENCE_KERNELS.get()
}

/// The numbers of a tensor on the CPU that no gradient flows into.
fn constant<const D: usize>(tensor: &Tensor<D>) -> FlexTensor {
    primitive(without_graph(tensor).into_dispatch())
}

/// A tensor that no gradient flows into, on the device without autodiff.
fn without_graph<const D: usize>(tensor: &Tensor<D>) -> Tensor<D> {
    if tensor.device().is_autodiff() { tensor.clone().inner() } else { tensor.clone() }
}

fn primitive(tensor: DispatchTensor) -> FlexTensor {
    primitive_of::<Flex>(tensor)
}
