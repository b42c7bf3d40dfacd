//! What a pass through the layers is told beside its tokens.

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};

use crate::positions::Positions;

/// Where the queries of a pass stand and what they see.
pub(super) struct Pass {
    /// Tokens before it, in the cache.
    pub(super) past: usize,
    /// Position of each query, a row for each of the batch or one for all.
    pub(super) at: Vec<Vec<usize>>,
    /// Keys that each sees, copies included; `[batch or 1, seq]`.
    pub(super) keys_seen: Vec<f32>,
    /// `[batch, 1, 1, seq]`, added to the logits of keys that count more than once.
    pub(super) log_multiplicity: Option<Tensor<4>>,
    /// `[1, heads, 1, 1]` for each layer, or empty: factors of the logits.
    pub(super) head_scales: Vec<Tensor<4>>,
}

impl Pass {
    /// Tokens that follow each other.
    pub(super) fn plain(positions: &Positions, at: Range<usize>, device: &Device) -> Self {
        let head_scales = positions.head_scales.iter().map(|scales| {
            let values: Vec<f32> = scales.iter().map(|&scale| scale as f32).collect();
            Tensor::from_data(TensorData::new(values, [1, scales.len(), 1, 1]), device)
        });
        Self {
            past: at.start,
            keys_seen: at.clone().map(|position| (position + 1) as f32).collect(),
            head_scales: head_scales.collect(),
            at: vec![at.collect()],
            log_multiplicity: None,
        }
    }

    /// Tokens that count `copies` times, `[batch, seq]`.
    pub(super) fn with_multiplicity(copies: &[f32], [batch, seq]: [usize; 2], device: &Device) -> Self {
        let mut keys_seen = copies.to_vec();
        for row in keys_seen.chunks_mut(seq) {
            for at in 1..seq {
                row[at] += row[at - 1];
            }
        }
        let logs = copies.iter().map(|copies| copies.ln()).collect();
        Self {
            past: 0,
            at: copies.chunks(seq).map(position_ids_with_gaps).collect(),
            keys_seen,
            log_multiplicity: Some(Tensor::from_data(TensorData::new(logs, [batch, 1, 1, seq]), device)),
            head_scales: Vec::new(),
        }
    }
}

/// Positions of a row whose tokens count `copies` times: behind a stretch of n tokens of m copies are (m − 1)·n that
/// nobody stands at.
fn position_ids_with_gaps(copies: &[f32]) -> Vec<usize> {
    let mut at = Vec::with_capacity(copies.len());
    let mut skipped = 0.0;
    for stretch in copies.chunk_by(|a, b| a == b) {
        let first = at.len() + skipped as usize;
        at.extend(first..first + stretch.len());
        skipped += (stretch[0] - 1.0) * stretch.len() as f32;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::position_ids_with_gaps;

    #[test]
    fn a_crowd_takes_the_positions_that_its_copies_would() {
        assert_eq!(position_ids_with_gaps(&[1.0, 4.0, 4.0, 1.0, 1.0]), [0, 1, 2, 9, 10]);
        // Two sentences of three and two copies: the second stands behind all of the first.
        assert_eq!(position_ids_with_gaps(&[1.0, 3.0, 2.0, 2.0, 1.0]), [0, 1, 4, 5, 8]);
        assert_eq!(position_ids_with_gaps(&[1.0; 3]), [0, 1, 2]);
    }
}
