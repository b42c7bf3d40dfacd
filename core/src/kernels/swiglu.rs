//! The gate of SwiGLU (Shazeer 2020, arXiv 2002.05202): silu(gate) · up.

use burn::tensor::{Tensor, activation::silu};
use burn_flex::FlexTensor;
use pulp::Simd;

#[cfg(feature = "gpu")]
use super::gpu;
use super::math::exp;
use super::parts::rows_in_parts;
#[cfg(feature = "train")]
use super::parts::{NUMBERS_OF_PART, in_parts};
use super::views::{numbers, tensor};
use super::{Kernel, apply, is_on_cpu};

/// silu(gate) · up, of one shape.
pub fn swiglu<const D: usize>(gate: Tensor<D>, up: Tensor<D>) -> Tensor<D> {
    #[cfg(feature = "gpu")]
    if let Some(output) = gpu::gated(&gate, &up) {
        return output;
    }
    if is_on_cpu(&gate) { apply(Gate, [gate.into_dispatch(), up.into_dispatch()]) } else { silu(gate) * up }
}

/// Inputs: gate and up.
#[derive(Clone, Debug)]
struct Gate;

impl Kernel<2> for Gate {
    type Saved = ();

    fn forward(&self, [gate, up]: &[FlexTensor; 2]) -> (FlexTensor, ()) {
        let (gate, up) = (gate.to_contiguous(), up.to_contiguous());
        let shape = gate.layout().shape().clone();
        let (gate, up) = (numbers(&gate), numbers(&up));
        let mut output = vec![0.0; gate.len()];
        rows_in_parts(&mut output, 1, |at, output| multiply(&gate[at..], &up[at..], output));
        (tensor(output, shape), ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, [gate, up]: &[FlexTensor; 2], (): (), gradient: FlexTensor) -> [FlexTensor; 2] {
        let (gate, up, gradient) = (gate.to_contiguous(), up.to_contiguous(), gradient.to_contiguous());
        let shape = gate.layout().shape().clone();
        let (gate, up, gradient) = (numbers(&gate), numbers(&up), numbers(&gradient));
        let (mut of_gate, mut of_up) = (vec![0.0; gate.len()], vec![0.0; gate.len()]);
        let outputs = of_gate.chunks_mut(NUMBERS_OF_PART).zip(of_up.chunks_mut(NUMBERS_OF_PART));
        let inputs = gate.chunks(NUMBERS_OF_PART).zip(up.chunks(NUMBERS_OF_PART)).zip(gradient.chunks(NUMBERS_OF_PART));
        in_parts(gate.len(), outputs.zip(inputs), |((of_gate, of_up), ((gate, up), gradient))| {
            differentiate(gate, up, gradient, of_gate, of_up);
        });
        [tensor(of_gate, shape.clone()), tensor(of_up, shape)]
    }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[pulp::with_simd(multiply = pulp::Arch::new())]
#[inline(always)]
fn multiply_rows<'a, S: Simd>(_: S, gate: &'a [f32], up: &'a [f32], output: &'a mut [f32]) {
    for ((output, &gate), &up) in output.iter_mut().zip(gate).zip(up) {
        *output = gate * sigmoid(gate) * up;
    }
}

#[cfg(feature = "train")]
#[pulp::with_simd(differentiate = pulp::Arch::new())]
#[inline(always)]
fn differentiate_rows<'a, S: Simd>(
    _: S,
    gate: &'a [f32],
    up: &'a [f32],
    gradient: &'a [f32],
    of_gate: &'a mut [f32],
    of_up: &'a mut [f32],
) {
    for ((of_gate, of_up), ((&gate, &up), &gradient)) in
        of_gate.iter_mut().zip(of_up).zip(gate.iter().zip(up).zip(gradient))
    {
        let share = sigmoid(gate);
        *of_up = gradient * gate * share;
        *of_gate = gradient * up * share * (1.0 + gate * (1.0 - share));
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::swiglu;
    use crate::kernels::check::{check, random};

    #[test]
    fn the_fused_form_equals_the_plain_one() {
        let inputs = [random([3, 7, 50], 1), random([3, 7, 50], 2)];
        check(&inputs, |[gate, up]| swiglu(gate, up));
    }
}
