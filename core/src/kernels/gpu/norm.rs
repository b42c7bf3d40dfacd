//! RMSNorm of the last dimension in a launch, and its gradients in two; Burn's operations need six and more than twice as many.

use burn::nn::RmsNorm;
use burn::tensor::Tensor;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, cubecl};

use super::products::{UNITS, inverse_root_mean_square};
use super::subgroups::lanes;
use super::{MOST_WORKGROUPS, has_kernels, output_like};
use crate::kernels::{Kernel, apply};
use cubecl::prelude::*;

#[cfg(feature = "train")]
use super::sum::over_units;
#[cfg(feature = "train")]
use super::{buffer, tensor};

/// Workgroups that share the rows in the backward pass; each adds its rows' gradients of the weight.
#[cfg(feature = "train")]
const WORKGROUPS: usize = 512;

/// RMSNorm of the norm's width; `None` where the kernels do not take x.
pub fn normed<const D: usize>(norm: &RmsNorm, x: &Tensor<D>) -> Option<Tensor<D>> {
    let kernel = Normalise { epsilon: norm.epsilon as f32 };
    has_kernels(x).then(|| apply(kernel, [x.clone().into_dispatch(), norm.gamma.val().into_dispatch()]))
}

/// Inputs: x and the weight.
#[derive(Clone, Debug)]
struct Normalise {
    epsilon: f32,
}

impl Kernel<2, Cube> for Normalise {
    type Saved = ();

    fn forward(&self, [x, gamma]: &[CubeTensor; 2]) -> (CubeTensor, ()) {
        let (x, gamma) = (into_contiguous(x.clone()), into_contiguous(gamma.clone()));
        let (shape, width) = (x.meta.shape().clone(), gamma.meta.shape()[0]);
        let rows = shape.num_elements() / width;
        let columns = rows.clamp(1, MOST_WORKGROUPS);
        let output = output_like(&x, shape);
        normalise::launch(
            &x.client.clone(),
            CubeCount::Static(columns as u32, rows.div_ceil(columns) as u32, 1),
            CubeDim::new_1d(UNITS as u32),
            x.into_buffer_arg(),
            gamma.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            rows,
            width,
            self.epsilon,
            lanes(),
        );
        (output, ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, [x, gamma]: &[CubeTensor; 2], (): (), gradient: CubeTensor) -> [CubeTensor; 2] {
        let [x, gamma, gradient] = [x, gamma, &gradient].map(|tensor| into_contiguous(tensor.clone()));
        let (shape, width) = (x.meta.shape().clone(), gamma.meta.shape()[0]);
        let rows = shape.num_elements() / width;
        let workgroups = rows.clamp(1, WORKGROUPS);
        let (of_x, of_gamma) = (output_like(&x, shape), output_like(&x, [workgroups, width]));
        differentiate::launch(
            &x.client.clone(),
            CubeCount::Static(workgroups as u32, 1, 1),
            CubeDim::new_1d(UNITS as u32),
            x.into_buffer_arg(),
            gamma.into_buffer_arg(),
            gradient.into_buffer_arg(),
            of_x.clone().into_buffer_arg(),
            of_gamma.clone().into_buffer_arg(),
            rows,
            width,
            self.epsilon,
            width.div_ceil(UNITS),
            lanes(),
        );
        let of_gamma: Tensor<2> = tensor(of_gamma);
        [of_x, buffer(of_gamma.sum_dim(0).reshape([width]))]
    }
}

/// A workgroup for each row; some take the last row once more.
#[cube(launch)]
fn normalise(
    x: &[f32],
    gamma: &[f32],
    output: &mut [f32],
    rows: usize,
    width: usize,
    epsilon: f32,
    #[comptime] lanes: usize,
) {
    let mut shared = Shared::new_slice(UNITS);
    let mut row = (CUBE_POS_Y * CUBE_COUNT_X + CUBE_POS_X) as usize;
    if row >= rows {
        row = rows - 1;
    }
    let start = row * width;
    let scale = inverse_root_mean_square(x, start, width, epsilon, &mut shared, lanes);
    let mut i = UNIT_POS as usize;
    while i < width {
        output[start + i] = x[start + i] * scale * gamma[i];
        i += CUBE_DIM as usize;
    }
}

/// Each workgroup takes every so many-th row, and gives the sum of the weight's gradients over its rows: `of_gamma` is
/// `[workgroups, width]`. A unit has `columns` numbers of a row.
#[cfg(feature = "train")]
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn differentiate(
    x: &[f32],
    gamma: &[f32],
    gradient: &[f32],
    of_x: &mut [f32],
    of_gamma: &mut [f32],
    rows: usize,
    width: usize,
    epsilon: f32,
    #[comptime] columns: usize,
    #[comptime] lanes: usize,
) {
    let mut shared = Shared::new_slice(comptime!(2 * UNITS));
    let unit = UNIT_POS as usize;
    let mut own = Array::new(columns);
    for column in 0..columns {
        own[column] = 0f32;
    }
    let mut row = CUBE_POS_X as usize;
    while row < rows {
        let start = row * width;
        // Σ x² and Σ x · γ · gradient.
        let mut sums = Array::new(2usize);
        sums[0] = 0f32;
        sums[1] = 0f32;
        let mut i = unit;
        while i < width {
            let number = x[start + i];
            sums[0] += number * number;
            sums[1] += number * gamma[i] * gradient[start + i];
            i += UNITS;
        }
        over_units(&mut shared, &mut sums, UNITS, 2usize, true, lanes);
        let scale = 1.0f32 / f32::sqrt(sums[0] / width as f32 + epsilon);
        let along = sums[1] * scale * scale / width as f32;
        for column in 0..columns {
            let i = column * UNITS + unit;
            if i < width {
                let at = start + i;
                of_x[at] = scale * (gamma[i] * gradient[at] - along * x[at]);
                own[column] += gradient[at] * x[at] * scale;
            }
        }
        row += CUBE_COUNT_X as usize;
    }
    for column in 0..columns {
        let i = column * UNITS + unit;
        if i < width {
            of_gamma[CUBE_POS_X as usize * width + i] = own[column];
        }
    }
}
