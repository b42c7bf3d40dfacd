//! `core bench --operations`: the time of each kind of operation in a training step, in plain and in fused form.

use std::time::Instant;

use anyhow::{Context, Result};
use burn::nn::{RmsNorm, RmsNormConfig};
use burn::tensor::{Device, Distribution, Tensor};
use drope_core::config::Config;
use drope_core::kernels::{self, AttentionBias, ComputeType, RotaryTable};
use drope_core::positions::{Encoding, LayerPositions};
use serde::Serialize;

use super::speed::median;

/// Milliseconds of one training step.
#[derive(Serialize)]
pub struct Operation {
    name: &'static str,
    /// Calls in a step, forward and backward counted as one.
    calls: usize,
    /// Time with Burn's own tensor operations.
    plain: f64,
    /// Time with the fused operation, which the trainer uses.
    fused: f64,
}

/// The operations of a training step of a model of this shape, each measured alone, forward and backward.
fn operations(
    config: &Config,
    [batch, length]: [usize; 2],
    (device, compute): (&Device, ComputeType),
    repeats: usize,
) -> Result<Vec<Operation>> {
    let seq = length - 1;
    let Config { hidden_size: hidden, intermediate_size: inner, num_hidden_layers: layers, vocab_size: vocab, .. } =
        *config;
    let [heads, kv_heads] = [config.num_attention_heads, config.num_key_value_heads];
    let (queries, keys) = (heads * config.head_dim, kv_heads * config.head_dim);
    let random = |shape: [usize; 2]| Tensor::<2>::random(shape, Distribution::Default, device).require_grad();
    let rows = |width| random([batch * seq, width]);
    let split = |x: Tensor<2>, heads| x.reshape([batch, seq, heads, config.head_dim]).swap_dims(1, 2);
    let product = |x: &Tensor<2>, weight: &Tensor<2>| -> Tensor<2> {
        kernels::linear(x.clone().unsqueeze(), weight.clone(), compute).squeeze_dim(0)
    };
    let measure = |name, calls, work: &dyn Fn() -> Tensor<2>| -> Result<Operation> {
        let milliseconds = || -> Result<f64> {
            let mut times = Vec::new();
            for _ in 0..=repeats {
                let start = Instant::now();
                drop(work().backward());
                times.push(1e3 * start.elapsed().as_secs_f64());
            }
            // The first call also allocates memory, so its time is left out.
            Ok(calls as f64 * median(&times[1..])?)
        };
        Ok(Operation { name, calls, fused: milliseconds()?, plain: kernels::with_reference_kernels(milliseconds)? })
    };

    let (x, wide) = (rows(hidden), rows(inner));
    let projections = [[hidden, queries], [hidden, keys], [hidden, keys], [queries, hidden]].map(random);
    let feed_forward = [[hidden, inner], [hidden, inner], [inner, hidden]].map(random);
    let embedding = random([vocab, hidden]);
    let norm: RmsNorm = RmsNormConfig::new(hidden).init(device);
    let (q, k, v) = (rows(queries), rows(keys), rows(keys));
    let layer = LayerPositions { encoding: Encoding::None, window: None };
    let bias = AttentionBias::new(&layer, 0..seq, None);
    let angles = Tensor::<4>::random([1, 1, seq, config.head_dim], Distribution::Default, device);
    let logits = rows(vocab);
    let targets: Vec<u32> = (0..batch * seq).map(|token| (token % vocab) as u32).collect();
    let join = |y: Tensor<4>, width| y.swap_dims(1, 2).reshape([batch * seq, width]);
    Ok(vec![
        measure("products with weights of attention", layers, &|| {
            let [q, k, v, o] = &projections;
            product(&product(&x, q), o) + (product(&x, k) * product(&x, v)).sum_dim(1)
        })?,
        measure("products with weights of SwiGLU", layers, &|| {
            let [gate, up, down] = &feed_forward;
            product(&(product(&x, gate) + product(&x, up)), down)
        })?,
        measure("product with the embedding", 1, &|| product(&x, &embedding.clone().transpose()))?,
        measure("attention", layers, &|| {
            let (q, k, v) = (split(q.clone(), heads), split(k.clone(), kv_heads), split(v.clone(), kv_heads));
            join(kernels::attend(q, k.into(), v.into(), &bias, compute, None), queries)
        })?,
        measure("rotation of queries and keys", layers, &|| {
            let table = RotaryTable::new(angles.clone().cos(), angles.clone().sin());
            let q = join(table.rotate(split(q.clone(), heads)), queries);
            q + join(table.rotate(split(k.clone(), kv_heads)), keys).sum_dim(1)
        })?,
        measure("RMSNorm", 2 * layers + 1, &|| kernels::rms_norm(&norm, x.clone()))?,
        measure("SwiGLU's gate", layers, &|| kernels::swiglu(wide.clone(), wide.clone() * 2.0))?,
        measure("residual sums", 2 * layers, &|| x.clone() + x.clone() * 2.0)?,
        measure("cross entropy", 1, &|| kernels::cross_entropy(logits.clone(), &targets).unsqueeze())?,
    ])
}

/// The operations as lines of JSON.
pub fn print(config: &Config, batch: [usize; 2], place: (&Device, ComputeType), repeats: usize) -> Result<()> {
    for operation in operations(config, batch, place, repeats)? {
        println!("{}", serde_json::to_string(&operation).context("cannot write JSON")?);
    }
    Ok(())
}
