//! Applying rotary positions to queries and keys, in Hugging Face's half-split layout.

use burn::tensor::{Device, Tensor, TensorData};

use crate::positions::Encoding;

/// What one kind of layer does to the queries and keys of a run of positions.
pub(super) struct Rotation {
    /// Of the run's positions; `None` where nothing is turned.
    here: Option<Tables>,
    /// Of every position so far, where the frequencies follow the length: keys are then turned when they are read.
    so_far: Option<Tables>,
    /// `[batch or 1, 1, seq, 1]`: a factor of each query's logits.
    query_scales: Option<Tensor<4>>,
}

struct Tables {
    /// `[batch or 1, 1, seq, head_dim]`, times the attention factor.
    cos: Tensor<4>,
    /// `[batch or 1, 1, seq, head_dim]`, times the attention factor.
    sin: Tensor<4>,
    /// `[1, 1, head_dim, head_dim]`: x·half_turn = (−x₂, x₁) for x = (x₁, x₂). One small product is
    /// fewer kernels than cutting, negating and joining, and its gradient is one product too.
    half_turn: Tensor<4>,
}

impl Rotation {
    /// Tables for the positions `at` of each row, and a factor `[batch or 1, 1, seq, 1]` of each query's logits where
    /// there is one.
    pub(super) fn new(
        encoding: &Encoding,
        at: &[Vec<usize>],
        query_scales: Option<Tensor<4>>,
        device: &Device,
    ) -> Self {
        let tables = |inv_freq: &[f64], factor, at: &[Vec<usize>]| Some(Tables::new(inv_freq, factor, at, device));
        let (here, so_far) = match encoding {
            Encoding::None | Encoding::Alibi { .. } => (None, None),
            Encoding::Rotary { inv_freq, attention_factor } => (tables(inv_freq, *attention_factor, at), None),
            Encoding::Dynamic(dynamic) => {
                let length = at.iter().flatten().max().map_or(0, |last| last + 1);
                let inv_freq = dynamic.frequencies(length);
                (tables(&inv_freq, 1.0, at), tables(&inv_freq, 1.0, &[(0..length).collect()]))
            }
        };
        Self { here, so_far, query_scales }
    }

    /// Turns queries `[batch, heads, seq, head_dim]` by position and folds every factor of the logits into them, where
    /// it is cheapest.
    pub(super) fn queries(&self, q: Tensor<4>, logit_scale: f64) -> Tensor<4> {
        let q = turn(&self.here, q) * logit_scale;
        match &self.query_scales {
            None => q,
            Some(scales) => q * scales.clone(),
        }
    }

    /// New keys `[batch, kv_heads, seq, head_dim]` as they go into the cache.
    pub(super) fn written_keys(&self, k: Tensor<4>) -> Tensor<4> {
        if self.so_far.is_some() { k } else { turn(&self.here, k) }
    }

    /// All keys `[batch, kv_heads, past + seq, head_dim]` as they come out of it.
    pub(super) fn read_keys(&self, k: Tensor<4>) -> Tensor<4> {
        turn(&self.so_far, k)
    }
}

impl Tables {
    fn new(inv_freq: &[f64], attention_factor: f64, at: &[Vec<usize>], device: &Device) -> Self {
        let half = inv_freq.len();
        let head_dim = 2 * half;
        // In f64: angles grow to thousands of radians, where f32 has lost four digits.
        let table = |function: fn(f64) -> f64| {
            let values: Vec<f32> = at
                .iter()
                .flatten()
                .flat_map(|&position| (0..head_dim).map(move |i| position as f64 * inv_freq[i % half]))
                .map(|angle| (function(angle) * attention_factor) as f32)
                .collect();
            Tensor::from_data(TensorData::new(values, [at.len(), 1, at[0].len(), head_dim]), device)
        };
        let mut half_turn = vec![0.0f32; head_dim * head_dim];
        for m in 0..half {
            half_turn[(m + half) * head_dim + m] = -1.0;
            half_turn[m * head_dim + m + half] = 1.0;
        }
        Self {
            cos: table(f64::cos),
            sin: table(f64::sin),
            half_turn: Tensor::from_data(TensorData::new(half_turn, [1, 1, head_dim, head_dim]), device),
        }
    }
}

fn turn(tables: &Option<Tables>, x: Tensor<4>) -> Tensor<4> {
    match tables {
        None => x,
        Some(Tables { cos, sin, half_turn }) => {
            let turned = x.clone().matmul(half_turn.clone());
            x * cos.clone() + turned * sin.clone()
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use burn::tensor::{Device, Distribution, Tensor};

    use super::Rotation;
    use crate::config::Config;
    use crate::positions::{Encoding, Method};

    #[test]
    fn nothing_is_turned_at_position_zero() {
        let device = Device::flex();
        let config = Config::from_json(include_str!("../../../tests/fixtures/longrope/config.json")).unwrap();
        let q = Tensor::<4>::random([1, 2, 1, config.head_dim], Distribution::Default, &device);
        for method in Method::ALL {
            let encoding = &method.positions(&config, 4.0).unwrap().layer(0).encoding.clone();
            let factor = match encoding {
                Encoding::Rotary { attention_factor, .. } => *attention_factor,
                _ => 1.0,
            };
            let rotation = Rotation::new(encoding, &[vec![0]], None, &device);
            for (turned, scale) in [
                (rotation.queries(q.clone(), 1.0), factor),
                (rotation.read_keys(rotation.written_keys(q.clone())), factor),
            ] {
                let difference = (turned - q.clone() * scale).abs().max().into_scalar::<f32>();
                assert!(difference < 1e-6, "{}: {difference}", method.name());
            }
        }
    }
}
