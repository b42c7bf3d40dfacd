//! An update of AdamW in one launch for each tensor, where single operations would take fifteen.

use burn::tensor::Tensor;

use super::{cubecl, output_like, rows, tensor, units_for};
use crate::kernels::AdamWStep;
use cubecl::prelude::*;

/// `tensors` are the weights, the first and the second moment, all shaped as the gradient; returns them after the update, in this order.
pub fn adamw<const D: usize>(step: AdamWStep, tensors: [Tensor<D>; 3], gradient: Tensor<D>) -> [Tensor<D>; 3] {
    let shape = gradient.dims();
    let size: usize = shape.iter().product();
    let [weights, first, second] = tensors.map(rows);
    let outputs = [&weights, &first, &second].map(|tensor| output_like(tensor, shape));
    let [new_weights, new_first, new_second] = outputs.clone();
    let factors = step.factors();
    let (count, dim) = units_for(size);
    update::launch(
        &weights.client.clone(),
        count,
        dim,
        weights.into_buffer_arg(),
        first.into_buffer_arg(),
        second.into_buffer_arg(),
        rows(gradient).into_buffer_arg(),
        new_weights.into_buffer_arg(),
        new_first.into_buffer_arg(),
        new_second.into_buffer_arg(),
        size,
        step.betas[0],
        step.betas[1],
        step.epsilon,
        factors.kept,
        factors.rate,
        factors.scale,
    );
    outputs.map(tensor)
}

/// A unit for each number, or for several.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn update(
    weights: &[f32],
    first: &[f32],
    second: &[f32],
    gradient: &[f32],
    new_weights: &mut [f32],
    new_first: &mut [f32],
    new_second: &mut [f32],
    size: usize,
    beta_1: f32,
    beta_2: f32,
    epsilon: f32,
    kept: f32,
    rate: f32,
    scale: f32,
) {
    let mut i = ABSOLUTE_POS_X as usize;
    while i < size {
        let slope = gradient[i];
        let moment_1 = beta_1 * first[i] + (1.0 - beta_1) * slope;
        let moment_2 = beta_2 * second[i] + (1.0 - beta_2) * slope * slope;
        new_first[i] = moment_1;
        new_second[i] = moment_2;
        new_weights[i] = kept * weights[i] - rate * moment_1 / (f32::sqrt(scale * moment_2) + epsilon);
        i += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}
