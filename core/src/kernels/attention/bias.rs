//! What is added to the logits of attention.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor, TensorData};

#[cfg(any(feature = "gpu", feature = "train"))]
use super::chunks::Chunk;
#[cfg(feature = "gpu")]
use crate::kernels::gpu::CachedKeys;
use crate::positions::{Encoding, LayerPositions};

/// The bias of the attention logits in one kind of layer, as a description: which keys a query attends to, and what is added for
/// them. A kernel can evaluate it key by key; the reference form writes it out as a matrix, once for all layers of the kind.
pub struct AttentionBias {
    /// Indices of the queries among all tokens.
    pub(super) queries: Range<usize>,
    /// Keys before the first query that take part.
    past: usize,
    /// Keys that a query attends to, itself included; `None`: all before it.
    pub(super) window: Option<usize>,
    /// ALiBi: the logit of a key d tokens back gets −slope · d; one a query head, or none.
    pub(in crate::kernels) slopes: Vec<f64>,
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

    fn of_parts(
        queries: Range<usize>,
        past: usize,
        window: Option<usize>,
        slopes: Vec<f64>,
        log_multiplicity: Option<Tensor<4>>,
    ) -> Self {
        Self { queries, past, window, slopes, log_multiplicity, document_starts: None, matrix: OnceCell::new() }
    }

    /// The queries in chunks of at most `queries`, each with the keys that any of its queries may attend to.
    #[cfg(any(feature = "gpu", feature = "train"))]
    pub(super) fn chunks(&self, queries: usize) -> impl Iterator<Item = Chunk> {
        let seq = self.queries.len();
        (0..seq).step_by(queries.max(1)).map(move |start| {
            let queries = start..seq.min(start + queries.max(1));
            Chunk { keys: self.keys_seen_by(&queries), queries }
        })
    }

    /// The same for rows of several documents that do not see each other: the index of the first token of each query's document,
    /// `[batch, seq]`.
    #[must_use]
    pub fn with_documents(self, starts: Option<Arc<[usize]>>) -> Self {
        Self { document_starts: starts, ..self }
    }

    /// Keys that any of some queries may attend to; both are counted from the first that takes part.
    fn keys_seen_by(&self, queries: &Range<usize>) -> Range<usize> {
        let (first_query, first_key) = (self.queries.start, self.queries.start - self.past);
        let in_window = |window| first_key.max((first_query + queries.start + 1).saturating_sub(window));
        let seen = self.window.map_or(first_key, in_window);
        seen - first_key..first_query + queries.end - first_key
    }

    /// The same for some of the queries, counted from the first, and the keys that they may attend to.
    #[must_use]
    pub fn of_queries(&self, queries: Range<usize>) -> Self {
        let (keys, seq, first) = (self.keys_seen_by(&queries), self.queries.len(), self.queries.start);
        let in_text = first + queries.start..first + queries.end;
        let past = in_text.start - (first - self.past + keys.start);
        let logs = self.log_multiplicity.clone().map(|logs| logs.slice_dim(3, keys));
        let of_row = |row: &[usize]| row[queries.clone()].to_vec();
        let starts = self.document_starts.as_ref().map(|starts| starts.chunks(seq).flat_map(of_row).collect());
        Self::of_parts(in_text, past, self.window, self.slopes.clone(), logs).with_documents(starts)
    }

    /// Keys before the first query that take part.
    pub fn past(&self) -> usize {
        self.past
    }

    /// Which of the keys that take part queries attend to; `None` where that, or what is added, depends on more than places.
    #[cfg(feature = "gpu")]
    pub(super) fn seen(&self) -> Option<CachedKeys> {
        let is_by_place = self.log_multiplicity.is_none() && self.document_starts.is_none();
        is_by_place.then_some(CachedKeys { at: self.past, past: self.past, window: self.window })
    }

