//! Softmax attention, and the description of what is added to its logits.

use std::cell::OnceCell;
use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData, activation::softmax};

use crate::positions::{Encoding, LayerPositions};

/// softmax(q·kᵀ + bias)·v, `[batch, heads, seq, head_dim]`.
///
/// q is `[batch, heads, seq, head_dim]`, with every factor of the logits folded in; k and v are
/// `[batch, kv_heads, keys, head_dim]`, where `heads` is a multiple of `kv_heads`. The weights,
/// `[batch, heads, seq, keys]`, are added to `captured` where there is one.
pub(super) fn attend(
    q: Tensor<4>,
    k: Tensor<4>,
    v: Tensor<4>,
    bias: &AttentionBias,
    captured: Option<&mut Vec<Tensor<4>>>,
) -> Tensor<4> {
    let [batch, heads, seq, head_dim] = q.dims();
    let [_, kv_heads, keys, _] = k.dims();
    let group = heads / kv_heads;
    // The query heads of a group are rows of one product, so that keys and values are not copied for each.
    let q = q.reshape([batch, kv_heads, group * seq, head_dim]);
    let logits = q.matmul(k.swap_dims(2, 3)); // [batch, kv_heads, group · seq, keys]
    let logits = match bias.matrix(group, &logits.device()) {
        None => logits,
        Some(bias) => logits + bias.clone(),
    };
    let weights = softmax(logits, 3);
    if let Some(captured) = captured {
        captured.push(weights.clone().reshape([batch, heads, seq, keys]));
    }
    weights.matmul(v).reshape([batch, heads, seq, head_dim])
}

/// The bias of the attention logits in one kind of layer, as a description: which keys a query attends to, and what is added for
/// them. A kernel can evaluate it key by key; the plain path writes it out as a matrix, once for all layers of the kind.
pub(super) struct AttentionBias {
    /// Indices of the queries among all tokens.
    queries: Range<usize>,
    /// Keys before the first query that take part.
    past: usize,
    /// Keys that a query attends to, itself included; `None`: all before it.
    window: Option<usize>,
    /// ALiBi: the logit of a key d tokens back gets −slope · d; one a query head, or none.
    slopes: Vec<f64>,
    /// `[batch, 1, 1, keys]`: ln m of a key that counts m times.
    log_multiplicity: Option<Tensor<4>>,
    matrix: OnceCell<Option<Tensor<4>>>,
}

impl AttentionBias {
    /// For queries that are the tokens `queries` of the text.
    pub(super) fn new(positions: &LayerPositions, queries: Range<usize>, log_multiplicity: Option<&Tensor<4>>) -> Self {
        let past = positions.window.map_or(queries.start, |window| queries.start.min(window - 1));
        let slopes = match &positions.encoding {
            Encoding::Alibi { slopes } => slopes.clone(),
            _ => Vec::new(),
        };
        let (window, log_multiplicity) = (positions.window, log_multiplicity.cloned());
        Self { queries, past, window, slopes, log_multiplicity, matrix: OnceCell::new() }
    }

    /// Keys before the first query that take part.
    pub(super) fn past(&self) -> usize {
        self.past
    }

    /// The bias written out, `[batch or 1, kv_heads or 1, group · seq or 1, keys]`, for key heads that serve `group` query heads
    /// each; `None` where nothing is added. It is written out for the first `group` that is asked for.
    pub(super) fn matrix(&self, group: usize, device: &Device) -> Option<&Tensor<4>> {
        let written_out = || {
            let mask = self.mask(group, device);
            match (mask, &self.log_multiplicity) {
                (Some(mask), Some(logs)) => Some(mask + logs.clone()),
                (mask, logs) => mask.or(logs.clone()),
            }
        };
        self.matrix.get_or_init(written_out).as_ref()
    }

    /// Causal mask, window and slopes.
    fn mask(&self, group: usize, device: &Device) -> Option<Tensor<4>> {
        let first_key = self.queries.start - self.past;
        let (seq, keys) = (self.queries.len(), self.queries.end - first_key);
        let bias = |slope: f64, query: usize, key: usize| {
            if key > query || self.window.is_some_and(|window| query - key >= window) {
                f32::NEG_INFINITY
            } else {
                (-slope * (query - key) as f64) as f32
            }
        };
        // [seq, keys] of one head.
        let rows = |slope: f64| {
            let row = move |query| (first_key..self.queries.end).map(move |key| bias(slope, query, key));
            self.queries.clone().flat_map(row).collect::<Vec<f32>>()
        };
        let (values, shape) = if !self.slopes.is_empty() {
            let values = self.slopes.iter().flat_map(|&slope| rows(slope)).collect();
            (values, [1, self.slopes.len() / group, group * seq, keys])
        } else if seq == 1 {
            // A single query attends to every key.
            return None;
        } else {
            (rows(0.0).repeat(group), [1, 1, group * seq, keys])
        };
        Some(Tensor::from_data(TensorData::new(values, shape), device))
    }
}
