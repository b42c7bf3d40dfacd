//! A backward pass from the gradient of a tensor (a vector-Jacobian product).

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Flex, TensorMetadata};
use burn::tensor::{Shape, Tensor};

#[cfg(feature = "gpu")]
use super::gpu;
use super::{Kernel, apply, is_on_cpu};

/// A scalar whose backward pass gives `x` the gradient `gradient`, which has the shape of x and no graph. Its own value says nothing.
/// Σ x · gradient would do the same with four more passes over memory.
pub fn with_gradient<const D: usize>(x: Tensor<D>, gradient: Tensor<D>) -> Tensor<1> {
    #[cfg(feature = "gpu")]
    if gpu::has_kernels(&x) {
        let gradient = gpu::buffer(gradient);
        return apply(Given::<burn_cubecl::Cube> { gradient }, [x.into_dispatch()]);
    }
    if is_on_cpu(&x) {
        let gradient = super::constant(&gradient);
        return apply(Given::<Flex> { gradient }, [x.into_dispatch()]);
    }
    (x * Tensor::from_inner(gradient)).sum()
}

#[derive(Clone, Debug)]
struct Given<B: Backend> {
    gradient: FloatTensor<B>,
}

impl<B: Backend> Kernel<1, B> for Given<B> {
    type Saved = ();

    fn forward(&self, [x]: &[FloatTensor<B>; 1]) -> (FloatTensor<B>, ()) {
        (B::float_zeros(Shape::from([1]), &x.device(), x.dtype().into()), ())
    }

    fn backward(&self, _: &[FloatTensor<B>; 1], (): (), _: FloatTensor<B>) -> [FloatTensor<B>; 1] {
        [self.gradient.clone()]
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;

    use super::with_gradient;
    use crate::kernels::check::random;
    use crate::kernels::with_reference_kernels;

    #[test]
    fn the_gradient_is_passed_on() {
        let [x, gradient] = [1, 2].map(|seed| -> Tensor<2> { random([5, 7], seed) });
        let found = || {
            let x = x.clone().autodiff().require_grad();
            let mut gradients = with_gradient(x.clone() * 3.0, gradient.clone()).backward();
            x.grad_remove(&mut gradients).expect("x has a gradient")
        };
        for found in [found(), with_reference_kernels(found)] {
            assert!((found - gradient.clone() * 3.0).abs().max().into_scalar::<f32>() < 1e-6);
        }
    }
}