    /// Of each query, the first key that it attends to, counted from the first that takes part, `[batch, seq]`; `None` where rows are not
    /// of several documents.
    #[cfg(feature = "gpu")]
    pub(crate) fn first_seen_in_documents(&self) -> Option<Vec<f32>> {
        let (seq, first_key) = (self.queries.len(), self.queries.start - self.past);
        let in_window = |query: usize| self.window.map_or(0, |window| (query + 1).saturating_sub(window));
        let starts = self.document_starts.as_deref()?;
        let seen = |(at, &start): (usize, &usize)| {
            start.max(in_window(self.queries.start + at % seq)).saturating_sub(first_key) as f32
        };
        Some(starts.iter().enumerate().map(seen).collect())
    }

    /// Keys that a query attends to, itself included, where that is bounded.
    #[cfg(feature = "gpu")]
    pub(crate) fn window(&self) -> Option<usize> {
        self.window
    }

    /// `[batch or 1, 1, 1, keys]`, without a graph: ln m of a key that counts m times.
    #[cfg(any(feature = "gpu", feature = "train"))]
    pub(crate) fn log_multiplicity(&self) -> Option<Tensor<4>> {
        let logs = self.log_multiplicity.clone()?;
        #[cfg(feature = "train")]
        if logs.device().is_autodiff() {
            return Some(logs.inner());
        }
        Some(logs)
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

    /// Causal mask, window and slopes, computed on the device.
    fn mask(&self, group: usize, device: &Device) -> Option<Tensor<4>> {
        let keys = self.queries.start - self.past..self.queries.end;
        let shape = [1, 1, self.queries.len(), keys.len()];
        if shape[2] == 1 && self.slopes.is_empty() {
            // A single query attends to every key.
            return None;
        }
        let index = |tokens: Range<usize>| Tensor::<1, Int>::arange(tokens.start as i64..tokens.end as i64, device);
        // Tokens from a key to a query, [1, 1, seq, keys].
        let distance = index(self.queries.clone()).reshape([1, 1, -1, 1]) - index(keys).reshape([1, 1, 1, -1]);
        let is_later = distance.clone().lower_elem(0);
        let is_hidden = match self.window {
            Some(window) => is_later.bool_or(distance.clone().greater_equal_elem(window as i64)),
            None => is_later,
        };
        if self.slopes.is_empty() {
            let mask = Tensor::zeros(shape, device).mask_fill(is_hidden, f32::NEG_INFINITY);
            return Some(mask.repeat_dim(2, group));
        }
        let (kv_heads, [.., seq, keys]) = (self.slopes.len() / group, shape);
        let slopes = self.slopes.iter().map(|&slope| slope as f32).collect();
        let slopes = Tensor::<4>::from_data(TensorData::new(slopes, [kv_heads, group, 1, 1]), device);
        let bias = slopes * distance.float().neg(); // [kv_heads, group, seq, keys]
        let bias = bias.mask_fill(is_hidden.expand([kv_heads, group, seq, keys]), f32::NEG_INFINITY);
        Some(bias.reshape([1, kv_heads, group * seq, keys]))
    }

    /// Mask of the keys of earlier documents, `[batch, 1, group · seq, keys]`.
    fn between_documents(&self, group: usize, device: &Device) -> Option<Tensor<4>> {
        let starts = self.document_starts.as_ref()?;
        let (seq, keys) = (self.queries.len(), self.queries.start - self.past..self.queries.end);
        let shape = [starts.len() / seq, 1, seq, keys.len()];
        let starts = starts.iter().map(|&start| start as i32).collect();
        let starts = Tensor::<4, Int>::from_data(TensorData::new(starts, [shape[0], 1, seq, 1]), device);
        let keys = Tensor::<1, Int>::arange(keys.start as i64..keys.end as i64, device).reshape([1, 1, 1, -1]);
        let is_hidden = keys.expand(shape).lower(starts.expand(shape));
        Some(Tensor::zeros(shape, device).mask_fill(is_hidden, f32::NEG_INFINITY).repeat_dim(2, group))
    }
}
