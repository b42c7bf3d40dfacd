//! Which keys a query sees, and what distance or number of copies adds to their logits.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};

use crate::positions::{Encoding, LayerPositions};

/// What is added to the logits of one kind of layer; −∞ where a key is not seen.
pub(super) struct Visible {
    /// Keys that come before the queries.
    past: usize,
    /// `[batch or 1, kv_heads or 1, group · seq or 1, keys]`; `None` where every key counts alike.
    bias: Option<Tensor<4>>,
}

impl Visible {
    /// For the queries at the positions `at`, of which `group_size` rows stand below each other for each key head.
    ///
    /// `log_multiplicity` is `[batch, 1, 1, keys]`.
    pub(super) fn new(
        positions: &LayerPositions,
        at: Range<usize>,
        group_size: usize,
        log_multiplicity: Option<&Tensor<4>>,
        device: &Device,
    ) -> Self {
        let past = positions.window.map_or(at.start, |window| at.start.min(window - 1));
        let first_key = at.start - past;
        let is_hidden =
            |query: usize, key: usize| key > query || positions.window.is_some_and(|window| query - key >= window);
        // One row a head and query, [heads, seq, keys]; heads alike are one.
        let rows = |slope: f64| {
            let row = move |query: usize| {
                (first_key..at.end).map(move |key| {
                    if is_hidden(query, key) { f32::NEG_INFINITY } else { (-slope * (query - key) as f64) as f32 }
                })
            };
            at.clone().flat_map(row).collect::<Vec<f32>>()
        };
        let (seq, keys) = (at.len(), at.end - first_key);
        let bias = match &positions.encoding {
            Encoding::Alibi { slopes } => {
                let values: Vec<f32> = slopes.iter().flat_map(|&slope| rows(slope)).collect();
                Some((values, [1, slopes.len() / group_size, group_size * seq, keys]))
            }
            // A single query sees every key that there is.
            _ if seq == 1 => None,
            _ => Some((rows(0.0).repeat(group_size), [1, 1, group_size * seq, keys])),
        };
        let bias = bias.map(|(values, shape)| Tensor::from_data(TensorData::new(values, shape), device));
        let bias = match (bias, log_multiplicity) {
            (Some(bias), Some(copies)) => Some(bias + copies.clone()),
            (bias, copies) => bias.or(copies.cloned()),
        };
        Self { past, bias }
    }

    /// Keys before the queries that they see.
    pub(super) fn past(&self) -> usize {
        self.past
    }

    /// Scores `[batch, kv_heads, group · seq, keys]` with what is added to them.
    pub(super) fn apply(&self, scores: Tensor<4>) -> Tensor<4> {
        match &self.bias {
            None => scores,
            Some(bias) => scores + bias.clone(),
        }
    }
}
