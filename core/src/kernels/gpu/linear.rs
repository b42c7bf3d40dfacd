//! The product of tokens with a matrix of weights, of factors in bf16 and with sums and outputs in f32, forward and backward.

use burn::tensor::{DType, Shape, Tensor};
use burn_cubecl::Cube;
use burn_cubecl::kernel::cast;
use burn_cubecl::kernel::matmul::{MatmulStrategy, matmul};
use burn_cubecl::tensor::CubeTensor;

use super::pack::packed;
use super::{buffer, has_kernels, tensor};
use crate::kernels::{Kernel, apply};

/// Numbers along a side of the tiles into which products divide their output.
const TILE: usize = 128;
/// Tiles that keep the largest cards busy.
const TILES: usize = 256;
/// Fewest tokens of a part of a sum.
const FEWEST_TOKENS: usize = 512;

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

/// Parts into which the sum over tokens of a gradient of weights is cut: a matrix of few tiles would leave most of a card idle.
fn parts_of_sum([d_input, d_output]: [usize; 2], tokens: usize) -> usize {
    let tiles = d_input.div_ceil(TILE) * d_output.div_ceil(TILE);
    1 << (TILES / tiles).min(tokens / FEWEST_TOKENS).max(1).ilog2()
}

/// Inputs: x and the weights.
#[derive(Clone, Debug)]
struct LinearInBf16;

impl Kernel<2, Cube> for LinearInBf16 {
    /// The inputs in bf16: x as `[tokens, in]`, with zeros behind the tokens, so that its rows can be cut into parts; and the weights.
    type Saved = [CubeTensor; 2];

    fn forward(&self, [x, weights]: &[CubeTensor; 2]) -> (CubeTensor, [CubeTensor; 2]) {
        let ([batch, seq, _], [d_input, d_output]) = (dims(x), dims(weights));
        let parts = parts_of_sum([d_input, d_output], batch * seq);
        let x = in_rows(x.clone(), [batch * seq, d_input], parts);
        let weights = cast(weights.clone(), DType::BF16);
        let output = product::<2>(tensor(first_rows(&x, batch * seq)), tensor(weights.clone()));
        (buffer(output.reshape([batch, seq, d_output])), [x, weights])
    }

    #[cfg(feature = "train")]
    fn backward(
        &self,
        [of_shape, _]: &[CubeTensor; 2],
        [x, weights]: [CubeTensor; 2],
        gradient: CubeTensor,
    ) -> [CubeTensor; 2] {
        let ([batch, seq, _], [d_input, d_output]) = (dims(of_shape), dims(&weights));
        let tokens = batch * seq;
        let parts = parts_of_sum([d_input, d_output], tokens);
        let gradient = in_rows(gradient, [tokens, d_output], parts);
        let of_x = product(tensor(first_rows(&gradient, tokens)), tensor::<2>(weights).transpose());
        let [x, gradient] = [x, gradient].map(|rows| {
            let rows: Tensor<2> = tensor(rows);
            let [filled, width] = rows.dims();
            rows.reshape([parts, filled / parts, width])
        });
        let of_parts = product(x.swap_dims(1, 2), gradient); // [parts, in, out]
        let of_weights = if parts == 1 { of_parts } else { of_parts.sum_dim(0) };
        [buffer(of_x.reshape([batch, seq, d_input])), buffer(of_weights.reshape([d_input, d_output]))]
    }
}

/// `[batch, seq, width]`, which is `[tokens, width]`, in bf16, filled up so that its rows can be cut into parts.
fn in_rows(x: CubeTensor, [tokens, width]: [usize; 2], parts: usize) -> CubeTensor {
    let filled = if parts == 1 { tokens } else { tokens.next_multiple_of(8 * parts) };
    let rows: Tensor<4> = tensor(packed(x, [1, 1, tokens, width], filled, DType::BF16));
    buffer(rows.reshape([filled, width]))
}

/// The first rows of a matrix in row-major order, where they lie.
fn first_rows(matrix: &CubeTensor, rows: usize) -> CubeTensor {
    let shape = Shape::from([rows, matrix.meta.shape()[1]]);
    let CubeTensor { client, device, handle, dtype, .. } = matrix.clone();
    CubeTensor::new_contiguous(client, device, shape, handle, dtype)
}

fn dims<const D: usize>(tensor: &CubeTensor) -> [usize; D] {
    std::array::from_fn(|at| tensor.meta.shape()[at])
}
