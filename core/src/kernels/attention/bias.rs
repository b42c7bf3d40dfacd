//! What is added to the logits of attention.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};

#[cfg(feature = "train")]
use super::chunks::Chunk;
use crate::positions::{Encoding, LayerPositions};

/// The bias of the attention logits in one kind of layer, as a description: which keys a query attends to, and what is added for
/// them. A kernel can evaluate it key by key; the plain path writes it out as a matrix, once for all layers of the kind.
pub struct AttentionBias {
    /// Indices of the queries among all tokens.
    pub(super) queries: Range<usize>,
    /// Keys before the first query that take part.
    past: usize,
    /// Keys that a query attends to, itself included; `None`: all before it.
    pub(super) window: Option<usize>,
    /// ALiBi: the logit of a key d tokens back gets −slope · d; one a query head, or none.
    pub(super) slopes: Vec<f64>,
    /// `[batch, 1, 1, keys]`: ln m of a key that counts m times.
    pub(super) log_multiplicity: Option<Tensor<4>>,
    /// `[batch, seq]`: the first token of each query's document, which attends to no other; `None`: a row is one document.
    pub(super) document_starts: Option<Arc<[usize]>>,
    matrix: OnceCell<Option<Tensor<4>>>,
}

impl AttentionBias {
    /// The bias for the queries at the indices `queries` of the text.
    pub fn new(positions: &LayerPositions, queries: Range<usize>, log_multiplicity: Option<&Tensor<4>>) -> Self {
        let past = positions.window.map_or(queries.start, |window| queries.start.min(window - 1));
        let slopes = match &positions.encoding {
            Encoding::Alibi { slopes } => slopes.clone(),
            _ => Vec::new(),
        };
        Self::of_parts(queries, past, positions.window, slopes, log_multiplicity.cloned())
    }

    pub(super) fn of_parts(
        queries: Range<usize>,
        past: usize,
        window: Option<usize>,
        slopes: Vec<f64>,
        log_multiplicity: Option<Tensor<4>>,
    ) -> Self {
        Self { queries, past, window, slopes, log_multiplicity, document_starts: None, matrix: OnceCell::new() }
    }

    /// The queries in chunks of at most `queries`, each with the keys that any of its queries may attend to.
    #[cfg(feature = "train")]
    pub(super) fn chunks(&self, queries: usize) -> impl Iterator<Item = Chunk> {
        let (first_query, first_key, window) = (self.queries.start, self.queries.start - self.past, self.window);
        let seq = self.queries.len();
        (0..seq).step_by(queries.max(1)).map(move |start| {
            let end = seq.min(start + queries.max(1));
            let seen =
                window.map_or(first_key, |window| first_key.max((first_query + start + 1).saturating_sub(window)));
            Chunk { queries: start..end, keys: seen - first_key..first_query + end - first_key }
        })
    }

    /// The same for rows of several documents that do not see each other: the index of the first token of each query's document,
    /// `[batch, seq]`.
    #[must_use]
    pub fn with_documents(self, starts: Option<Arc<[usize]>>) -> Self {
        Self { document_starts: starts, ..self }
    }

    /// Keys before the first query that take part.
    pub fn past(&self) -> usize {
        self.past
    }

    /// The bias written out, `[batch or 1, kv_heads or 1, group · seq or 1, keys]`, for key heads that serve `group` query heads
    /// each; `None` where nothing is added. It is written out for the first `group` that is asked for.
    pub fn matrix(&self, group: usize, device: &Device) -> Option<&Tensor<4>> {
        let written_out = || {
            let mask = self.mask(group, device);
            let between_documents = self.between_documents(group, device);
            let parts = [mask, between_documents, self.log_multiplicity.clone()];
            parts.into_iter().flatten().reduce(|sum, part| sum + part)
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

    /// Mask of the keys of earlier documents, `[batch, 1, group · seq, keys]`.
    fn between_documents(&self, group: usize, device: &Device) -> Option<Tensor<4>> {
        let starts = self.document_starts.as_ref()?;
        let (seq, first_key) = (self.queries.len(), self.queries.start - self.past);
        let keys = first_key..self.queries.end;
        let bias = |start: usize| keys.clone().map(move |key| if key < start { f32::NEG_INFINITY } else { 0.0 });
        let rows = |row: &[usize]| row.iter().flat_map(|&start| bias(start)).collect::<Vec<f32>>().repeat(group);
        let values: Vec<f32> = starts.chunks(seq).flat_map(rows).collect();
        Some(Tensor::from_data(TensorData::new(values, [starts.len() / seq, 1, group * seq, keys.len()]), device))
    }
}
