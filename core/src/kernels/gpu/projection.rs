//! Products of few rows with a matrix of weights, with what comes before and behind them: RMSNorm, bias, gate, residual.
//!
//! Weights are read as files have them, a row for each column of the output: here that is the transpose of Burn's weight.

use burn::nn::{Linear, RmsNorm};
use burn::tensor::Tensor;
use burn_cubecl::tensor::CubeTensor;

use super::products::{COLUMNS, PARTS, project, project_biased, project_gated, project_normed, project_onto};
use super::{cubecl, output_like, rows, tensor};
use cubecl::prelude::*;

/// The queries', keys' and values' projections of RMSNorm(x), `[1, seq, hidden]` to `[1, seq, q + k + v]`.
pub fn normed_projections(norm: &RmsNorm, x: &Tensor<3>, linears: [&Linear; 3]) -> Tensor<3> {
    let [seq, hidden] = [x.dims()[1], x.dims()[2]];
    let [q_width, k_width, v_width] = linears.map(|linear| linear.weight.dims()[1]);
    let columns = q_width + k_width + v_width;
    let x = rows(x.clone());
    let output = output_like(&x, [1, seq, columns]);
    let (client, count, dim) = (x.client.clone(), workgroups(columns, seq), CubeDim::new_2d(PARTS, COLUMNS));
    let (x, gamma, out) = (x, rows(norm.gamma.val()), output.clone());
    let [x, gamma, out] = [x, gamma, out].map(CubeTensor::into_buffer_arg);
    let [q, k, v] = linears.map(|linear| weight(linear).into_buffer_arg());
    let epsilon = norm.epsilon as f32;
    match linears.map(|linear| linear.bias.as_ref()) {
        [Some(of_q), Some(of_k), Some(of_v)] => {
            let bias = rows(Tensor::cat(vec![of_q.val(), of_k.val(), of_v.val()], 0)).into_buffer_arg();
            project_biased::launch(
                &client, count, dim, x, gamma, q, k, v, bias, out, hidden, q_width, k_width, v_width, epsilon,
            );
        }
        _ => project::launch(&client, count, dim, x, gamma, q, k, v, out, hidden, q_width, k_width, v_width, epsilon),
    }
    tensor(output)
}

/// silu(gate(h)) · up(h) of h = RMSNorm(x), `[1, seq, hidden]` to `[1, seq, intermediate]`.
pub fn gated_projections(norm: &RmsNorm, x: &Tensor<3>, gate: &Linear, up: &Linear) -> Tensor<3> {
    let [hidden, columns] = gate.weight.dims();
    let seq = x.dims()[1];
    let x = rows(x.clone());
    let output = output_like(&x, [1, seq, columns]);
    project_gated::launch(
        &x.client.clone(),
        workgroups(columns, seq),
        CubeDim::new_2d(PARTS, COLUMNS),
        x.into_buffer_arg(),
        rows(norm.gamma.val()).into_buffer_arg(),
        weight(gate).into_buffer_arg(),
        weight(up).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        hidden,
        columns,
        norm.epsilon as f32,
    );
    tensor(output)
}

/// residual + linear(x), of a projection without a bias, `[1, seq, inner]` to `[1, seq, hidden]`.
pub fn add_projection(linear: &Linear, x: Tensor<3>, residual: &Tensor<3>) -> Tensor<3> {
    let [inner, columns] = linear.weight.dims();
    let seq = x.dims()[1];
    let x = rows(x);
    let output = output_like(&x, [1, seq, columns]);
    project_onto::launch(
        &x.client.clone(),
        workgroups(columns, seq),
        CubeDim::new_2d(PARTS, COLUMNS),
        x.into_buffer_arg(),
        weight(linear).into_buffer_arg(),
        rows(residual.clone()).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        inner,
        columns,
    );
    tensor(output)
}

/// RMSNorm(x) times a matrix, `[1, seq, hidden]` and `[columns, hidden]` to `[1, seq, columns]`.
pub fn normed_product(norm: &RmsNorm, x: &Tensor<3>, weight: Tensor<2>) -> Tensor<3> {
    let [columns, hidden] = weight.dims();
    let seq = x.dims()[1];
    let x = rows(x.clone());
    let output = output_like(&x, [1, seq, columns]);
    project_normed::launch(
        &x.client.clone(),
        workgroups(columns, seq),
        CubeDim::new_2d(PARTS, COLUMNS),
        x.into_buffer_arg(),
        rows(norm.gamma.val()).into_buffer_arg(),
        rows(weight).into_buffer_arg(),
        output.clone().into_buffer_arg(),
        hidden,
        columns,
        norm.epsilon as f32,
    );
    tensor(output)
}

/// `[d_output, d_input]`: as loaded weights are stored, so that nothing is copied.
fn weight(linear: &Linear) -> CubeTensor {
    rows(linear.weight.val().transpose())
}

/// Workgroups along the columns, and one for each row.
fn workgroups(columns: usize, rows: usize) -> CubeCount {
    CubeCount::Static((columns as u32).div_ceil(COLUMNS), rows as u32, 1)
}
