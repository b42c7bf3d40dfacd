//! The kernels of [`projection`](super::projection).
//!
//! `weight` has a row of `width` numbers for each column of the output, as [`matrix`](super::matrix) has them. Units of a workgroup along X share the sum of a column, so
//! that neighbouring units read neighbouring weights. The norm is computed again in every workgroup: reading a row once more
//! costs less than another launch.

use super::cubecl;
use super::matrix::number;
use super::sum::sum_of_units;
use crate::kernels::NumberType;
use cubecl::prelude::*;

/// Parts of each sum, and columns of a workgroup.
pub const PARTS: u32 = 32;
pub const COLUMNS: u32 = 8;
/// Units of a workgroup.
pub const UNITS: usize = (PARTS * COLUMNS) as usize;

/// The unit's column.
#[cube]
fn column() -> usize {
    (CUBE_POS_X * CUBE_DIM_Y + UNIT_POS_Y) as usize
}

/// The workgroup's row.
#[cube]
fn row() -> usize {
    CUBE_POS_Y as usize
}

/// 1/√(mean x² + ε) of the row that begins at `start`.
#[cube]
pub fn inverse_root_mean_square(
    x: &[f32],
    start: usize,
    width: usize,
    epsilon: f32,
    shared: &mut Shared<[f32]>,
    #[comptime] lanes: usize,
) -> f32 {
    let mut sum = 0f32;
    let mut i = UNIT_POS as usize;
    while i < width {
        sum += x[start + i] * x[start + i];
        i += CUBE_DIM as usize;
    }
    let sum = sum_of_units(shared, sum, UNITS, lanes);
    1.0f32 / f32::sqrt(sum / width as f32 + epsilon)
}

/// The unit's part of Σ x·γ·weight for a row of the weights.
#[cube]
fn normed_part(x: &[f32], gamma: &[f32], weight: &[u32], width: usize, of: usize, #[comptime] kind: NumberType) -> f32 {
    let start = row() * width;
    let mut sum = 0f32;
    let mut i = UNIT_POS_X as usize;
    while i < width {
        sum += x[start + i] * gamma[i] * number(weight, of, i, width, kind);
        i += CUBE_DIM_X as usize;
    }
    sum
}

/// The unit's column of RMSNorm(x) times three matrices side by side.
#[cube]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
fn projected_onto_three(
    x: &[f32],
    gamma: &[f32],
    q: &[u32],
    k: &[u32],
    v: &[u32],
    width: usize,
    q_width: usize,
    k_width: usize,
    v_width: usize,
    epsilon: f32,
    #[comptime] kind: NumberType,
    #[comptime] lanes: usize,
) -> f32 {
    let mut shared = Shared::new_slice(UNITS);
    let scale = inverse_root_mean_square(x, row() * width, width, epsilon, &mut shared, lanes);
    let mut part = 0f32;
    let of_k = q_width + k_width;
    if column() < q_width {
        part = normed_part(x, gamma, q, width, column(), kind);
    } else if column() < of_k {
        part = normed_part(x, gamma, k, width, column() - q_width, kind);
    } else if column() < of_k + v_width {
        part = normed_part(x, gamma, v, width, column() - of_k, kind);
    }
    sum_of_parts(&mut shared, part, lanes) * scale
}

/// silu(gate) · up.
#[cube]
pub fn gated_by(gate: f32, up: f32) -> f32 {
    gate / (1.0f32 + f32::exp(-gate)) * up
}

/// The sum over the parts of the unit's column.
#[cube]
fn sum_of_parts(shared: &mut Shared<[f32]>, own: f32, #[comptime] lanes: usize) -> f32 {
    sum_of_units(shared, own, PARTS as usize, lanes)
}

