//! Applying rotary positions to queries and keys, in Hugging Face's half-split layout.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};

use crate::positions::Encoding;

/// What one kind of layer does to the queries and keys of a run of positions.
pub(super) struct Rotation {
    /// `None` where queries are not turned.
    queries: Option<Tables>,
    /// How keys are turned, and when.
    keys: Keys,
    /// `[batch or 1, 1, seq, 1]`: a factor of each query's logits.
    query_scales: Option<Tensor<4>>,
}

enum Keys {
    /// Never.
    Plain,
    /// As queries, before they go into the cache.
    TurnedWhenWritten,
    /// When they are read, because the frequencies follow the length: tables for every position so far.
    TurnedWhenRead(Tables),
}

struct Tables {
    /// `[1, 1, seq, head_dim]`, times the attention factor.
    cos: Tensor<4>,
    /// `[1, 1, seq, head_dim]`, times the attention factor.
    sin: Tensor<4>,
    /// `[1, 1, head_dim, head_dim]`: x·half_turn = (−x₂, x₁) for x = (x₁, x₂). One small product is
    /// fewer kernels than cutting, negating and joining, and its gradient is one product too.
    half_turn: Tensor<4>,
}

impl Rotation {
    /// Tables for the positions `at`, and a factor `[batch or 1, 1, seq, 1]` of each query's logits where there is one.
    pub(super) fn new(encoding: &Encoding, at: Range<usize>, query_scales: Option<Tensor<4>>, device: &Device) -> Self {
        let (queries, keys) = match encoding {
            Encoding::None | Encoding::Alibi { .. } => (None, Keys::Plain),
            Encoding::Rotary { inv_freq, attention_factor } => {
                (Some(Tables::new(inv_freq, *attention_factor, at, device)), Keys::TurnedWhenWritten)
            }
            Encoding::Dynamic(dynamic) => {
                let inv_freq = dynamic.frequencies(at.end);
                let so_far = Tables::new(&inv_freq, 1.0, 0..at.end, device);
                (Some(Tables::new(&inv_freq, 1.0, at, device)), Keys::TurnedWhenRead(so_far))
            }
        };
        Self { queries, keys, query_scales }
    }

    /// Turns queries `[batch, heads, seq, head_dim]` by position and folds every factor of the logits into them, where
    /// it is cheapest.
    pub(super) fn queries(&self, q: Tensor<4>, logit_scale: f64) -> Tensor<4> {
        let q = match &self.queries {
            None => q,
            Some(tables) => tables.turn(q),
        } * logit_scale;
        match &self.query_scales {
            None => q,
            Some(scales) => q * scales.clone(),
        }
    }

    /// New keys `[batch, kv_heads, seq, head_dim]` as they go into the cache.
    pub(super) fn written_keys(&self, k: Tensor<4>) -> Tensor<4> {
        match (&self.keys, &self.queries) {
            (Keys::TurnedWhenWritten, Some(tables)) => tables.turn(k),
            _ => k,
        }
    }

    /// All keys `[batch, kv_heads, past + seq, head_dim]` as they come out of it.
    pub(super) fn read_keys(&self, k: Tensor<4>) -> Tensor<4> {
        match &self.keys {
            Keys::TurnedWhenRead(tables) => tables.turn(k),
            _ => k,
        }
    }
}

impl Tables {
    fn new(inv_freq: &[f64], attention_factor: f64, at: Range<usize>, device: &Device) -> Self {
        let (seq, half) = (at.len(), inv_freq.len());
        let head_dim = 2 * half;
        // In f64: angles grow to thousands of radians, where f32 has lost four digits.
        let table = |function: fn(f64) -> f64| {
            let values: Vec<f32> = at
                .clone()
                .flat_map(|position| (0..head_dim).map(move |i| position as f64 * inv_freq[i % half]))
                .map(|angle| (function(angle) * attention_factor) as f32)
                .collect();
            Tensor::from_data(TensorData::new(values, [1, 1, seq, head_dim]), device)
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

    fn turn(&self, x: Tensor<4>) -> Tensor<4> {
        let turned = x.clone().matmul(self.half_turn.clone());
        x * self.cos.clone() + turned * self.sin.clone()
    }
}
