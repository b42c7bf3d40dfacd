//! RMSNorm (Zhang & Sennrich 2019, arXiv 1910.07467): x / √(mean x² + ε) · weight.

use burn::nn::RmsNorm;
use burn::tensor::Tensor;
use burn_flex::FlexTensor;
use pulp::Simd;

#[cfg(feature = "gpu")]
use super::gpu;
use super::math::dot;
#[cfg(feature = "train")]
use super::math::mul_add;
use super::parts::{in_parts, rows_of_part};
use super::views::{numbers, tensor};
use super::{Kernel, apply, is_on_cpu};

/// Normalises the last dimension, of the norm's width.
pub fn rms_norm<const D: usize>(norm: &RmsNorm, x: Tensor<D>) -> Tensor<D> {
    #[cfg(feature = "gpu")]
    if let Some(output) = gpu::normed(norm, &x) {
        return output;
    }
    if !is_on_cpu(&x) {
        return norm.forward(x);
    }
    let weight = norm.gamma.val();
    apply(Normalise { epsilon: norm.epsilon as f32 }, [x.into_dispatch(), weight.into_dispatch()])
}

/// Inputs: x and the weight.
#[derive(Clone, Debug)]
struct Normalise {
    epsilon: f32,
}

impl Kernel<2> for Normalise {
    /// 1/√(mean x² + ε) of each row.
    type Saved = Vec<f32>;

    fn forward(&self, [x, weight]: &[FlexTensor; 2]) -> (FlexTensor, Self::Saved) {
        let x = x.to_contiguous();
        let (x, weight, shape) = (numbers(&x), weight.to_contiguous(), x.layout().shape().clone());
        let weight = numbers(&weight);
        let width = weight.len();
        let mut output = vec![0.0; x.len()];
        let mut scales = vec![0.0; x.len() / width];
        let rows = rows_of_part(width);
        let parts = output.chunks_mut(rows * width).zip(scales.chunks_mut(rows)).zip(x.chunks(rows * width));
        in_parts(x.len(), parts, |((output, scales), x)| normalise(x, weight, self.epsilon, output, scales));
        (tensor(output, shape), scales)
    }

    #[cfg(feature = "train")]
    fn backward(&self, [x, weight]: &[FlexTensor; 2], scales: Vec<f32>, gradient: FlexTensor) -> [FlexTensor; 2] {
        let (x, gradient) = (x.to_contiguous(), gradient.to_contiguous());
        let shape = x.layout().shape().clone();
        let of_weight_shape = weight.layout().shape().clone();
        let weight = weight.to_contiguous();
        let (x, gradient, weight) = (numbers(&x), numbers(&gradient), numbers(&weight));
        let width = weight.len();
        let mut of_x = vec![0.0; x.len()];
        let rows = rows_of_part(width);
        let inputs = x.chunks(rows * width).zip(gradient.chunks(rows * width)).zip(scales.chunks(rows));
        let parts = in_parts(x.len(), of_x.chunks_mut(rows * width).zip(inputs), |(of_x, ((x, gradient), scales))| {
            let mut of_weight = vec![0.0; width];
            differentiate(x, weight, scales, gradient, of_x, &mut of_weight);
            of_weight
        });
        // In the order of the rows, so that the sum does not depend on the number of threads.
        let mut of_weight = vec![0.0f32; width];
        for part in parts {
            of_weight.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        [tensor(of_x, shape), tensor(of_weight, of_weight_shape)]
    }
}

/// Rows of `x` and `output`, `[rows, width]`, and the scale of each.
#[pulp::with_simd(normalise = pulp::Arch::new())]
#[inline(always)]
fn normalise_rows<'a, S: Simd>(
    _: S,
    x: &'a [f32],
    weight: &'a [f32],
    epsilon: f32,
    output: &'a mut [f32],
    scales: &'a mut [f32],
) {
    let width = weight.len();
    for ((x, output), scale) in x.chunks_exact(width).zip(output.chunks_exact_mut(width)).zip(scales) {
        *scale = 1.0 / (dot(x, x) / width as f32 + epsilon).sqrt();
        for ((output, &x), &weight) in output.iter_mut().zip(x).zip(weight) {
            *output = x * *scale * weight;
        }
    }
}

/// Gradients of `x`, `[rows, width]`, and of the weight.
#[cfg(feature = "train")]
#[pulp::with_simd(differentiate = pulp::Arch::new())]
#[inline(always)]
fn differentiate_rows<'a, S: Simd>(
    _: S,
    x: &'a [f32],
    weight: &'a [f32],
    scales: &'a [f32],
    gradient: &'a [f32],
    of_x: &'a mut [f32],
    of_weight: &'a mut [f32],
) {
    let width = weight.len();
    let rows = x.chunks_exact(width).zip(gradient.chunks_exact(width)).zip(of_x.chunks_exact_mut(width));
    for (((x, gradient), of_x), &scale) in rows.zip(scales) {
        for ((of_x, of_weight), ((&x, &gradient), &weight)) in
            of_x.iter_mut().zip(&mut *of_weight).zip(x.iter().zip(gradient).zip(weight))
        {
            *of_x = gradient * weight;
            *of_weight = mul_add(gradient, x * scale, *of_weight);
        }
        let along = dot(of_x, x) * scale * scale / width as f32;
        for (of_x, &x) in of_x.iter_mut().zip(x) {
            *of_x = scale * mul_add(-along, x, *of_x);
        }
    }
}

#[cfg(all(test, feature = "train", not(target_arch = "wasm32")))]
mod tests {
    use burn::module::{Param, ParamId};
    use burn::nn::{RmsNorm, RmsNormConfig};
    use burn::tensor::{Device, Tensor};

    use super::rms_norm;
    use crate::kernels::check::{check, random};

    #[test]
    fn the_fused_form_equals_the_plain_one() {
        // The weight is one more row of the input, so that its gradient is compared too.
        check(&[random([7, 50], 1)], |[x]: [Tensor<2>; 1]| {
            let weight = x.clone().narrow(0, 0, 1).reshape([50]);
            let norm = RmsNorm {
                gamma: Param::initialized(ParamId::new(), weight),
                ..RmsNormConfig::new(50).init(&Device::flex())
            };
            rms_norm(&norm, x.narrow(0, 1, 6))
        });
    }
}
