//! The product on processors that multiply bf16.

use burn::tensor::Shape;
use burn_flex::FlexTensor;
use drope_instructions::bf16::{Left, Matrix, PANEL, Right, multiply};

use crate::kernels::Kernel;
use crate::kernels::parts::in_parts;
use crate::kernels::views::{numbers, tensor};

/// Panels of rows that a thread takes at once.
const PANELS_OF_PART: usize = 4;
/// How much longer f32 takes than bf16 by tiles, roughly; by vectors it is twice as long.
const TIMES_FASTER: usize = 8;

/// Inputs: x `[batch, seq, in]` and weights `[in, out]`.
#[derive(Clone, Debug)]
pub(super) struct Bf16Linear;

impl Kernel<2> for Bf16Linear {
    type Saved = ();

    fn forward(&self, [x, weights]: &[FlexTensor; 2]) -> (FlexTensor, ()) {
        let [batch, seq, width] = dims(x);
        let (x, weights) = (x.to_contiguous(), Stored::new(weights));
        let x = Matrix::new(numbers(&x), batch * seq, width);
        let output = product(x, &Right::pack(weights.matrix()));
        (tensor(output, Shape::from([batch, seq, weights.columns()])), ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, [x, weights]: &[FlexTensor; 2], (): (), gradient: FlexTensor) -> [FlexTensor; 2] {
        let shape = x.layout().shape().clone();
        let [batch, seq, width] = dims(x);
        let (x, gradient, weights) = (x.to_contiguous(), gradient.to_contiguous(), Stored::new(weights));
        let x = Matrix::new(numbers(&x), batch * seq, width);
        let gradient = Matrix::new(numbers(&gradient), batch * seq, weights.columns());
        let of_x = product(gradient, &Right::pack(weights.matrix().transpose()));
        // Stored as the weights are, so that the sum with other gradients needs no other order.
        let of_weights = if weights.is_turned {
            let turned = product(gradient.transpose(), &Right::pack(x));
            tensor(turned, Shape::from([weights.columns(), width])).transpose(0, 1)
        } else {
            tensor(product(x.transpose(), &Right::pack(gradient)), Shape::from([width, weights.columns()]))
        };
        [tensor(of_x, shape), of_weights]
    }
}

/// Weights `[in, out]`, which may be a view of `[out, in]`.
struct Stored {
    /// In row-major order.
    tensor: FlexTensor,
    is_turned: bool,
}

impl Stored {
    fn new(weights: &FlexTensor) -> Self {
        let turned = weights.transpose(0, 1);
        let is_turned = !weights.layout().is_contiguous() && turned.layout().is_contiguous();
        Self { tensor: if is_turned { turned } else { weights.clone() }.to_contiguous(), is_turned }
    }

    fn matrix(&self) -> Matrix<'_> {
        let shape = self.tensor.layout().shape();
        let stored = Matrix::new(numbers(&self.tensor), shape[0], shape[1]);
        if self.is_turned { stored.transpose() } else { stored }
    }

    fn columns(&self) -> usize {
        self.tensor.layout().shape()[usize::from(!self.is_turned)]
    }
}

/// left · right, row after row.
pub(super) fn product(left: Matrix<'_>, right: &Right) -> Vec<f32> {
    let ([rows, k], columns) = (left.shape(), right.columns());
    let left = Left::pack(left);
    let mut output = vec![0.0; rows * columns];
    let parts = output.chunks_mut((PANELS_OF_PART * PANEL * columns).max(1)).enumerate();
    in_parts(rows * k * columns / TIMES_FASTER, parts, |(part, output)| {
        multiply(&left, right, part * PANELS_OF_PART, output);
    });
    output
}

fn dims(x: &FlexTensor) -> [usize; 3] {
    let shape = x.layout().shape();
    [shape[0], shape[1], shape[2]]
}
