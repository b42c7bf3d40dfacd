//! Factors of products: numbers rounded, put in row-major order and filled up with rows of zeros in one launch.
//!
//! Products read matrices whose rows have an odd number of numbers several times slower than others, and sums that can be cut into parts
//! of one size keep a card busy that few tiles of output do not.

use burn::backend::cubecl::dtype_to_elem_type;
use burn::tensor::DType;
use burn_cubecl::cubecl;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use super::{output_in, units_for};
use cubecl::prelude::*;

/// `[batch, heads, rows, width]` in f32 and in any order to the same in `dtype` and in row-major order, with zeros behind each head's
/// rows, so that there are `filled` of them.
pub fn packed(x: CubeTensor, [batch, heads, rows, width]: [usize; 4], filled: usize, dtype: DType) -> CubeTensor {
    let is_plain = x.meta.shape().num_dims() == 4 && x.meta.strides()[3] == 1;
    let x = if is_plain { x } else { into_contiguous(x) };
    let strides = if is_plain {
        [0, 1, 2].map(|dimension| x.meta.strides()[dimension])
    } else {
        [heads * rows * width, rows * width, width]
    };
    let shape = [batch, heads, filled, width];
    let size: usize = shape.iter().product();
    let (count, dim) = units_for(size);
    let output = output_in(dtype, &x, shape);
    pack::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_buffer_arg(),
        output.clone().into_buffer_arg(),
        size,
        heads,
        rows,
        filled,
        width,
        strides[0],
        strides[1],
        strides[2],
        dtype_to_elem_type(dtype),
    );
    output
}

/// A unit for each number of the output, or for several.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn pack<W: Float>(
    x: &[f32],
    output: &mut [W],
    size: usize,
    heads: usize,
    rows: usize,
    filled: usize,
    width: usize,
    batch_stride: usize,
    head_stride: usize,
    row_stride: usize,
    #[define(W)] _type: ElemType,
) {
    let mut at = ABSOLUTE_POS_X as usize;
    while at < size {
        let row = at / width % filled;
        let head = at / width / filled;
        let mut number = 0f32;
        if row < rows {
            let start = head / heads * batch_stride + head % heads * head_stride + row * row_stride;
            number = x[start + at % width];
        }
        output[at] = W::cast_from(number);
        at += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}
