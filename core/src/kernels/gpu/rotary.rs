//! The rotation of queries or keys in a launch, and its gradient, which is the rotation the other way, in another.

use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{Cube, cubecl};

use super::rotation::rotated_component;
use super::{buffer, has_kernels, output_like, rows, tensor, units_for};
use crate::kernels::{Kernel, apply, without_graph};
use cubecl::prelude::*;

/// x·cos + rotate_half(x)·sin of `[batch, heads, seq, head_dim]`; the tables are `[batch or 1, heads or 1, seq, head_dim]`. `None` where
/// the kernels do not take x.
pub fn rotated(x: &Tensor<4>, cos: &Tensor<4>, sin: &Tensor<4>) -> Option<Tensor<4>> {
    if !has_kernels(x) {
        return None;
    }
    // As projections have them: [batch or 1, seq, heads or 1, head_dim].
    let [cos, sin] = [cos, sin].map(|table| rows(without_graph(table).swap_dims(1, 2)));
    Some(apply(Rotate { cos, sin }, [x.clone().into_dispatch()]))
}

#[derive(Clone, Debug)]
struct Rotate {
    /// `[batch or 1, seq, heads or 1, head_dim]`
    cos: CubeTensor,
    /// As `cos`.
    sin: CubeTensor,
}

impl Rotate {
    /// Rotates `[batch, heads, seq, head_dim]`, or with the sign −1 the other way.
    fn apply(&self, x: &CubeTensor, sign: f32) -> CubeTensor {
        // As projections have them, so that the views need no copy.
        let x: Tensor<4> = tensor(x.clone());
        let x = x.swap_dims(1, 2);
        let shape = x.dims();
        let [_, _, heads, head_dim] = shape;
        let table = self.cos.meta.shape();
        let (table_tokens, table_heads) = (table[0] * table[1], table[2]);
        let size = shape.iter().product();
        let (count, dim) = units_for(size);
        let x = rows(x);
        let output = output_like(&x, shape);
        rotate::launch(
            &x.client.clone(),
            count,
            dim,
            x.into_buffer_arg(),
            self.cos.clone().into_buffer_arg(),
            self.sin.clone().into_buffer_arg(),
            output.clone().into_buffer_arg(),
            size,
            heads * head_dim,
            table_tokens,
            head_dim,
            sign,
            table_heads > 1,
        );
        let output: Tensor<4> = tensor(output);
        buffer(output.swap_dims(1, 2))
    }
}

impl Kernel<1, Cube> for Rotate {
    type Saved = ();

    fn forward(&self, [x]: &[CubeTensor; 1]) -> (CubeTensor, ()) {
        (self.apply(x, 1.0), ())
    }

    #[cfg(feature = "train")]
    fn backward(&self, _: &[CubeTensor; 1], (): (), gradient: CubeTensor) -> [CubeTensor; 1] {
        [self.apply(&gradient, -1.0)]
    }
}

/// A unit for each number, or for several; a row is a token, and tables begin again behind `table_tokens`.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn rotate(
    x: &[f32],
    cos: &[f32],
    sin: &[f32],
    output: &mut [f32],
    size: usize,
    width: usize,
    table_tokens: usize,
    head_dim: usize,
    sign: f32,
    #[comptime] is_by_head: bool,
) {
    let mut at = ABSOLUTE_POS_X as usize;
    while at < size {
        let token = at / width % table_tokens;
        let i = at % head_dim;
        let mut angle = token * head_dim + i;
        if is_by_head {
            angle = token * width + at % width;
        }
        output[at] = rotated_component(x, at, i, head_dim, cos[angle], sin[angle] * sign);
        at += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}
