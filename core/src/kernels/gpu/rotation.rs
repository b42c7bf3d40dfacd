//! Writing keys and values into the cache, for few tokens in one launch with the rotation of queries and keys.

use burn::backend::cubecl::dtype_to_elem_type;
use burn::tensor::{DType, Tensor};

use super::{buffer, cubecl, output_like, rows, tensor, units_for};
use cubecl::prelude::*;

const UNITS: u32 = 64;

/// What few tokens are rotated by; not being rotated is cosines of 1 and sines of 0.
pub struct FewRotations {
    /// `[seq, head_dim]` with equal halves, times the attention factor.
    pub cos: Tensor<2>,
    /// As `cos`.
    pub sin: Tensor<2>,
    /// `[seq]`: what the logits of each query are multiplied by.
    pub factors: Tensor<1>,
}

/// Takes the projections `[1, seq, (heads + 2 kv_heads) · head_dim]`, writes rotated keys and values into the caches,
/// `[1, kv_heads, capacity, head_dim]` in one type, from token `at` on, and gives the rotated queries with their factors,
/// `[1, seq, heads, head_dim]`. The caches' buffers are changed in place, whoever else holds them.
pub fn rotate_into_cache(
    projections: Tensor<3>,
    rotations: &FewRotations,
    [keys, values]: [&Tensor<4>; 2],
    at: usize,
) -> Tensor<4> {
    let [_, seq, width] = projections.dims();
    let [_, kv_heads, capacity, head_dim] = keys.dims();
    let heads = width / head_dim - 2 * kv_heads;
    let projections = rows(projections);
    let queries = output_like(&projections, [1, seq, heads, head_dim]);
    rotate::launch(
        &projections.client.clone(),
        CubeCount::Static((width as u32).div_ceil(UNITS), seq as u32, 1),
        CubeDim::new_1d(UNITS),
        projections.into_buffer_arg(),
        rows(rotations.cos.clone()).into_buffer_arg(),
        rows(rotations.sin.clone()).into_buffer_arg(),
        rows(rotations.factors.clone()).into_buffer_arg(),
        queries.clone().into_buffer_arg(),
        buffer(keys.clone()).into_buffer_arg(),
        buffer(values.clone()).into_buffer_arg(),
        heads,
        kv_heads,
        head_dim,
        capacity,
        at,
        keys.dtype() == DType::F16,
        dtype_to_elem_type(keys.dtype()),
    );
    tensor(queries)
}

/// Writes keys or values `[1, kv_heads, seq, head_dim]` into their cache, `[1, kv_heads, capacity, head_dim]`, from token `at` on. The
/// cache's buffer is changed in place, whoever else holds it.
pub fn write_into_cache(x: Tensor<4>, cache: &Tensor<4>, at: usize) {
    let [_, kv_heads, seq, head_dim] = x.dims();
    // As projections have them, so that the view needs no copy.
    let x = rows(x.swap_dims(1, 2));
    let size = seq * kv_heads * head_dim;
    let (count, dim) = units_for(size);
    write::launch(
        &x.client.clone(),
        count,
        dim,
        x.into_buffer_arg(),
        buffer(cache.clone()).into_buffer_arg(),
        size,
        kv_heads,
        head_dim,
        cache.dims()[2],
        at,
        cache.dtype() == DType::F16,
        dtype_to_elem_type(cache.dtype()),
    );
}

/// The number at `at`, the i-th of its head, rotated by an angle of this cosine and sine.
#[cube]
pub fn rotated_component(x: &[f32], at: usize, i: usize, head_dim: usize, cos: f32, sin: f32) -> f32 {
    let half = head_dim / 2;
    let mut rotated = x[at] * cos;
    if i < half {
        rotated -= x[at + half] * sin;
    } else {
        rotated += x[at - half] * sin;
    }
    rotated
}

/// A number as the cache keeps it. WGSL lets a device round to either neighbour in f16; here it is the nearest, as on the CPU. Numbers
/// below 2⁻¹⁴, and from 65,520 on, are as the device converts them.
#[cube]
fn rounded<N: Float>(x: f32, #[comptime] is_f16: bool) -> N {
    let mut nearest = x;
    if is_f16 {
        let bits = u32::reinterpret(x);
        // Infinities and NaN stay as they are.
        if bits & 0x7fff_ffff < 0x7f80_0000 {
            let half = 0xfffu32 + ((bits >> 13u32) & 1);
            nearest = f32::reinterpret((bits + half) & 0xffff_e000);
        }
    }
    N::cast_from(nearest)
}

/// A unit for each number of a row of projections.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn rotate<N: Float>(
    projections: &[f32],
    cos: &[f32],
    sin: &[f32],
    factors: &[f32],
    queries: &mut [f32],
    keys: &mut [N],
    values: &mut [N],
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    capacity: usize,
    at: usize,
    #[comptime] is_f16: bool,
    #[define(N)] _type: ElemType,
) {
    let column = ABSOLUTE_POS_X as usize;
    let row = CUBE_POS_Y as usize;
    let width = (heads + 2 * kv_heads) * head_dim;
    if column < width {
        let own = projections[row * width + column];
        let head = column / head_dim;
        let i = column % head_dim;
        let angle = row * head_dim + i;
        let rotated = rotated_component(projections, row * width + column, i, head_dim, cos[angle], sin[angle]);
        if head < heads {
            queries[(row * heads + head) * head_dim + i] = rotated * factors[row];
        } else if head < heads + kv_heads {
            keys[((head - heads) * capacity + at + row) * head_dim + i] = rounded::<N>(rotated, is_f16);
        } else {
            values[((head - heads - kv_heads) * capacity + at + row) * head_dim + i] = rounded::<N>(own, is_f16);
        }
    }
}

/// `x` is `[seq, kv_heads, head_dim]`, the cache `[kv_heads, capacity, head_dim]`. A unit for each number, or for several.
#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn write<N: Float>(
    x: &[f32],
    cache: &mut [N],
    size: usize,
    kv_heads: usize,
    head_dim: usize,
    capacity: usize,
    first: usize,
    #[comptime] is_f16: bool,
    #[define(N)] _type: ElemType,
) {
    let width = kv_heads * head_dim;
    let mut at = ABSOLUTE_POS_X as usize;
    while at < size {
        let token = first + at / width;
        let head = at % width / head_dim;
        cache[(head * capacity + token) * head_dim + at % head_dim] = rounded::<N>(x[at], is_f16);
        at += (CUBE_COUNT_X * CUBE_DIM_X) as usize;
    }
}
