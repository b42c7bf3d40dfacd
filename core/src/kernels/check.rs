//! Comparison of a fused kernel with its reference form, values and gradients.

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{is_on_cpu, with_reference_kernels};

/// Numbers from −1 to 1 on the CPU.
pub(crate) fn random<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<D> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// Asserts of an operation that its two forms agree: outputs to 1e-6 and gradients of every input to 1e-5, both of the largest
/// value, with and without a graph.
pub(crate) fn check<const N: usize, const D: usize, const O: usize>(
    inputs: &[Tensor<D>; N],
    operation: impl Fn([Tensor<D>; N]) -> Tensor<O>,
) {
    assert!(inputs.iter().all(is_on_cpu), "the fused form takes the inputs");
    let plain = |inputs| with_reference_kernels(|| operation(inputs));
    let (one, other) = (operation(inputs.clone()), plain(inputs.clone()));
    let weights = random(other.dims(), 99);
    close("output", one, other, 1e-6);
    let gradients = |form: &dyn Fn([Tensor<D>; N]) -> Tensor<O>| {
        let inputs = inputs.clone().map(|input| input.autodiff().require_grad());
        let output = form(inputs.clone());
        let loss = (output.clone() * weights.clone().autodiff()).sum();
        let mut gradients = loss.backward();
        (output.inner(), inputs.map(|input| input.grad_remove(&mut gradients).expect("every input has a gradient")))
    };
    let ((one, of_one), (other, of_other)) = (gradients(&operation), gradients(&plain));
    close("tracked output", one, other, 1e-6);
    for (index, (one, other)) in of_one.into_iter().zip(of_other).enumerate() {
        close(&format!("gradient of input {index}"), one, other, 1e-5);
    }
}

fn close<const D: usize>(what: &str, one: Tensor<D>, other: Tensor<D>, tolerance: f32) {
    assert_eq!(one.dims(), other.dims(), "{what}");
    let largest: f32 = other.clone().abs().max().into_scalar();
    let difference: f32 = (one - other).abs().max().into_scalar();
    assert!(difference <= tolerance * largest.max(1.0), "{what}: {difference:e} of {largest}");
}
