//! An update of AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101) in one pass over the weights, their gradients and both moments, where
//! single operations on tensors would take fifteen.

use burn::tensor::Tensor;
use pulp::Simd;

#[cfg(feature = "gpu")]
use super::gpu;
use super::parts::{NUMBERS_OF_PART, in_parts};
use super::views::{mutable, numbers, owned};
use super::{is_on_cpu, of_primitive};

/// What an update does to each number.
#[derive(Clone, Copy, Debug)]
pub struct AdamWStep {
    /// Decay rates of the moments.
    pub betas: [f32; 2],
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Learning rate.
    pub learning_rate: f64,
    /// Decay of the weights, to be multiplied with the learning rate.
    pub weight_decay: f64,
    /// Number of this update, from 1 on.
    pub step: i32,
}

/// Factors of an update.
pub(super) struct Factors {
    /// Of the weight.
    pub(super) kept: f32,
    /// Of the step; with the correction of the first moment.
    pub(super) rate: f32,
    /// Of the second moment: its correction.
    pub(super) scale: f32,
}

impl AdamWStep {
    /// Whether [`AdamWStep::update`] takes these weights: in f32, without a graph, on the CPU or on a GPU with our kernels.
    pub fn takes<const D: usize>(weights: &Tensor<D>) -> bool {
        #[cfg(feature = "gpu")]
        if gpu::is_plain(weights) {
            return true;
        }
        is_on_cpu(weights) && !weights.device().is_autodiff()
    }

    /// Factors that are the same for all numbers.
    pub(super) fn factors(self) -> Factors {
        let [beta_1, beta_2] = self.betas;
        Factors {
            kept: (1.0 - self.learning_rate * self.weight_decay) as f32,
            rate: (self.learning_rate / f64::from(1.0 - beta_1.powi(self.step))) as f32,
            scale: 1.0 / (1.0 - beta_2.powi(self.step)),
        }
    }

    /// `tensors` are the weights, the first and the second moment, all shaped as the gradient; returns them after the update, in this
    /// order. On the CPU, memory that nothing else refers to is written in place.
    pub fn update<const D: usize>(self, tensors: [Tensor<D>; 3], gradient: Tensor<D>) -> [Tensor<D>; 3] {
        #[cfg(feature = "gpu")]
        if gpu::is_plain(&gradient) {
            return gpu::adamw(self, tensors, gradient);
        }
        let gradient = owned(gradient);
        let [mut weights, mut first, mut second] = tensors.map(owned);
        let parts = [&mut weights, &mut first, &mut second].map(|tensor| mutable(tensor).chunks_mut(NUMBERS_OF_PART));
        let [weight_parts, first_parts, second_parts] = parts;
        let moments = first_parts.zip(second_parts);
        let parts = weight_parts.zip(moments).zip(numbers(&gradient).chunks(NUMBERS_OF_PART));
        let products = numbers(&gradient).len();
        in_parts(products, parts, |((weights, (first, second)), gradient)| {
            update(self, weights, first, second, gradient);
        });
        [weights, first, second].map(of_primitive)
    }
}

#[pulp::with_simd(update = pulp::Arch::new())]
#[inline(always)]
fn update_part<'a, S: Simd>(
    _: S,
    step: AdamWStep,
    weights: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    gradient: &'a [f32],
) {
    let [beta_1, beta_2] = step.betas;
    let Factors { kept, rate, scale } = step.factors();
    let moments = first.iter_mut().zip(second);
    for ((weight, (first, second)), &gradient) in weights.iter_mut().zip(moments).zip(gradient) {
        *first = beta_1 * *first + (1.0 - beta_1) * gradient;
        *second = beta_2 * *second + (1.0 - beta_2) * gradient * gradient;
        *weight = kept * *weight - rate * *first / ((scale * *second).sqrt() + step.epsilon);
    }
}
