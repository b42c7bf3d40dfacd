//! The product of tokens with a matrix of weights: in f32, or in bf16 with sums in f32.
//!
//! In bf16 both factors are rounded as they are read; weights, sums and the gradients that are kept stay in f32, as in
//! mixed-precision training (Micikevicius et al. 2018, arXiv 1710.03740). Processors with instructions for it (AMX, AVX512-BF16) compute
//! it several times as fast as f32. Others multiply the rounded numbers in f32, which takes longer than without rounding.
//!
//! What is packed for inference ([`super::PackedMatrix`]) is multiplied in f32 by tiles too, in three pieces of bf16 a number. Updates are not:
//! with the 512 rows of a small batch it takes as long to split the factors as it saves.

#[cfg(target_arch = "x86_64")]
mod bf16;
mod fused;
mod in_f32;

#[cfg(target_arch = "x86_64")]
pub(super) use self::bf16::{is_faster_than_f32, product_by_parts};
pub(super) use self::in_f32::{product as product_in_f32, write_product as write_product_in_f32};
use burn::tensor::{Device, FloatDType, Tensor};
#[cfg(target_arch = "x86_64")]
use drope_instructions::bf16::Pieces;

use self::fused::FusedLinear;
#[cfg(feature = "gpu")]
use super::gpu;
use super::is_cpu;
use crate::names::named;

named! {
    /// In what products with weights are computed.
    #[derive(Default)]
    ComputeType: "type to compute in" {
        /// 32 bits.
        #[default]
        F32 = "f32",
        /// Factors of the upper 16 bits of 32, sums of 32 bits.
        Bf16 = "bf16",
    }
}

impl ComputeType {
    /// Whether a device multiplies numbers of this type, and does not only round to them.
    pub fn is_native_to(self, device: &Device) -> bool {
        match self {
            Self::F32 => true,
            Self::Bf16 if is_cpu(device) => multiplies_bf16(),
            Self::Bf16 => device.supports_dtype(FloatDType::BF16),
        }
    }
}

/// x · weights: `[batch, seq, in]` and `[in, out]` to `[batch, seq, out]`.
pub fn linear(x: Tensor<3>, weights: Tensor<2>, compute: ComputeType) -> Tensor<3> {
    let has_product = compute == ComputeType::F32 || multiplies_bf16();
    if has_product && super::is_on_cpu(&x) && super::is_on_cpu(&weights) {
        return super::apply(FusedLinear { compute }, [x.into_dispatch(), weights.into_dispatch()]);
    }
    let plain = |x, weights| burn::tensor::module::linear(x, weights, None);
    if compute == ComputeType::F32 {
        return plain(x, weights);
    }
    #[cfg(feature = "gpu")]
    if let Some(output) = gpu::linear_in_bf16(&x, &weights) {
        return output;
    }
    let is_cpu = is_cpu(&x.device());
    let (x, weights) = (x.cast(FloatDType::BF16), weights.cast(FloatDType::BF16));
    if is_cpu {
        return plain(x.cast(FloatDType::F32), weights.cast(FloatDType::F32));
    }
    plain(x, weights).cast(FloatDType::F32)
}

/// A matrix of weights, `[out, in]`, in bf16 and in the order in which they are multiplied.
pub(super) struct Bf16Weights(
    #[cfg(target_arch = "x86_64")] drope_instructions::bf16::Right,
    #[cfg(not(target_arch = "x86_64"))] std::convert::Infallible,
);

impl Bf16Weights {
    /// `None` where the processor does not multiply bf16.
    pub(super) fn new(weights: &[f32], d_input: usize) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if multiplies_bf16() {
            let weights = drope_instructions::Matrix::new(weights, weights.len() / d_input, d_input);
            let columns = 0..weights.shape()[0];
            return Some(Self(drope_instructions::bf16::Right::pack(weights.transpose(), columns, Pieces::One)));
        }
        let (_, _) = (weights, d_input);
        None
    }

    /// x · weightsᵀ, row after row; rows of x have `d_input` numbers.
    pub(super) fn product(&self, x: &[f32], d_input: usize) -> Vec<f32> {
        #[cfg(target_arch = "x86_64")]
        return bf16::product_with_packed(drope_instructions::Matrix::new(x, x.len() / d_input, d_input), &self.0);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let (_, _) = (x, d_input);
            match self.0 {}
        }
    }
}

fn multiplies_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return drope_instructions::bf16::is_available(Pieces::One);
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(all(test, feature = "train", not(target_arch = "wasm32")))]
mod tests {
    use burn::tensor::{Device, Tensor, TensorData};

    use super::{ComputeType, linear};
    use crate::kernels::check::random;
    use crate::kernels::with_reference_kernels;

    /// Output and gradients of both factors.
    fn computed(x: &Tensor<3>, weights: &Tensor<2>, is_transposed: bool, compute: ComputeType) -> [Vec<f32>; 3] {
        let (x, weights) = (x.clone().autodiff().require_grad(), weights.clone().autodiff().require_grad());
        let transposed = if is_transposed { weights.clone().transpose() } else { weights.clone() };
        let output = linear(x.clone(), transposed, compute);
        let mut gradients = (output.clone() * random(output.dims(), 7).autodiff()).sum().backward();
        let of = |data: TensorData| data.iter().collect();
        [
            of(output.inner().into_data()),
            of(x.grad_remove(&mut gradients).expect("x has a gradient").into_data()),
            of(weights.grad_remove(&mut gradients).expect("the weights have a gradient").into_data()),
        ]
    }

    /// Numbers of two magnitudes, so that a product with the wrong factor shows. The reference form of bf16 rounds gradients once more.
    #[test]
    fn outputs_and_gradients_are_those_of_the_reference_form() {
        // In bf16 the smaller factor is packed as a whole, whichever it is.
        for [seq, width, outputs] in [[37, 50, 70], [150, 150, 280], [150, 280, 290]] {
            outputs_and_gradients_are_right(&random([2, seq, width], 1), outputs);
        }
    }

    fn outputs_and_gradients_are_right(x: &Tensor<3>, outputs: usize) {
        let width = x.dims()[2];
        for (compute, tolerances) in [(ComputeType::F32, [1e-6; 3]), (ComputeType::Bf16, [1e-5, 1e-2, 1e-2])] {
            if !compute.is_native_to(&Device::flex()) {
                eprintln!("skipped: this processor does not multiply {}", compute.name());
                continue;
            }
            let weights = [(random([width, outputs], 2) * 3.0, false), (random([outputs, width], 2) * 3.0, true)];
            for (weights, is_transposed) in weights {
                let found = computed(x, &weights, is_transposed, compute);
                let plain = with_reference_kernels(|| computed(x, &weights, is_transposed, compute));
                for (what, ((found, plain), tolerance)) in
                    ["output", "gradient of x", "of the weights"].iter().zip(found.iter().zip(&plain).zip(tolerances))
                {
                    let largest = plain.iter().fold(0.0, |most: f32, number| most.max(number.abs()));
                    let apart = found.iter().zip(plain).fold(0.0, |most: f32, (a, b)| most.max((a - b).abs()));
                    assert!(found.len() == plain.len() && apart < tolerance * largest, "{what}: {apart} of {largest}");
                }
            }
        }
    }
}
