//! What clipping gradients by their global norm takes: Σ x², and a factor for all.

use burn::tensor::{Shape, Tensor};
use pulp::Simd;

use super::math::dot;
use super::parts::{NUMBERS_OF_PART, in_parts};
use super::views::{mutable, numbers, owned, tensor};
use super::{constant, is_on_cpu, of_primitive};

/// Σ x² of a tensor without a graph, `[1]`. Sums of parts are added in their order, whatever the number of threads.
pub fn square_sum<const D: usize>(x: &Tensor<D>) -> Tensor<1> {
    if !is_on_cpu(x) {
        return x.clone().square().sum();
    }
    let x = constant(x).to_contiguous();
    let sums = in_parts(numbers(&x).len(), numbers(&x).chunks(NUMBERS_OF_PART), |part| f64::from(squares(part)));
    of_primitive(tensor(vec![sums.into_iter().sum::<f64>() as f32], Shape::from([1])))
}

/// A tensor without a graph times a number, `[1]`. Memory that nothing else refers to is written in place.
pub fn scaled<const D: usize>(x: Tensor<D>, factor: &Tensor<1>) -> Tensor<D> {
    if !is_on_cpu(&x) {
        return x * factor.clone().unsqueeze();
    }
    let factor = numbers(&constant(factor))[0];
    if factor == 1.0 {
        return x;
    }
    let mut x = owned(x);
    let numbers = mutable(&mut x);
    in_parts(numbers.len(), numbers.chunks_mut(NUMBERS_OF_PART), |part| {
        for number in part {
            *number *= factor;
        }
    });
    of_primitive(x)
}

#[pulp::with_simd(squares = pulp::Arch::new())]
#[inline(always)]
fn squares_of_part<S: Simd>(_: S, part: &[f32]) -> f32 {
    dot(part, part)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;

    use super::{scaled, square_sum};
    use crate::kernels::check::random;
    use crate::kernels::with_reference_kernels;

    #[test]
    fn sums_and_products_are_those_of_tensors() {
        let x: Tensor<2> = random([301, 333], 1);
        let relative = |one: Tensor<1>, other: Tensor<1>| {
            let [one, other] = [one, other].map(|sum| sum.into_scalar::<f32>());
            (one / other - 1.0).abs()
        };
        assert!(relative(square_sum(&x), with_reference_kernels(|| square_sum(&x))) < 1e-5);
        let factor = Tensor::from_floats([0.3], &x.device());
        let plain = with_reference_kernels(|| scaled(x.clone(), &factor));
        // The tensor is shared, and stays as it is.
        let before: Tensor<2> = random([301, 333], 1);
        assert!((scaled(x.clone(), &factor) - plain).abs().max().into_scalar::<f32>() == 0.0);
        assert!((x - before).abs().max().into_scalar::<f32>() == 0.0);
    }
}
