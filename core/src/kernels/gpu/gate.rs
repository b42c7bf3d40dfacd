//! SwiGLU's gate in a launch, and its gradients in another.

use burn::tensor::Tensor;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, cubecl};

use super::products::gated_by;
use super::{has_kernels, output_like, units_for};
use crate::kernels::{Kernel, apply};
use cubecl::prelude::*;

/// silu(gate) · up, number by number; `None` where the kernels do not take the tensors.
pub fn gated<const D: usize>(gate: &Tensor<D>, up: &Tensor<D>) -> Option<Tensor<D>> {
    let are_taken = has_kernels(gate) && has_kernels(up);
    are_taken.then(|| apply(Gate, [gate, up].map(|tensor| tensor.clone().into_dispatch())))
}

/// Inputs: gate and up.
#[derive(Clone, Debug)]
struct Gate;

impl Kernel<2, Cube> for Gate {
    type Saved = ();

    fn forward(&self, [gate, up]: &[CubeTensor; 2]) -> (CubeTensor, ()) {
        let [gate, up] = [gate, up].map(|tensor| into_contiguous(tensor.clone()));
        let shape = gate.meta.shape().clone();
        let size = shape.num_elements();
        let (count, dim) = units_for(size);
        let output = output_like(&gate, shape);
        multiply::launch(
            &gate.client.clone(),
            count,
            dim,
            gate.into_buffer_arg(),
            up.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            size,
        );
        (output, ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, [gate, up]: &[CubeTensor; 2], (): (), gradient: CubeTensor) -> [CubeTensor; 2] {
        let [gate, up, gradient] = [gate, up, &gradient].map(|tensor| into_contiguous(tensor.clone()));
        let shape = gate.meta.shape().clone();
        let size = shape.num_elements();
        let (count, dim) = units_for(size);
        let (of_gate, of_up) = (output_like(&gate, shape.clone()), output_like(&gate, shape));
        differentiate::launch(
            &gate.client.clone(),
            count,
            dim,
            gate.into_buffer_arg(),
            up.into_buffer_arg(),
            gradient.into_buffer_arg(),
            of_gate.clone().into_buffer_arg(),
            of_up.clone().into_buffer_arg(),
            size,
        );
        [of_gate, of_up]
    }
}

/// A unit for each number, or for several.
#[cube(launch)]
fn multiply(gate: &[f32], up: &[f32], output: &mut [f32], size: usize) {
    let mut at = ABSOLUTE_POS_X as usize;
    while at < size {
        output[at] = gated_by(gate[at], up[at]);
        at += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}

/// The same.
#[cfg(feature = "train")]
#[cube(launch)]
fn differentiate(gate: &[f32], up: &[f32], gradient: &[f32], of_gate: &mut [f32], of_up: &mut [f32], size: usize) {
    let mut at = ABSOLUTE_POS_X as usize;
    while at < size {
        let own = gate[at];
        let share = 1.0f32 / (1.0f32 + f32::exp(-own));
        of_up[at] = gradient[at] * own * share;
        of_gate[at] = gradient[at] * up[at] * share * (1.0f32 + own * (1.0f32 - share));
        at += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}
