//! Softmax attention, and the description of what is added to its logits.

use std::cell::OnceCell;
use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData, activation::softmax};

use crate::kernels::attention::{Bias, attention};
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
    // The fused kernel has no weights to show.
    let fused = if captured.is_none() { attention(&q, &k, &v, &bias.parts()) } else { None };
    fused.unwrap_or_else(|| plain(q, k, v, bias, captured))
}

fn plain(
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

    /// What a kernel evaluates key by key.
    fn parts(&self) -> Bias<'_> {
        Bias {
            first_query: self.queries.start,
            first_key: self.queries.start - self.past,
            window: self.window,
            slopes: &self.slopes,
            log_multiplicity: self.log_multiplicity.as_ref(),
        }
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

#[cfg(all(test, feature = "train", not(target_arch = "wasm32")))]
mod tests {
    use burn::tensor::Tensor;

    use super::{AttentionBias, attend, plain};
    use crate::kernels::check::{check, random};
    use crate::positions::{Encoding, LayerPositions};

    /// Values and gradients of `[1, heads, queries, head_dim]` behind `past` keys that are held.
    fn compare(layer: &LayerPositions, heads: [usize; 2], queries: usize, past: usize, multiplicity: bool) {
        for head_dim in [16, 20, 32, 64] {
            let [heads, kv_heads] = heads;
            let logs = multiplicity.then(|| (random([2, 1, 1, past + queries], 5) + 1.0) * 2.0);
            let all = random([2, heads + 2 * kv_heads, past + queries, head_dim], 1);
            let parts = |x: &Tensor<4>| {
                let logs = logs.clone().map(|logs| if x.device().is_autodiff() { logs.autodiff() } else { logs });
                let bias = AttentionBias::new(layer, past..past + queries, logs.as_ref());
                let seen = past - bias.past()..past + queries;
                let part = |from: usize, to: usize| x.clone().narrow(1, from, to - from);
                let q = part(0, heads).narrow(2, past, queries) / (head_dim as f64).sqrt();
                let keys = |x: Tensor<4>| x.narrow(2, seen.start, seen.len());
                let (k, v) = (part(heads, heads + kv_heads), part(heads + kv_heads, heads + 2 * kv_heads));
                (q, keys(k), keys(v), bias)
            };
            if past > 0 && multiplicity {
                continue;
            }
            check(
                &[all],
                |[x]| {
                    let (q, k, v, bias) = parts(&x);
                    attend(q, k, v, &bias, None)
                },
                |[x]| {
                    let (q, k, v, bias) = parts(&x);
                    plain(q, k, v, &bias, None)
                },
            );
        }
    }

    #[test]
    fn the_fused_form_equals_the_plain_one() {
        let all = LayerPositions { encoding: Encoding::None, window: None };
        let alibi =
            LayerPositions { encoding: Encoding::Alibi { slopes: vec![0.5, 0.25, 0.125, 0.0625] }, window: None };
        let window = LayerPositions { encoding: Encoding::None, window: Some(70) };
        for layer in [&all, &alibi, &window] {
            // Shorter than a tile, one more than a tile, several; one token and a chunk behind a cache.
            for (queries, past) in [(2, 0), (5, 0), (49, 0), (200, 0), (1, 130), (3, 200), (60, 131)] {
                compare(layer, [4, 2], queries, past, false);
            }
            compare(layer, [4, 4], 150, 0, true);
        }
    }
}
