//! RMSNorm, SwiGLU's gate and the rotation of queries and keys, in a launch each; Burn's operations need five and more. `None` where these
//! kernels cannot compute them: elsewhere than on a GPU, in other types than f32, with gradients.

use burn::nn::RmsNorm;
use burn::tensor::Tensor;

use super::products::{UNITS, gated_by, inverse_root_mean_square};
use super::rotation::rotated_component;
use super::{MOST_WORKGROUPS, cubecl, is_plain, output_like, rows, tensor};
use cubecl::prelude::*;

/// RMSNorm of the last dimension, of the norm's width.
pub fn normed<const D: usize>(norm: &RmsNorm, x: &Tensor<D>) -> Option<Tensor<D>> {
    let (shape, width) = (x.dims(), x.dims()[D - 1]);
    let count = shape.iter().product::<usize>() / width;
    if !is_plain(x) || count > MOST_WORKGROUPS {
        return None;
    }
    let x = rows(x.clone());
    let output = output_like(&x, shape);
    norm_rows::launch(
        &x.client.clone(),
        CubeCount::Static(1, count as u32, 1),
        CubeDim::new_1d(UNITS as u32),
        x.into_buffer_arg(),
        rows(norm.gamma.val()).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        width,
        norm.epsilon as f32,
    );
    Some(tensor(output))
}

/// silu(gate) · up, number by number.
pub fn gated<const D: usize>(gate: &Tensor<D>, up: &Tensor<D>) -> Option<Tensor<D>> {
    let shape = gate.dims();
    let (count, dim) = by_rows(shape)?;
    if !is_plain(gate) || !is_plain(up) {
        return None;
    }
    let gate = rows(gate.clone());
    let output = output_like(&gate, shape);
    multiply::launch(
        &gate.client.clone(),
        count,
        dim,
        gate.into_buffer_arg(),
        rows(up.clone()).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        shape[D - 1],
    );
    Some(tensor(output))
}

/// x·cos + rotate_half(x)·sin of `[batch, heads, seq, head_dim]`; the tables are `[batch or 1, heads or 1, seq, head_dim]`.
pub fn rotated(x: &Tensor<4>, cos: &Tensor<4>, sin: &Tensor<4>) -> Option<Tensor<4>> {
    // As projections have them, so that the views need no copy: [batch, seq, heads, head_dim].
    let [x, cos, sin] = [x, cos, sin].map(|tensor| tensor.clone().swap_dims(1, 2));
    let [batch, seq, heads, head_dim] = x.dims();
    let [table_batch, _, table_heads, _] = cos.dims();
    let (count, dim) = by_rows([batch * seq, heads * head_dim])?;
    if ![&x, &cos, &sin].into_iter().all(is_plain) {
        return None;
    }
    let x = rows(x);
    let output = output_like(&x, [batch, seq, heads, head_dim]);
    rotate::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_buffer_arg(),
        rows(cos).into_buffer_arg(),
        rows(sin).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        heads * head_dim,
        if table_batch == 1 { seq } else { batch * seq },
        head_dim,
        table_heads > 1,
    );
    let output: Tensor<4> = tensor(output);
    Some(output.swap_dims(1, 2))
}

/// Workgroups that have a unit for each number of rows.
fn by_rows<const D: usize>(shape: [usize; D]) -> Option<(CubeCount, CubeDim)> {
    let (width, size) = (shape[D - 1], shape.iter().product::<usize>());
    let count = size.checked_div(width).filter(|&count| count <= MOST_WORKGROUPS)?;
    let columns = (width as u32).div_ceil(UNITS as u32);
    Some((CubeCount::Static(columns, count as u32, 1), CubeDim::new_1d(UNITS as u32)))
}

/// A workgroup for each row.
#[cube(launch)]
fn norm_rows(x: &[f32], gamma: &[f32], output: &mut [f32], width: usize, epsilon: f32) {
    let mut shared = Shared::new_slice(UNITS);
    let scale = inverse_root_mean_square(x, width, epsilon, &mut shared);
    let start = CUBE_POS_Y as usize * width;
    let mut i = UNIT_POS as usize;
    while i < width {
        output[start + i] = x[start + i] * scale * gamma[i];
        i += CUBE_DIM as usize;
    }
}

/// A unit for each number.
#[cube(launch)]
fn multiply(gate: &[f32], up: &[f32], output: &mut [f32], width: usize) {
    let column = ABSOLUTE_POS_X as usize;
    if column < width {
        let at = CUBE_POS_Y as usize * width + column;
        output[at] = gated_by(gate[at], up[at]);
    }
}

/// A unit for each number; a row is a token, and tables begin again behind `table_rows`.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn rotate(
    x: &[f32],
    cos: &[f32],
    sin: &[f32],
    output: &mut [f32],
    width: usize,
    table_rows: usize,
    head_dim: usize,
    #[comptime] is_by_head: bool,
) {
    let column = ABSOLUTE_POS_X as usize;
    if column < width {
        let row = CUBE_POS_Y as usize;
        let at = row * width + column;
        let i = column % head_dim;
        let mut angle = row % table_rows * head_dim + i;
        if is_by_head {
            angle = row % table_rows * width + column;
        }
        output[at] = rotated_component(x, at, i, head_dim, cos, sin, angle);
    }
}
