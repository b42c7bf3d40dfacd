//! Products of few rows with a matrix of weights, with what comes before and behind them: RMSNorm, bias, gate, residual.

use burn::nn::RmsNorm;
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;

use super::matrix::GpuMatrix;
use super::products::{COLUMNS, PARTS, project, project_biased, project_gated, project_normed, project_onto};
use super::subgroups::lanes;
use super::{cubecl, output_like, rows, tensor};
use cubecl::prelude::*;

/// The queries', keys' and values' projections of RMSNorm(x), `[1, seq, hidden]` to `[1, seq, q + k + v]`; `bias`, `[q + k + v]`,
/// is theirs. The three matrices are of one type.
pub fn normed_projections(
    norm: &RmsNorm,
    x: &Tensor<3>,
    matrices: &[GpuMatrix; 3],
    bias: Option<Tensor<1>>,
) -> Tensor<3> {
    let [seq, hidden] = [x.dims()[1], x.dims()[2]];
    let [q_width, k_width, v_width] = matrices.each_ref().map(|matrix| matrix.rows);
    let columns = q_width + k_width + v_width;
    let x = rows(x.clone());
    let output = output_like(&x, [1, seq, columns]);
    let (client, count, dim) = (x.client.clone(), workgroups(columns, seq), CubeDim::new_2d(PARTS, COLUMNS));
    let (x, gamma, out) = (x, rows(norm.gamma.val()), output.clone());
    let [x, gamma, out] = [x, gamma, out].map(CubeTensor::into_buffer_arg);
    let [q, k, v] = matrices.each_ref().map(|matrix| matrix.words().into_buffer_arg());
    let (epsilon, kind) = (norm.epsilon as f32, matrices[0].kind);
    match bias {
        Some(bias) => {
            let bias = rows(bias).into_buffer_arg();
            project_biased::launch(
                &client,
                count,
                dim,
                x,
                gamma,
                q,
                k,
                v,
                bias,
                out,
                hidden,
                q_width,
                k_width,
                v_width,
                epsilon,
                kind,
                lanes(),
            );
        }
        None => {
            project::launch(
                &client,
                count,
                dim,
                x,
                gamma,
                q,
                k,
                v,
                out,
                hidden,
                q_width,
                k_width,
                v_width,
                epsilon,
                kind,
                lanes(),
            );
        }
    }
    tensor(output)
}

/// silu(gate(h)) · up(h) of h = RMSNorm(x), `[1, seq, hidden]` to `[1, seq, intermediate]`; both matrices are of one type.
pub fn gated_projections(norm: &RmsNorm, x: &Tensor<3>, gate: &GpuMatrix, up: &GpuMatrix) -> Tensor<3> {
    let (seq, columns) = (x.dims()[1], gate.rows);
    let x = rows(x.clone());
    let output = output_like(&x, [1, seq, columns]);
    project_gated::launch(
        &x.client.clone(),
        workgroups(columns, seq),
        CubeDim::new_2d(PARTS, COLUMNS),
        x.into_buffer_arg(),
        rows(norm.gamma.val()).into_buffer_arg(),
        gate.words().into_buffer_arg(),
        up.words().into_buffer_arg(),
        output.clone().into_buffer_arg(),
        gate.columns,
        columns,
        norm.epsilon as f32,
        gate.kind,
        lanes(),
    );
    tensor(output)
}

/// residual + x · matrixᵀ, `[1, seq, inner]` to `[1, seq, hidden]`.
pub fn add_projection(matrix: &GpuMatrix, x: Tensor<3>, residual: &Tensor<3>) -> Tensor<3> {
    let (seq, columns) = (x.dims()[1], matrix.rows);
    let x = rows(x);
    let output = output_like(&x, [1, seq, columns]);
    project_onto::launch(
        &x.client.clone(),
        workgroups(columns, seq),
        CubeDim::new_2d(PARTS, COLUMNS),
        x.into_buffer_arg(),
        matrix.words().into_buffer_arg(),
        rows(residual.clone()).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        matrix.columns,
        columns,
        matrix.kind,
        lanes(),
    );
    tensor(output)
}

/// RMSNorm(x) · matrixᵀ, `[1, seq, hidden]` to `[1, seq, columns]`.
pub fn normed_product(norm: &RmsNorm, x: &Tensor<3>, matrix: &GpuMatrix) -> Tensor<3> {
    let (seq, columns) = (x.dims()[1], matrix.rows);
    let x = rows(x.clone());
    let output = output_like(&x, [1, seq, columns]);
    project_normed::launch(
        &x.client.clone(),
        workgroups(columns, seq),
        CubeDim::new_2d(PARTS, COLUMNS),
        x.into_buffer_arg(),
        rows(norm.gamma.val()).into_buffer_arg(),
        matrix.words().into_buffer_arg(),
        output.clone().into_buffer_arg(),
        matrix.columns,
        columns,
        norm.epsilon as f32,
        matrix.kind,
        lanes(),
    );
    tensor(output)
}

/// Workgroups along the columns, and one for each row.
fn workgroups(columns: usize, rows: usize) -> CubeCount {
    CubeCount::Static((columns as u32).div_ceil(COLUMNS), rows as u32, 1)
}
