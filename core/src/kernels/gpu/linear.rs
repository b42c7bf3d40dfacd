//! The product of tokens with a matrix of weights, of factors in bf16 and with sums and outputs in f32, forward and backward.

use burn::tensor::{DType, Tensor};
use burn_cubecl::Cube;
use burn_cubecl::kernel::cast;
use burn_cubecl::kernel::matmul::{MatmulStrategy, matmul};
use burn_cubecl::tensor::CubeTensor;

use super::{buffer, has_kernels, tensor};
use crate::kernels::{Kernel, apply};

/// x · weights: `[batch, seq, in]` and `[in, out]` to `[batch, seq, out]`; `None` where the kernels do not take the tensors.
pub fn linear_in_bf16(x: &Tensor<3>, weights: &Tensor<2>) -> Option<Tensor<3>> {
    let are_taken = has_kernels(x) && has_kernels(weights);
    are_taken.then(|| apply(LinearInBf16, [x.clone().into_dispatch(), weights.clone().into_dispatch()]))
}

/// left · right with sums and output in f32, whatever the type of the factors.
pub(super) fn product<const D: usize>(left: Tensor<D>, right: Tensor<D>) -> Tensor<D> {
    let product = matmul(buffer(left), buffer(right), None, MatmulStrategy::default(), DType::F32);
    tensor(product.expect("there is a form of the product for every shape"))
}

/// Inputs: x and the weights.
#[derive(Clone, Debug)]
struct LinearInBf16;

impl Kernel<2, Cube> for LinearInBf16 {
    /// The inputs in bf16, x as `[batch · seq, in]`.
    type Saved = [CubeTensor; 2];

    fn forward(&self, [x, weights]: &[CubeTensor; 2]) -> (CubeTensor, [CubeTensor; 2]) {
        let [batch, seq, _] = dims(x);
        let x = in_rows(x);
        let weights = cast(weights.clone(), DType::BF16);
        let output = product::<2>(x.clone(), tensor(weights.clone()));
        let width = output.dims()[1];
        (buffer(output.reshape([batch, seq, width])), [buffer(x), weights])
    }

    #[cfg(feature = "train")]
    fn backward(&self, [x, _]: &[CubeTensor; 2], saved: [CubeTensor; 2], gradient: CubeTensor) -> [CubeTensor; 2] {
        let shape: [usize; 3] = dims(x);
        let [x, weights] = saved.map(tensor::<2>);
        let gradient = in_rows(&gradient);
        let of_x = product(gradient.clone(), weights.transpose());
        let of_weights = product(x.transpose(), gradient);
        [buffer(of_x.reshape(shape)), buffer(of_weights)]
    }
}

/// `[batch, seq, width]` to `[batch · seq, width]`, in bf16.
fn in_rows(x: &CubeTensor) -> Tensor<2> {
    tensor::<3>(cast(x.clone(), DType::BF16)).flatten(0, 1)
}

fn dims<const D: usize>(tensor: &CubeTensor) -> [usize; D] {
    std::array::from_fn(|at| tensor.meta.shape()[at])
}
