//! The product of tokens with a matrix of weights as an operation of our own: rows of all texts are one factor, weights are read in the
//! order in which they are stored, and outputs are written once. Burn's copies transposed weights, multiplies row by row of a batch for
//! the gradient, and fills each output with zeros, which it then moves to memory of another alignment.

use burn::tensor::Shape;
use burn_flex::FlexTensor;
use drope_instructions::Matrix;

#[cfg(target_arch = "x86_64")]
use super::bf16;
use super::{ComputeType, in_f32};
use crate::kernels::Kernel;
use crate::kernels::views::{numbers, tensor};

/// Inputs: x `[batch, seq, in]` and weights `[in, out]`.
#[derive(Clone, Debug)]
pub(super) struct FusedLinear {
    /// bf16 only where the processor multiplies it.
    pub(super) compute: ComputeType,
}

impl FusedLinear {
    /// left · right, row after row.
    fn product(&self, left: Matrix<'_>, right: Matrix<'_>) -> Vec<f32> {
        #[cfg(target_arch = "x86_64")]
        if self.compute == ComputeType::Bf16 {
            return bf16::product(left, right);
        }
        debug_assert_eq!(self.compute, ComputeType::F32, "only x86-64 multiplies bf16");
        in_f32::product(left, right)
    }
}

impl Kernel<2> for FusedLinear {
    type Saved = ();

    fn forward(&self, [x, weights]: &[FlexTensor; 2]) -> (FlexTensor, ()) {
        let [batch, seq, width] = dims(x);
        let (x, weights) = (x.to_contiguous(), Stored::new(weights));
        let output = self.product(Matrix::new(numbers(&x), batch * seq, width), weights.matrix());
        (tensor(output, Shape::from([batch, seq, weights.columns()])), ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, [x, weights]: &[FlexTensor; 2], (): (), gradient: FlexTensor) -> [FlexTensor; 2] {
        let shape = x.layout().shape().clone();
        let [batch, seq, width] = dims(x);
        let (x, gradient, weights) = (x.to_contiguous(), gradient.to_contiguous(), Stored::new(weights));
        let x = Matrix::new(numbers(&x), batch * seq, width);
        let gradient = Matrix::new(numbers(&gradient), batch * seq, weights.columns());
        let of_x = self.product(gradient, weights.matrix().transpose());
        // Stored as the weights are, so that the sum with other gradients needs no other order.
        let of_weights = if weights.is_transposed {
            let transposed = self.product(gradient.transpose(), x);
            tensor(transposed, Shape::from([weights.columns(), width])).transpose(0, 1)
        } else {
            tensor(self.product(x.transpose(), gradient), Shape::from([width, weights.columns()]))
        };
        [tensor(of_x, shape), of_weights]
    }
}

/// Weights `[in, out]`, which may be a view of `[out, in]`.
struct Stored {
    /// In row-major order.
    tensor: FlexTensor,
    is_transposed: bool,
}

impl Stored {
    fn new(weights: &FlexTensor) -> Self {
        let transposed = weights.transpose(0, 1);
        let is_transposed = !weights.layout().is_contiguous() && transposed.layout().is_contiguous();
        Self { tensor: if is_transposed { transposed } else { weights.clone() }.to_contiguous(), is_transposed }
    }

    fn matrix(&self) -> Matrix<'_> {
        let shape = self.tensor.layout().shape();
        let stored = Matrix::new(numbers(&self.tensor), shape[0], shape[1]);
        if self.is_transposed { stored.transpose() } else { stored }
    }

    fn columns(&self) -> usize {
        self.tensor.layout().shape()[usize::from(!self.is_transposed)]
    }
}

fn dims(x: &FlexTensor) -> [usize; 3] {
    let shape = x.layout().shape();
    [shape[0], shape[1], shape[2]]
}