#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
pub fn project(
    x: &[f32],
    gamma: &[f32],
    q: &[u32],
    k: &[u32],
    v: &[u32],
    output: &mut [f32],
    width: usize,
    q_width: usize,
    k_width: usize,
    v_width: usize,
    epsilon: f32,
    #[comptime] kind: NumberType,
    #[comptime] lanes: usize,
) {
    let columns = q_width + k_width + v_width;
    let projected = projected_onto_three(x, gamma, q, k, v, width, q_width, k_width, v_width, epsilon, kind, lanes);
    if UNIT_POS_X == 0 && column() < columns {
        output[row() * columns + column()] = projected;
    }
}

#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
pub fn project_biased(
    x: &[f32],
    gamma: &[f32],
    q: &[u32],
    k: &[u32],
    v: &[u32],
    bias: &[f32],
    output: &mut [f32],
    width: usize,
    q_width: usize,
    k_width: usize,
    v_width: usize,
    epsilon: f32,
    #[comptime] kind: NumberType,
    #[comptime] lanes: usize,
) {
    let columns = q_width + k_width + v_width;
    let projected = projected_onto_three(x, gamma, q, k, v, width, q_width, k_width, v_width, epsilon, kind, lanes);
    if UNIT_POS_X == 0 && column() < columns {
        output[row() * columns + column()] = projected + bias[column()];
    }
}

#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
pub fn project_gated(
    x: &[f32],
    gamma: &[f32],
    gate: &[u32],
    up: &[u32],
    output: &mut [f32],
    width: usize,
    columns: usize,
    epsilon: f32,
    #[comptime] kind: NumberType,
    #[comptime] lanes: usize,
) {
    let mut shared = Shared::new_slice(UNITS);
    let scale = inverse_root_mean_square(x, row() * width, width, epsilon, &mut shared, lanes);
    let mut of_gate = 0f32;
    let mut of_up = 0f32;
    if column() < columns {
        of_gate = normed_part(x, gamma, gate, width, column(), kind);
        of_up = normed_part(x, gamma, up, width, column(), kind);
    }
    let of_gate = sum_of_parts(&mut shared, of_gate, lanes) * scale;
    let of_up = sum_of_parts(&mut shared, of_up, lanes) * scale;
    if UNIT_POS_X == 0 && column() < columns {
        output[row() * columns + column()] = gated_by(of_gate, of_up);
    }
}

#[cube(launch)]
pub fn project_onto(
    x: &[f32],
    weight: &[u32],
    residual: &[f32],
    output: &mut [f32],
    width: usize,
    columns: usize,
    #[comptime] kind: NumberType,
    #[comptime] lanes: usize,
) {
    let mut shared = Shared::new_slice(UNITS);
    let start = row() * width;
    let mut part = 0f32;
    if column() < columns {
        let mut i = UNIT_POS_X as usize;
        while i < width {
            part += x[start + i] * number(weight, column(), i, width, kind);
            i += CUBE_DIM_X as usize;
        }
    }
    let sum = sum_of_parts(&mut shared, part, lanes);
    if UNIT_POS_X == 0 && column() < columns {
        let at = row() * columns + column();
        output[at] = residual[at] + sum;
    }
}

#[cube(launch)]
#[allow(clippy::too_many_arguments, reason = "a kernel has no structures")]
pub fn project_normed(
    x: &[f32],
    gamma: &[f32],
    weight: &[u32],
    output: &mut [f32],
    width: usize,
    columns: usize,
    epsilon: f32,
    #[comptime] kind: NumberType,
    #[comptime] lanes: usize,
) {
    let mut shared = Shared::new_slice(UNITS);
    let scale = inverse_root_mean_square(x, row() * width, width, epsilon, &mut shared, lanes);
    let mut part = 0f32;
    if column() < columns {
        part = normed_part(x, gamma, weight, width, column(), kind);
    }
    let sum = sum_of_parts(&mut shared, part, lanes);
    if UNIT_POS_X == 0 && column() < columns {
        output[row() * columns + column()] = sum * scale;
    }
}
