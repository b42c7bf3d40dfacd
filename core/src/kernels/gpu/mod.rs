//! Kernels of GPUs: attention, and all of a block for few tokens at a time, as in decoding, where a launch takes longer than its
//! computation.
//!
//! A block then takes six launches: norm and projections; rotation and cache; attention (and one more behind 256 tokens); output
//! projection and residual; norm and gate; last projection and residual. Under wgpu a block of a prompt takes about 20, seven of them
//! Burn's products. Burn's own operations need about fifty; tests compare the kernels with them. The kernels are written in CubeCL, for
//! WebGPU, Vulkan, Metal and CUDA.

#[cfg(feature = "train")]
mod adamw;
mod attention;
mod choice;
#[cfg(feature = "train")]
mod cross_entropy;
mod gate;
mod linear;
mod matrix;
mod norm;
mod pack;
mod products;
mod projection;
mod rotary;
mod rotation;
mod softmax;
mod subgroups;
mod sum;

use burn::backend::DispatchTensorKind;
use burn::tensor::{DType, Device, Shape, Tensor};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, cubecl};

#[cfg(feature = "train")]
pub use self::adamw::adamw;
#[cfg(feature = "train")]
pub use self::attention::gradients_by_products;
pub use self::attention::{
    CachedKeys, LARGEST_KERNEL_HEAD, attend, attend_by_products, attend_to_cache, most_queries, slopes_of_heads,
};
pub use self::choice::largest_logit;
#[cfg(feature = "train")]
pub use self::cross_entropy::cross_entropy;
pub use self::gate::gated;
pub use self::linear::linear_in_bf16;
pub use self::matrix::GpuMatrix;
pub use self::norm::normed;
pub use self::projection::{add_projection, gated_projections, normed_product, normed_projections};
pub use self::rotary::rotated;
pub use self::rotation::{FewRotations, rotate_into_cache, write_into_cache};
pub use self::subgroups::{detect_subgroups, use_subgroups};
use super::{REFERENCE_KERNELS, primitive_of, tensor_of};
use cubecl::prelude::{CubeCount, CubeDim};

/// Most tokens that the kernels for few tokens take.
const FEW: usize = 8;
/// Workgroups along one dimension that every WebGPU has.
const MOST_WORKGROUPS: usize = (1 << 16) - 1;

/// Launches that are sent to the GPU at once, as Burn's `tasks_max`. A token of a model of 30 layers
/// takes some 220, so that it is sent once and not seven times; a prompt's are sent often enough for a slow GPU to show pictures between them.
pub const LAUNCHES_AT_ONCE: usize = 256;

/// Keeps compiled kernels, and which form of a product was fastest, in the user's cache folder: both take minutes. To be called before
/// a device is opened. CubeCL's own file of settings and its environment variables come first.
#[cfg(feature = "cuda")]
pub fn keep_compiled_kernels() {
    use cubecl::config::cache::CacheConfig;
    use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};

    let mut config = CubeClRuntimeConfig::from_current_dir();
    config.compilation.cache = true;
    if matches!(config.environment.path, CacheConfig::Target) {
        config.environment.path = CacheConfig::Global;
    }
    CubeClRuntimeConfig::try_set(config.override_from_env());
}

/// Whether a device has units for products of matrices, which make them the fastest of operations: NVIDIA's cards under CUDA, all of which
/// since 2018 have them.
pub fn has_matrix_units(device: &Device) -> bool {
    #[cfg(feature = "cuda")]
    {
        use burn::backend::DispatchDevice;
        let device = device.clone().without_autodiff();
        matches!(device.as_dispatch(), DispatchDevice::Cube(cubecl::Device::Cuda(_)))
    }
    #[cfg(not(feature = "cuda"))]
    {
        let _ = device;
        false
    }
}

/// Whether the kernels for few tokens can take a residual stream, `[1, seq, hidden]`: on a GPU, in f32, of few tokens, without gradients.
pub fn takes(x: &Tensor<3>) -> bool {
    let [batch, seq, _] = x.dims();
    batch == 1 && seq <= FEW && is_plain(x)
}

/// Whether a tensor is on a GPU, in f32, and has no gradients.
pub fn is_plain<const D: usize>(tensor: &Tensor<D>) -> bool {
    tensor.dtype() == DType::F32 && is_on_gpu(tensor)
}

/// Whether a tensor is on a GPU and has no gradients.
fn is_on_gpu<const D: usize>(tensor: &Tensor<D>) -> bool {
    matches!(tensor.clone().into_dispatch().kind, DispatchTensorKind::Cube(_)) && !REFERENCE_KERNELS.get()
}

/// Whether the kernels that have gradients take a tensor: on a GPU, in f32, with a graph or without.
pub fn has_kernels<const D: usize>(tensor: &Tensor<D>) -> bool {
    super::has_kernels(tensor, |kind| matches!(kind, DispatchTensorKind::Cube(_)))
}

/// A tensor's own buffer.
pub fn buffer<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    primitive_of::<Cube>(tensor.into_dispatch())
}

/// Workgroups of a kernel whose units take numbers one by one, every unit one of them or several.
fn units_for(size: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(256);
    (CubeCount::Static(size.div_ceil(dim.x as usize).clamp(1, MOST_WORKGROUPS) as u32, 1, 1), dim)
}

/// The same with the numbers in row-major order.
fn rows<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    into_contiguous(buffer(tensor))
}

/// Room for an output on the device of another tensor.
fn output_like(tensor: &CubeTensor, shape: impl Into<Shape>) -> CubeTensor {
    output_in(DType::F32, tensor, shape)
}

/// The same for numbers of another type.
fn output_in(dtype: DType, tensor: &CubeTensor, shape: impl Into<Shape>) -> CubeTensor {
    empty_device_contiguous_dtype(tensor.client.clone(), tensor.device.clone(), shape.into(), dtype)
}

fn tensor<const D: usize>(tensor: CubeTensor) -> Tensor<D> {
    tensor_of::<Cube, D>(tensor)
}
